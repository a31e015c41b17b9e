package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/store"
)

const headerClient = "Assay-Client"

// session is a store.Session on one connection.
type session struct {
	of    *database
	verbs []store.Verb // of the statements
	conn  net.Conn
	in    *bufio.Reader
	// out is the current request, and body the latest answer. Both are reused.
	out, body []byte
}

// Session implements store.Database for statements that insert all columns of a record, or read
// them by id.
func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	n := &session{of: d}
	for _, s := range statements {
		inserts := s.Verb == store.Insert && s.Values == nil && s.Rows <= 1
		reads := s.Verb == store.Read && reflect.DeepEqual(s.Where, store.Where(d.table.Key()...))
		if !inserts && !reads || !slices.Equal(s.Columns, d.table.Names()) {
			return nil, failed(s.Name, fmt.Errorf("%s: %w", twoCalls, errors.ErrUnsupported))
		}
		n.verbs = append(n.verbs, s.Verb)
	}
	conn, err := d.dial(ctx)
	if err != nil {
		return nil, &store.UnreachableError{Address: d.base, Err: plain(err)}
	}
	n.conn, n.in = conn, bufio.NewReader(conn)
	return n, nil
}

// askFor puts a request to read a record into n.out.
func (n *session) askFor(id uuid.UUID) {
	n.out = fmt.Appendf(n.out[:0], "GET %s/entities/%s HTTP/1.1\r\n%s\r\n", n.of.prefix, id, n.of.header)
}

// give puts a request to write a record into n.out.
func (n *session) give(body []byte) {
	n.out = fmt.Appendf(n.out[:0], "POST %s/entities HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		n.of.prefix, n.of.header, len(body), body)
}

func (n *session) Close() {
	if n.conn != nil {
		_ = n.conn.Close() // nothing is left to be said
		n.conn = nil
	}
}

type result struct {
	code int
	body []byte // until the next request
	// sent is true if a byte of the request may have left.
	sent bool
	// lost is true if the connection cannot be used any more.
	lost bool
	err  error
}

var errClosed = errors.New("the connection was closed before")

// exchange sends the request in n.out and reads its answer.
func (n *session) exchange(ctx context.Context) result {
	if n.conn == nil {
		return result{err: errClosed, lost: true}
	}
	if err := ctx.Err(); err != nil {
		return result{err: err}
	}
	// At the end of ctx, an expired deadline ends the connection's work. The callback may still
	// run after the session was closed, so it captures the connection.
	conn := n.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	r := n.send()
	if !stop() || r.err != nil {
		// The callback has set the deadline, or is about to.
		r.lost = true
	}
	if r.err != nil && ctx.Err() != nil {
		r.err = errors.Join(ctx.Err(), r.err)
	}
	return r
}

// send writes the request at once and reads the answer.
func (n *session) send() (r result) {
	written, err := n.conn.Write(n.out)
	r.sent = written > 0
	if err != nil {
		r.err = err
		return r
	}
	response, err := http.ReadResponse(n.in, nil)
	if err != nil {
		r.err = err
		return r
	}
	r.code = response.StatusCode
	body := bytes.NewBuffer(n.body[:0])
	_, r.err = body.ReadFrom(io.LimitReader(response.Body, maxAnswer+1))
	n.body, r.body = body.Bytes(), body.Bytes()
	if r.err == nil && len(r.body) > maxAnswer {
		r.err = errors.New("the answer is too long")
	}
	if err := response.Body.Close(); r.err == nil {
		r.err = err
	}
	r.lost = response.Close
	return r
}

func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	if n.verbs[call.Statement] == store.Insert {
		return n.insert(ctx, call.Parameters)
	}
	return n.read(ctx, &call)
}

