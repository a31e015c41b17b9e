package postgres

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/internal/expect"
)

// ends are both ends of a connection through assay, behind its login.
type ends struct {
	t           *testing.T
	app, server net.Conn
	proxy       *wire.Proxy
	listener    net.Listener // of the server
}

// asked sends messages, which must reach the server as they are.
func (e ends) asked(messages ...pgproto3.FrontendMessage) {
	e.t.Helper()
	passes(e.t, e.app, e.server, encoded(e.t, messages...))
}

// answered is asked in the other direction.
func (e ends) answered(messages ...pgproto3.BackendMessage) {
	e.t.Helper()
	passes(e.t, e.server, e.app, encoded(e.t, messages...))
}

func passes(t *testing.T, from, to net.Conn, sent []byte) {
	t.Helper()
	wrote := make(chan error, 1)
	go func() { _, err := from.Write(sent); wrote <- err }()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(to, got)
	expect.NoError(t, err, <-wrote)
	if !bytes.Equal(got, sent) {
		t.Fatalf("%q arrives, and %q was sent", got, sent)
	}
}

// through opens a connection to a server that the test is.
func through(t *testing.T) ends {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	expect.AtEnd(t, listener.Close)
	product, err := New("postgres://me@" + listener.Addr().String() + "/shop?sslmode=disable")
	expect.NoError(t, err)
	return ends{t: t, proxy: wiretest.Listen(t, product), listener: listener}.another()
}

// another is one more connection.
func (e ends) another() ends {
	t := e.t
	t.Helper()
	var err error
	e.app, err = net.Dial("tcp", e.proxy.Address())
	expect.NoError(t, err)
	start, err := (&pgproto3.StartupMessage{ProtocolVersion: codeVersion, Parameters: map[string]string{"user": "me"}}).Encode(nil)
	expect.NoError(t, err)
	_, err = e.app.Write(start)
	expect.NoError(t, err)
	e.server, err = e.listener.Accept()
	expect.NoError(t, err)
	t.Cleanup(func() { _, _ = e.app.Close(), e.server.Close() })
	for _, conn := range []net.Conn{e.app, e.server} { // what never comes fails the test
		expect.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	}
	_, err = io.ReadFull(e.server, make([]byte, len(start)))
	expect.NoError(t, err)
	e.answered(&pgproto3.AuthenticationOk{}, ready('I'))
	return e
}

// recorded are the transactions, as their outcomes and their statements with tags and errors.
func (e ends) recorded() (all []string) {
	e.t.Helper()
	expect.NoError(e.t, e.app.Close(), e.server.Close(), e.proxy.Quiet(e.t.Context()), e.proxy.Recorder().Problem())
	kept, _ := e.proxy.Recorder().Transactions()
	for _, x := range kept {
		text := string(x.Outcome)
		for _, s := range x.Statements {
			word, _, _ := strings.Cut(s.Shape, " ")
			text += fmt.Sprintf("; %s: %s%s", word, s.Tag, s.Error)
		}
		all = append(all, text)
	}
	return all
}

func ready(state byte) *pgproto3.ReadyForQuery { return &pgproto3.ReadyForQuery{TxStatus: state} }

func complete(tag string) *pgproto3.CommandComplete {
	return &pgproto3.CommandComplete{CommandTag: []byte(tag)}
}

