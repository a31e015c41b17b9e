package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// headerClient tells the service whose connection it is.
const headerClient = "Assay-Client"

// session implements keyvalue.Session on one connection.
type session struct {
	store *store
	conn  net.Conn
	in    *bufio.Reader
	// out and body are the request under way and the answer to the latest, which the
	// next takes the place of.
	out, body []byte
}

func (s *store) Session(ctx context.Context) (keyvalue.Session, error) {
	conn, err := s.dialSession(ctx)
	if err != nil {
		return nil, &workload.UnreachableError{Address: s.base, Err: plain(err)}
	}
	return &session{store: s, conn: conn, in: bufio.NewReader(conn)}, nil
}

// askFor puts the request for an entity into n.out.
func (n *session) askFor(id uuid.UUID) {
	text, _ := id.MarshalText() // which does not fail
	n.out = append(append(append(n.out[:0], n.store.get.before...), text...), n.store.get.after...)
}

// give puts the request that writes an entity into n.out.
func (n *session) give(body []byte) {
	n.out = strconv.AppendInt(append(n.out[:0], n.store.post.before...), int64(len(body)), 10)
	n.out = append(append(n.out, n.store.post.after...), body...)
}

// template is the text of a request up to the place in which one differs from the
// next, and after it. net/http writes it, once a Store.
type template struct{ before, after []byte }

// make has the request written to a path of the service. What differs is the id at the
// end of the path of a GET, and the length of the body of a POST.
func (t *template) make(s *store, method, path string) error {
	var body io.Reader
	differs := uuid.Nil.String()
	if method == http.MethodPost {
		body, differs = strings.NewReader("{}"), "2"
	}
	request, err := http.NewRequest(method, s.base+path, body)
	if err != nil {
		return failed("make a request", err)
	}
	request.Header.Set(headerClient, s.name)
	request.Header.Set("User-Agent", "assay")
	marker := differs + " HTTP/1.1\r\n"
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
		marker = "\r\nContent-Length: " + differs + "\r\n"
	}
	var text bytes.Buffer
	if err := request.Write(&text); err != nil {
		return failed("make a request", err)
	}
	all := bytes.TrimSuffix(text.Bytes(), []byte("{}"))
	at := bytes.Index(all, []byte(marker))
	if at < 0 {
		return failed("make a request", errors.New("net/http writes it otherwise than is known"))
	}
	at += strings.Index(marker, differs)
	t.before, t.after = all[:at], all[at+len(differs):]
	return nil
}

func (n *session) Close() {
	if n.conn != nil {
		_ = n.conn.Close() // nothing is left to be said
		n.conn = nil
	}
}

// result is what became of one request.
type result struct {
	code int
	body []byte // until the next request
	// sent is true if a single byte of the request may have left.
	sent bool
	// lost is true if the connection is of no further use.
	lost bool
	err  error
}

// errClosed is the error of a session that is used after its end.
var errClosed = errors.New("the connection was closed before")

// exchange sends the request in n.out and reads its answer.
func (n *session) exchange(ctx context.Context) result {
	if n.conn == nil {
		return result{err: errClosed, lost: true}
	}
	if err := ctx.Err(); err != nil {
		return result{err: err}
	}
	// The end of the context ends whatever the connection is doing, by a
	// deadline that is over. It may still be about to when the session has
	// been closed already, so it keeps the connection for itself.
	conn := n.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	r := n.send()
	if !stop() || r.err != nil {
		// Its deadline is over, or is about to be.
		r.lost = true
	}
	if r.err != nil && ctx.Err() != nil {
		r.err = errors.Join(ctx.Err(), r.err)
	}
	return r
}

// send writes the request by one write and reads the answer.
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

// Insert implements keyvalue.Session:
//
//	201                                     Committed
//	409                                     Failed, Duplicate
//	any other problem of outcome "failed"   Failed
//	nothing was sent                        Failed
//	anything else                           Unknown: a problem of outcome
//	                                        "unknown", an answer that is not the
//	                                        service's, a lost connection
func (n *session) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	body, err := json.Marshal(entity.FromRecord(record))
	if err != nil {
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: failed("insert", err)}}
	}
	n.give(body)
	x := n.exchange(ctx)
	defer n.after(x)
	if x.err == nil && x.code == http.StatusCreated {
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: x.lost}}
	}
	r := x.refused("insert")
	if !x.sent {
		r.Outcome = history.Failed
	}
	if r.Outcome == history.Failed && x.err == nil && x.code == http.StatusConflict {
		r.Duplicate, r.Class = true, workload.ClassDuplicate
	}
	return keyvalue.Reply{Reply: r}
}

// Get implements keyvalue.Session. Not found is a 404 in the service's own words;
// any other may be that of a wrong address.
func (n *session) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	id, _ := key.(uuid.UUID)
	n.askFor(id)
	x := n.exchange(ctx)
	defer n.after(x)
	switch {
	case x.err != nil:
	case x.code == http.StatusNotFound:
		if p, ok := problemOf(x.body); ok && p.Class == "not found" {
			return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: x.lost}}
		}
	case x.code == http.StatusOK:
		e, err := entityOf(x.body)
		if err == nil {
			return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed, Broken: x.lost}, Found: true, Record: e.Record()}
		}
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: classUnexpected, Err: failed("get", err), Broken: x.lost}}
	}
	r := x.refused("get")
	r.Outcome = history.Failed // it has no effect
	return keyvalue.Reply{Reply: r}
}

// after closes a connection that is of no further use.
func (n *session) after(x result) {
	if x.lost {
		n.Close()
	}
}

// Error classes that are this driver's own.
const (
	classUnexpected = "unexpected answer"
	classService    = "service error"
)

// refused says how a request ended that was no success. The outcome is Unknown
// but for an answer that proves it to have failed.
func (x result) refused(doing string) workload.Reply {
	r := workload.Reply{Broken: x.lost}
	if x.err != nil {
		r.Class, r.Err = workload.ClassLost, failed(doing, plainWithin(x.err))
		if errors.Is(x.err, context.DeadlineExceeded) || errors.Is(x.err, context.Canceled) {
			r.Class = workload.ClassTimeout
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

// plainWithin keeps whether a context has ended.
func plainWithin(err error) error {
	for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, end) {
			return end
		}
	}
	return plain(err)
}

// maxClass bounds a class that somebody else has made up.
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
