package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"assay/internal/expect"
	"assay/store"
)

// exchangeWith opens a connection and collects its notices.
func exchangeWith(t *testing.T, address string) (x *exchange, notices *[]string) {
	t.Helper()
	raw, err := pgconn.Connect(t.Context(), address)
	expect.NoError(t, err)
	notices = new([]string)
	x = newExchange(raw, func(n *pgconn.Notice) { *notices = append(*notices, n.Message) }, func() bool { return true })
	t.Cleanup(func() { conn{x.PgConn}.HangUp() })
	return x, notices
}

// value asks for one value and reads to the end.
func (x *exchange) value(ctx context.Context, text string) (value string, err error) {
	x.begin()
	x.executeText(text, nil, nil, nil)
	if err := x.sync(ctx); err != nil {
		return "", err
	}
	var into columns
	_, err = x.answer(nil, &into, func(store.Row) error {
		value = string(into.values[0])
		return nil
	})
	return value, errors.Join(err, x.end())
}

func (x *exchange) wantValue(t *testing.T, ctx context.Context) {
	t.Helper()
	if got, err := x.value(ctx, "SELECT 6 * 7"); err != nil || got != "42" || x.IsClosed() || x.TxStatus() != idle {
		t.Errorf("%q, %v; closed: %v, status %c", got, err, x.IsClosed(), x.TxStatus())
	}
}