// TestFlushed is a pipeline whose answers come before its Sync: each is of its own statement.
func TestFlushed(t *testing.T) {
	e := through(t)
	e.asked(&pgproto3.Parse{Query: "INSERT INTO t VALUES ($1)"}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Flush{})
	e.answered(&pgproto3.ParseComplete{}, &pgproto3.NoData{})
	e.asked(&pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Flush{})
	e.answered(&pgproto3.BindComplete{}, complete("INSERT 0 1"))
	e.asked(&pgproto3.Parse{Query: "UPDATE t SET a = 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	e.answered(&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, complete("UPDATE 7"), ready('I'))
	e.asked(&pgproto3.Query{String: "DELETE FROM t"})
	e.answered(complete("DELETE 3"), ready('I'))
	e.asked(&pgproto3.Parse{Query: "INSERT INTO t VALUES (1)"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Flush{})
	e.answered(&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, complete("INSERT 0 1"))
	expect.Text(t, "the transactions", strings.Join(e.recorded(), "\n"), "committed; INSERT: INSERT 0 1; UPDATE: UPDATE 7\ncommitted; DELETE: DELETE 3\nabandoned; INSERT: INSERT 0 1")
}

// TestLongPipeline passes in parts, and an error that comes before its Sync refuses all of it.
func TestLongPipeline(t *testing.T) {
	e := through(t)
	messages := []pgproto3.FrontendMessage{&pgproto3.Parse{Name: "s", Query: "INSERT INTO t VALUES ($1)"}}
	for range 3 {
		messages = append(messages, &pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{bytes.Repeat([]byte("x"), 60<<10)}}, &pgproto3.Execute{})
	}
	sent := encoded(t, messages...)
	_, err := e.app.Write(sent)
	expect.NoError(t, err)
	got := make([]byte, len(sent))
	_, err = io.ReadFull(e.server, got[:50<<10]) // the rest may wait for Sync
	expect.NoError(t, err)
	e.answered(&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, complete("INSERT 0 1"), &pgproto3.ErrorResponse{Code: "23505", Message: "it is there"})
	sync, err := (&pgproto3.Sync{}).Encode(nil)
	expect.NoError(t, err)
	_, err = e.app.Write(sync)
	expect.NoError(t, err)
	got = append(got, sync...)
	_, err = io.ReadFull(e.server, got[50<<10:])
	expect.NoError(t, err)
	if !bytes.Equal(got, append(sent, sync...)) {
		t.Error("other bytes have arrived")
	}
	e.answered(ready('I'))
	e.asked(&pgproto3.Query{String: "DELETE FROM t"})
	e.answered(complete("DELETE 3"), ready('I'))
	expect.Text(t, "the transactions", strings.Join(e.recorded(), "\n"), "refused; INSERT: INSERT 0 1; INSERT: 23505 it is there; INSERT: \ncommitted; DELETE: DELETE 3")
}

// TestCopyOfTwoSyncs: the server passes over the first Sync, since it takes data then. Where it does
// not, it answers both.
func TestCopyOfTwoSyncs(t *testing.T) {
	e := through(t)
	copies := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: "COPY t FROM STDIN"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{}}
	data := []pgproto3.FrontendMessage{&pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}, &pgproto3.Sync{}}
	e.asked(copies...)
	e.answered(&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}, &pgproto3.CopyInResponse{})
	e.asked(data...)
	e.answered(complete("COPY 1"), ready('I'))
	e.asked(&pgproto3.Query{String: "DELETE FROM t"})
	e.answered(complete("DELETE 3"), ready('I'))
	e.asked(append(copies, data...)...)
	e.answered(&pgproto3.ErrorResponse{Code: "42P01", Message: "no table"}, ready('I'), ready('I'))
	e.asked(&pgproto3.Query{String: "COPY t FROM STDIN"})
	e.answered(&pgproto3.CopyInResponse{})
	e.asked(data[:2]...)
	e.answered(complete("COPY 2"), ready('I'))
	e.asked(&pgproto3.Query{String: "UPDATE t SET a = 1"})
	e.answered(complete("UPDATE 4"), ready('I'))
	expect.Text(t, "the transactions", strings.Join(e.recorded(), "\n"),
		"committed; COPY: COPY 1\ncommitted; DELETE: DELETE 3\nrefused; COPY: 42P01 no table\ncommitted; COPY: COPY 2\ncommitted; UPDATE: UPDATE 4")
}