// insert sends a record:
//
//	201                                 Committed
//	409                                 Failed, Unique
//	other problem of outcome "failed"   Failed
//	nothing was sent                    Failed
//	anything else                       Unknown: a problem of outcome "unknown", a foreign
//	                                    answer, a lost connection
func (n *session) insert(ctx context.Context, row []store.Value) store.Reply {
	body, err := n.of.write(row)
	if err != nil {
		return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: failed("insert", err)}
	}
	n.give(body)
	x := n.exchange(ctx)
	defer n.after(x)
	if x.err == nil && x.code == http.StatusCreated {
		return x.committed()
	}
	r := x.refused("insert")
	if !x.sent {
		r.Outcome = history.Failed
	}
	if r.Outcome == history.Failed && x.err == nil && x.code == http.StatusConflict {
		r.Violated = store.Unique
	}
	return r
}

// read asks for a record. Only a 404 in the service's own form means that the record is missing;
// others may come from a wrong address.
func (n *session) read(ctx context.Context, call *store.Call) store.Reply {
	id, _ := uuid.FromBytes(call.Parameters[0].Bytes) // what is no id is nobody's
	n.askFor(id)
	x := n.exchange(ctx)
	defer n.after(x)
	switch {
	case x.err != nil:
	case x.code == http.StatusNotFound:
		if p, ok := problemOf(x.body); ok && p.Class == "not found" && call.Want == 0 {
			return x.committed()
		}
	case x.code == http.StatusOK:
		row, err := n.of.read(x.body)
		if err == nil {
			err = call.Row(row)
		}
		if err != nil {
			return store.Reply{Outcome: history.Failed, Class: classUnexpected, Err: failed("get", err), Broken: x.lost}
		}
		return x.committed()
	}
	r := x.refused("get")
	r.Outcome = history.Failed // it has no effect
	return r
}

func (x *result) committed() store.Reply {
	return store.Reply{Outcome: history.Committed, Broken: x.lost}
}

// Insert sends one record after the other.
func (n *session) Insert(ctx context.Context, rows store.Rows) (r store.Reply) {
	r.Outcome = history.Committed
	for i := 0; i < rows.Count && r.Outcome == history.Committed; i++ {
		if r = n.insert(ctx, rows.Row(i, nil)); r.Outcome == history.Failed && i > 0 {
			r.Outcome = history.Unknown
		}
	}
	return r
}

func (n *session) Load(ctx context.Context, rows store.Rows) store.Reply { return n.Insert(ctx, rows) }

// Batch and Transaction need Transactions, which the service lacks.
func (n *session) Batch(context.Context, *store.Batch) store.Reply { return withoutTransactions() }

func (n *session) Transaction(context.Context, bool, func(context.Context, store.Transaction) error) store.Reply {
	return withoutTransactions()
}

func withoutTransactions() store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: failed("a transaction", errors.ErrUnsupported)}
}

// Waiting implements store.Session. The service does not tell.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

func (n *session) after(x result) {
	if x.lost {
		n.Close()
	}
}

// Error classes of this driver.
const (
	classUnexpected = "unexpected answer"
	classService    = "service error"
)

// refused makes the reply to an unsuccessful request. It is Unknown unless the answer proves that
// the request failed.
func (x result) refused(doing string) store.Reply {
	r := store.Reply{Broken: x.lost}
	if x.err != nil {
		r.Class, r.Err = store.ClassLost, failed(doing, plain(x.err))
		for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
			if errors.Is(x.err, end) {
				r.Class, r.Err = store.ClassTimeout, failed(doing, end)
			}
		}
		return r
	}
	p, ok := problemOf(x.body)
	if !ok || p.Status != x.code {
		r.Class = classUnexpected
		r.Err = failed(doing, fmt.Errorf("it was answered with %d, not in the service's words", x.code))
		return r
	}
	if p.Outcome == "failed" {
		r.Outcome = history.Failed
	}
	r.Class, r.Err = classOf(p.Class), failed(doing, errors.New(p.Detail))
	return r
}

// maxClass bounds a class that the other side chose, in bytes.
const maxClass = 60

func classOf(class string) string {
	if len(class) > maxClass {
		return classService
	}
	for _, c := range class {
		if c < ' ' || c > '~' {
			return classService
		}
	}
	return class
}