// TestExchangeOfMuch sends much before it has read equally long answers, and waits for the reader.
func TestExchangeOfMuch(t *testing.T) {
	x, _ := exchangeWith(t, server.Address())
	ctx := expect.Patiently(t)
	x.begin()
	const n = 64
	for range n {
		x.executeText("SELECT repeat($1, 4)", [][]byte{bytes.Repeat([]byte("x"), 256<<10)}, []uint32{oidText}, nil)
	}
	expect.NoError(t, x.sync(ctx))
	var into columns
	rows := 0
	for range n {
		if _, err := x.answer(nil, &into, func(store.Row) error {
			if rows++; len(into.values[0]) != 1<<20 {
				t.Errorf("%d bytes came", len(into.values[0]))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.end(); err != nil || rows != n {
		t.Errorf("%d rows, %v", rows, err)
	}
	x.wantValue(t, ctx)
	if cap(x.out) > keptBuffer {
		t.Errorf("%d bytes are kept", cap(x.out))
	}
}

// noSession asks whether a server's process has no session any more.
const noSession = `SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $1`

// TestExchangeEndsWithItsContext: before, during and after the server's work.
func TestExchangeEndsWithItsContext(t *testing.T) {
	x, _ := exchangeWith(t, server.Address())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.value(ended, "SELECT 1"); !pgconn.SafeToRetry(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("before: %v", err)
	}
	x.wantValue(t, t.Context())

	ctx, cancel := context.WithCancel(t.Context())
	x.begin()
	x.executeText("SELECT 1", nil, nil, nil)
	err := x.sync(ctx)
	if err == nil {
		_, err = x.answer(nil, nil, nil)
	}
	cancel() // what is left to be read has come with the answer
	if err := errors.Join(err, x.end()); err != nil {
		t.Errorf("after: %v", err)
	}
	x.wantValue(t, t.Context())

	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = x.value(ctx, "SELECT pg_sleep(600)")
	if !errors.Is(err, context.DeadlineExceeded) || pgconn.SafeToRetry(err) || !x.IsClosed() {
		t.Errorf("while it works: %v; closed: %v", err, x.IsClosed())
	}
	if _, err := x.value(t.Context(), "SELECT 1"); !pgconn.SafeToRetry(err) || !errors.Is(err, pgconn.ErrConnClosed) {
		t.Errorf("when it is closed: %v", err)
	}
	<-x.CleanupDone()
	until(t, admin(t), "the session's end", noSession, int64(x.PID())) // the server was told to cancel it
}

// TestNothingIsLeftToSend: what was not sent since its context had ended is not sent later, by the
// next exchange or by the end of the connection.
func TestNothingIsLeftToSend(t *testing.T) {
	conn := admin(t)
	exec(t, conn, `CREATE TABLE public.unsent (text text)`)
	t.Cleanup(func() { exec(t, admin(t), `DROP TABLE public.unsent`) })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, next := range []func(*exchange){
		func(*exchange) {},
		func(x *exchange) {
			x.begin()
			x.executeText("SELECT length($1)", [][]byte{bytes.Repeat([]byte("x"), 2*smallWrite)}, []uint32{oidText}, nil)
			if err := x.sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := x.answer(nil, nil, nil)
			expect.NoError(t, err, x.end())
		},
	} {
		x, _ := exchangeWith(t, server.Address())
		x.begin()
		x.executeText("INSERT INTO public.unsent VALUES ($1)", [][]byte{bytes.Repeat([]byte("x"), 2*smallWrite)}, []uint32{oidText}, nil)
		x.keep((&pgproto3.Sync{}).Encode(x.out))
		if err := x.sendLarge(ended); !pgconn.SafeToRetry(err) || !errors.Is(err, context.Canceled) || x.IsClosed() {
			t.Errorf("%v; closed: %v", err, x.IsClosed())
		}
		next(x)
		pid := int64(x.PID())
		hangUp(x)
		until(t, conn, "the session's end", noSession, pid)
		var rows int
		if expect.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM public.unsent`).Scan(&rows)); rows != 0 {
			t.Errorf("%d rows were sent after all", rows)
		}
	}
}

func hangUp(x *exchange) { conn{x.PgConn}.HangUp() }

// TestExchangeWithErrors of a statement, of the Sync, and of an unsendable message.
func TestExchangeWithErrors(t *testing.T) {
	x, notices := exchangeWith(t, server.Address())
	if _, err := x.value(t.Context(), "SELECT 1 / 0"); !hasCode(err, "22012") || x.IsClosed() {
		t.Errorf("%v", err)
	}
	if _, err := x.value(t.Context(), "SELECT set_config('client_min_messages', 'notice', false)"); err != nil {
		t.Error(err)
	}
	if _, err := x.value(t.Context(), "DROP TABLE IF EXISTS pg_temp.nothing"); err != nil || len(*notices) != 1 {
		t.Errorf("%v, notices: %q", err, *notices)
	}
	for _, text := range []string{"CREATE TEMP TABLE late (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)", "INSERT INTO late VALUES (1)"} {
		if _, err := x.value(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	x.begin()
	x.executeText("INSERT INTO late VALUES (1)", nil, nil, nil)
	expect.NoError(t, x.sync(t.Context()))
	tag, err := x.answer(nil, nil, nil)
	if err != nil || affected(tag) != 1 {
		t.Errorf("%q, %v", tag, err)
	}
	if err := x.end(); !hasCode(err, codeUniqueViolation) {
		t.Errorf("the error of the commit is %v", err)
	}
	x.begin()
	x.executeText("SELECT 1", make([][]byte, maxParameters+1), nil, nil)
	if err := x.sync(t.Context()); err == nil || !pgconn.SafeToRetry(err) {
		t.Errorf("too many parameters: %v", err)
	}
	x.wantValue(t, t.Context())
}

// TestExchangeWithOddServers: a proxy says what a server does not.
func TestExchangeWithOddServers(t *testing.T) {
	t.Parallel()
	row := &pgproto3.DataRow{Values: [][]byte{[]byte("42")}}
	complete, ready := &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'I'}
	described := &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("n"), DataTypeOID: oidInteger}}}
	for name, c := range map[string]struct {
		answer []pgproto3.BackendMessage
		says   string // empty for 42
		open   bool
	}{
		"as it should be":        {[]pgproto3.BackendMessage{&pgproto3.ParameterStatus{Name: "a", Value: "b"}, described, row, complete, ready}, "", true},
		"a row without columns":  {[]pgproto3.BackendMessage{row, complete, ready}, "a row of 1 columns came, and not of 0", true},
		"COPY that nobody wants": {[]pgproto3.BackendMessage{&pgproto3.CopyInResponse{}}, "unexpected answer of type *pgproto3.CopyInResponse", false},
		"an end with a word": {[]pgproto3.BackendMessage{&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: codeAdminShutdown, Message: "going down"}},
			"going down", false},
		"an end without one": {nil, "EOF", false},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			expect.NoError(t, err)
			defer listener.Close()
			done := make(chan error, 1)
			go func() { done <- answerOnce(listener, c.answer) }()
			x, _ := exchangeWith(t, "postgres://u@"+listener.Addr().String()+"/d?sslmode=disable")
			got, err := x.value(t.Context(), "SELECT 42")
			switch {
			case c.says == "" && (err != nil || got != "42"):
				t.Errorf("%q, %v", got, err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || pgconn.SafeToRetry(err)):
				t.Errorf("%v, want %q", err, c.says)
			}
			if x.IsClosed() == c.open {
				t.Errorf("closed: %v", x.IsClosed())
			}
			conn{x.PgConn}.HangUp()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// answerOnce answers one connection's first Sync by these messages and reads until its end; without
// messages it closes.
func answerOnce(listener net.Listener, messages []pgproto3.BackendMessage) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	backend := pgproto3.NewBackend(conn, conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return err
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	backend.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	err = backend.Flush()
	for synced := false; err == nil; {
		var message pgproto3.FrontendMessage
		if message, err = backend.Receive(); err != nil {
			break
		}
		if _, is := message.(*pgproto3.Sync); is && !synced {
			if synced = true; len(messages) == 0 {
				return nil
			}
			for _, m := range messages {
				backend.Send(m)
			}
			err = backend.Flush()
		}
	}
	if _, reset := errors.AsType[*net.OpError](err); reset || strings.Contains(err.Error(), "EOF") {
		return nil
	}
	return err
}

func TestAffected(t *testing.T) {
	for tag, want := range map[string]int64{"INSERT 0 5": 5, "UPDATE 12": 12, "SELECT 0": 0, "CREATE TABLE": 0, "COMMIT": 0, "": 0} {
		if got := affected([]byte(tag)); got != want {
			t.Errorf("%q: %d, want %d", tag, got, want)
		}
	}
}
