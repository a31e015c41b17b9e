package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// serverState is how far a server has come.
type serverState int

const (
	// stateSilent: nobody answers.
	stateSilent serverState = iota
	// stateAnswers: the server is there and refuses connections (57P03: it
	// starts up, recovers, or shuts down).
	stateAnswers
	// stateReady: the server accepts connections.
	stateReady
)

// cannotConnectNow is the SQLSTATE of a server that starts up, recovers or
// shuts down (PostgreSQL manual, appendix A).
const cannotConnectNow = "57P03"

// askState asks the server for its state as pg_isready does: it opens a
// connection and looks at the first answer (PostgreSQL manual, "Frontend/Backend
// Protocol", Start-up). A server that wants to see a password accepts
// connections. The error says what came instead of that. It waits as long as ctx
// lets it.
func askState(ctx context.Context, address, user string) (serverState, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return stateSilent, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(startupMessage(user)); err != nil {
		return stateSilent, err
	}
	kind, body, err := readMessage(conn)
	if err != nil {
		return stateSilent, err
	}
	switch kind {
	case 'R': // a request for authentication
		return stateReady, nil
	case 'E':
		code, text := errorFields(body)
		if code == cannotConnectNow {
			return stateAnswers, errors.New(text)
		}
		// Any other refusal (too many clients) comes from a server that is up.
		return stateReady, nil
	default:
		return stateSilent, fmt.Errorf("whoever listens on %s is not PostgreSQL", address)
	}
}

func startupMessage(user string) []byte {
	const protocol = 3 << 16
	message := binary.BigEndian.AppendUint32(make([]byte, 4), protocol)
	message = append(message, "user\x00"+user+"\x00database\x00postgres\x00\x00"...)
	binary.BigEndian.PutUint32(message, uint32(len(message)))
	return message
}

func readMessage(r io.Reader) (kind byte, body []byte, err error) {
	header := make([]byte, 5)
	if _, err := io.ReadFull(r, header); err != nil {
		return 0, nil, err
	}
	const most = 16 << 10 // whoever answers with more is not a server that greets us
	length := binary.BigEndian.Uint32(header[1:])
	if length < 4 || length > most {
		return header[0], nil, nil
	}
	body = make([]byte, length-4)
	_, err = io.ReadFull(r, body)
	return header[0], body, err
}

// errorFields returns the SQLSTATE and the text of an ErrorResponse.
func errorFields(body []byte) (code, text string) {
	for _, field := range strings.Split(string(body), "\x00") {
		switch {
		case strings.HasPrefix(field, "C"):
			code = field[1:]
		case strings.HasPrefix(field, "M"):
			text = field[1:]
		}
	}
	return code, text
}
