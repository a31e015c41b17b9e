package postgres

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
	"assay/internal/expect"
)

// errorOf is an error as a server gives it.
func errorOf(severity, code, text string) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: text}
}

// TestActions has each action be done in a transaction, and compares what the server gets, what the
// application reads, and whether its connection and another one go on.
func TestActions(t *testing.T) {
	const insert, commit = "INSERT INTO t VALUES (1)", "COMMIT"
	raise := (&Server{}).Words().Raise
	down := errorOf("FATAL", "57P01", "terminating connection due to administrator command")
	deadlock, conflict := errorOf("ERROR", "40P01", "given"), errorOf("ERROR", "40001", "given")
	atCommit := errorOf("ERROR", "40001", "could not serialize access due to read/write dependencies among transactions")
	committed := []pgproto3.BackendMessage{complete("COMMIT"), ready('I')}
	for _, c := range []struct {
		action       wire.Action
		asks, gets   string
		answer       []pgproto3.BackendMessage // of the server
		reads        []pgproto3.BackendMessage
		goesOn, cuts bool
	}{
		{action: wire.Shutdown, asks: insert, reads: []pgproto3.BackendMessage{down}},
		{action: wire.Reset, asks: commit},
		{action: wire.Cut, asks: insert, cuts: true},
		{action: wire.Standby, asks: commit, reads: []pgproto3.BackendMessage{down}, cuts: true},
		{action: wire.Silent, asks: insert},
		{action: wire.AnswerLost, asks: commit, gets: commit, answer: committed},
		{action: wire.AnswerSilent, asks: commit, gets: commit, answer: committed},
		{action: wire.Late + "1ms", asks: commit, gets: commit, answer: committed, reads: committed, goesOn: true},
		{action: wire.GiveDeadlock, asks: insert, gets: raise[wire.Deadlock], answer: []pgproto3.BackendMessage{deadlock, ready('E')}, reads: []pgproto3.BackendMessage{deadlock, ready('E')}, goesOn: true},
		{action: wire.GiveSerialization, asks: insert, gets: raise[wire.Serialization], answer: []pgproto3.BackendMessage{conflict, ready('E')}, reads: []pgproto3.BackendMessage{conflict, ready('E')}, goesOn: true},
		{action: wire.GiveSerialization, asks: commit, gets: "ROLLBACK", answer: []pgproto3.BackendMessage{complete("ROLLBACK"), ready('I')}, reads: []pgproto3.BackendMessage{atCommit, ready('I')}, goesOn: true},
	} {
		t.Run(string(c.action)+" "+c.asks[:6], func(t *testing.T) {
			e := through(t)
			other := e.another()
			goesOn := func(e ends) {
				e.asked(&pgproto3.Query{String: "SELECT 1"})
				e.answered(complete("SELECT 1"), ready('I'))
			}
			e.asked(&pgproto3.Query{String: "BEGIN"})
			e.answered(complete("BEGIN"), ready('T'))
			e.proxy.Arm(&wire.Fault{Action: c.action, Time: 1, Matches: func(_ wire.Kind, shapes string) bool { return strings.Contains(shapes, c.asks[:6]) }})
			_, err := e.app.Write(encoded[pgproto3.FrontendMessage](t, &pgproto3.Query{String: c.asks}))
			expect.NoError(t, err)
			if c.gets != "" {
				want := encoded[pgproto3.FrontendMessage](t, &pgproto3.Query{String: c.gets})
				got := make([]byte, len(want))
				_, err := io.ReadFull(e.server, got)
				expect.NoError(t, err)
				expect.Text(t, "what the server gets", string(got), string(want))
				_, err = e.server.Write(encoded(t, c.answer...))
				expect.NoError(t, err)
			}
			want := encoded(t, c.reads...)
			got := make([]byte, len(want))
			if n, err := io.ReadFull(e.app, got); err != nil || string(got) != string(want) {
				t.Fatalf("the application reads %q, %v; want %q", got[:n], err, want)
			}
			if c.goesOn {
				goesOn(e)
			} else {
				if c.action == wire.Silent || c.action == wire.AnswerSilent { // until the application gives it up
					expect.NoError(t, e.app.(*net.TCPConn).CloseWrite())
				}
				if rest, _ := io.ReadAll(e.app); len(rest) > 0 {
					t.Errorf("the application reads %q, too", rest)
				}
				if rest, _ := io.ReadAll(e.server); len(rest) > 0 {
					t.Errorf("the server gets %q, too", rest)
				}
			}
			if !c.cuts {
				goesOn(other)
			} else if rest, err := io.ReadAll(other.app); len(rest) > 0 || err == nil && c.action == wire.Cut {
				t.Errorf("another connection reads %q, %v", rest, err)
			}
		})
	}
}

// TestTooManyConnections: the application reads the error, and the server gets nothing.
func TestTooManyConnections(t *testing.T) {
	e := through(t)
	e.proxy.Arm(&wire.Fault{Action: wire.TooMany, Place: wire.PlaceConnect, Time: 1})
	conn, err := net.Dial("tcp", e.proxy.Address())
	expect.NoError(t, err)
	defer conn.Close()
	start := &pgproto3.StartupMessage{ProtocolVersion: codeVersion, Parameters: map[string]string{"user": "me"}}
	_, err = conn.Write(encoded[pgproto3.FrontendMessage](t, start))
	expect.NoError(t, err)
	got, err := io.ReadAll(conn)
	expect.NoError(t, err)
	if want := encoded[pgproto3.BackendMessage](t, errorOf("FATAL", "53300", "sorry, too many clients already")); string(got) != string(want) {
		t.Errorf("it reads %q, want %q", got, want)
	}
	e.another() // is the next that the server accepts
}