// TestDataAreOwed from the server's asking for them to their end, or to an error.
func TestDataAreOwed(t *testing.T) {
	asks, refused := encoded(t, &pgproto3.CopyInResponse{}), slices.Concat(encoded(t, &pgproto3.ErrorResponse{Code: "23505", Message: "so"}), encoded(t, ready('I')))
	streams := encoded(t, &pgproto3.CopyBothResponse{})
	data, ends := encoded(t, &pgproto3.CopyData{Data: []byte("1\n")}), encoded(t, &pgproto3.CopyDone{})
	for name, c := range map[string]struct {
		early, answered, sent, last []byte
		owed                        bool
	}{
		"asked": {answered: asks, owed: true}, "a part": {answered: asks, sent: data, owed: true}, "the log": {answered: streams, sent: data, owed: true},
		"all": {answered: asks, sent: slices.Concat(data, ends)}, "refused": {answered: asks, sent: data, last: refused}, "not asked": {answered: refused},
		"all before it asks": {early: slices.Concat(data, ends), answered: asks},
	} {
		to := &talk{}
		next := func(b []byte) {
			for len(b) > 0 {
				n, _ := to.Request(b, false)
				b = b[n:]
			}
		}
		next(encoded(t, &pgproto3.Query{String: "COPY t FROM STDIN"}))
		next(c.early)
		to.Answer(c.answered, &wire.Request{})
		next(c.sent)
		if to.Answer(c.last, &wire.Request{}); to.Owes() != c.owed {
			t.Errorf("%s: %v", name, to.Owes())
		}
	}
}

// TestCancelWhileAway: a request to cancel that finds no server is a failure of the recording only where
// the server may not be away.
func TestCancelWhileAway(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	product, err := New("postgres://me@" + listener.Addr().String() + "/shop?sslmode=disable")
	expect.NoError(t, err, listener.Close())
	proxy := wiretest.Listen(t, product)
	for _, away := range []bool{true, false} {
		proxy.Tolerate(away)
		recorder := proxy.Record(nil)
		conn, err := net.Dial("tcp", proxy.Address())
		expect.NoError(t, err)
		message, err := (&pgproto3.CancelRequest{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}}).Encode(nil)
		expect.NoError(t, err)
		_, err = conn.Write(message)
		expect.NoError(t, err, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, _ = io.ReadAll(conn)
		expect.NoError(t, conn.Close(), proxy.Quiet(t.Context()))
		if problem := recorder.Problem(); (problem == nil) != away {
			t.Errorf("the server may be away: %v, and the problem is %v", away, problem)
		}
	}
}

// TestABrokenCopy: of data whose end the application did not send the server keeps nothing, in no transaction
// either. One whose end was sent may have been committed.
func TestABrokenCopy(t *testing.T) {
	for want, data := range map[string][]pgproto3.FrontendMessage{
		"abandoned; COPY: ": {&pgproto3.CopyData{Data: []byte("1\n")}},
		"unknown; COPY: ":   {&pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}},
	} {
		e := through(t)
		e.asked(&pgproto3.Query{String: "COPY t FROM STDIN"})
		e.answered(&pgproto3.CopyInResponse{})
		e.asked(data...)
		expect.Text(t, "the transactions", strings.Join(e.recorded(), "\n"), want)
	}
}

// TestCopyToTheClient changes nothing, and COPY from it does.
func TestCopyToTheClient(t *testing.T) {
	e := through(t)
	e.asked(&pgproto3.Query{String: "COPY t TO STDOUT"})
	e.answered(&pgproto3.CopyOutResponse{}, &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{}, complete("COPY 1"), ready('I'))
	e.asked(&pgproto3.Query{String: "COPY t TO STDOUT"})
	e.answered(&pgproto3.CopyOutResponse{}, &pgproto3.ErrorResponse{Code: "57014", Message: "it was cancelled"}, ready('I'))
	e.asked(&pgproto3.Query{String: "COPY t FROM STDIN"})
	e.answered(&pgproto3.CopyInResponse{})
	e.asked(&pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyDone{})
	e.answered(complete("COPY 1"), ready('I'))
	expect.Text(t, "the transactions", strings.Join(e.recorded(), "\n"), "committed; COPY: COPY 1\nrefused; COPY: 57014 it was cancelled\ncommitted; COPY: COPY 1")
	all, _ := e.proxy.Recorder().Transactions()
	if all[0].Writes() || !all[2].Writes() || all[0].Partial() || !all[2].Partial() {
		t.Errorf("COPY to the client is %+v, and from it %+v", all[0].Statements[0], all[2].Statements[0])
	}
}
