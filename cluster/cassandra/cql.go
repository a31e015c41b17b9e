package cassandra

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"assay/cluster/server"
)

// What is needed of the native protocol, version 4
// (native_protocol_v4.spec, sections 2 to 4 and 9). A connection of our own is
// enough to ask a node how it is; a driver would keep watching all of them in
// the background.
const (
	cqlRequest  = 0x04
	cqlResponse = 0x84

	opError   = 0x00
	opStartup = 0x01
	opReady   = 0x02
	opQuery   = 0x07
	opResult  = 0x08

	consistencyOne = 0x0001
	consistencyAll = 0x0005

	resultRows      = 2
	flagGlobal      = 0x01
	flagMorePages   = 0x02
	codeUnavailable = 0x1000
	longestMessage  = 1 << 20 // far above any answer to our questions
)

// cqlError is an error that a node answered.
type cqlError struct {
	code    uint32
	message string
	// alive is how many replicas the node knew to be alive, given with
	// Unavailable.
	alive int
}

func (e *cqlError) Error() string { return fmt.Sprintf("error %#04x: %s", e.code, e.message) }

// query runs a statement on a node over a connection of its own and returns
// the first column of its rows, which must be text: SELECT JSON gives whole
// rows so. ctx bounds it, and answerBound.
func query(ctx context.Context, n *server.Node, consistency uint16, statement string) ([]string, error) {
	return queryWithin(ctx, n, answerBound, consistency, statement)
}

// answerBound is how long a node may take to answer; a paused one never does.
const answerBound = time.Second

func queryWithin(ctx context.Context, n *server.Node, bound time.Duration, consistency uint16, statement string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.Address())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	startup := binary.BigEndian.AppendUint16(nil, 1)
	startup = appendCQLString(appendCQLString(startup, "CQL_VERSION"), "3.0.0")
	op, _, err := exchange(conn, opStartup, startup)
	if err != nil {
		return nil, err
	}
	if op != opReady {
		return nil, errors.New("it wants a user")
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(statement)))
	body = binary.BigEndian.AppendUint16(append(body, statement...), consistency)
	op, answer, err := exchange(conn, opQuery, append(body, 0)) // no flags
	if err != nil {
		return nil, err
	}
	if op != opResult {
		return nil, fmt.Errorf("an answer of kind %#02x to a query", op)
	}
	return readRows(answer)
}

func appendCQLString(to []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(s))), s...)
}

// exchange sends one request and reads its answer. An ERROR is a *cqlError.
func exchange(conn io.ReadWriter, request byte, body []byte) (op byte, answer []byte, err error) {
	frame := []byte{cqlRequest, 0, 0, 0, request}
	frame = append(binary.BigEndian.AppendUint32(frame, uint32(len(body))), body...)
	if _, err := conn.Write(frame); err != nil {
		return 0, nil, err
	}
	header := make([]byte, 9)
	if _, err := io.ReadFull(conn, header); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(header[5:])
	if header[0] != cqlResponse || length > longestMessage {
		return 0, nil, errors.New("whoever listens there is not Cassandra")
	}
	answer = make([]byte, length)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return 0, nil, err
	}
	if header[4] == opError {
		return 0, nil, readCQLError(answer)
	}
	return header[4], answer, nil
}

func readCQLError(body []byte) error {
	r := &cqlReader{rest: bytes.NewReader(body)}
	e := &cqlError{code: r.int(), message: r.string()}
	if e.code == codeUnavailable {
		r.short() // the consistency
		r.int()   // how many are required
		e.alive = int(r.int())
	}
	if r.failed != nil {
		return fmt.Errorf("a broken error message: %w", r.failed)
	}
	return e
}

// readRows reads a RESULT; one without rows gives none.
func readRows(body []byte) ([]string, error) {
	r := &cqlReader{rest: bytes.NewReader(body)}
	if r.int() != resultRows {
		return nil, r.failed
	}
	flags, columns := r.int(), r.int()
	if flags&flagMorePages != 0 || columns != 1 {
		return nil, fmt.Errorf("an answer of %d columns, flags %#x; want one page of one column", columns, flags)
	}
	if flags&flagGlobal == 0 {
		return nil, errors.New("an answer from several tables")
	}
	r.string() // keyspace
	r.string() // table
	r.string() // the column's name
	const ascii, varchar = 0x01, 0x0d
	if kind := r.short(); r.failed == nil && kind != ascii && kind != varchar {
		return nil, fmt.Errorf("a column of type %#x, want text", kind)
	}
	count := r.int()
	var rows []string
	for range count {
		rows = append(rows, string(r.bytes(int(int32(r.int())))))
		if r.failed != nil {
			return nil, fmt.Errorf("a broken answer: %w", r.failed)
		}
	}
	return rows, r.failed
}

// cqlReader reads the notations of the protocol (section 3); after a failure
// everything is zero.
type cqlReader struct {
	rest   *bytes.Reader
	failed error
}

func (r *cqlReader) bytes(n int) []byte {
	if n <= 0 || r.failed != nil { // a null is -1
		return nil
	}
	if n > r.rest.Len() {
		r.failed = io.ErrUnexpectedEOF
		return nil
	}
	b := make([]byte, n)
	_, r.failed = io.ReadFull(r.rest, b)
	return b
}

func (r *cqlReader) int() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *cqlReader) short() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *cqlReader) string() string { return string(r.bytes(int(r.short()))) }
