// Package rest lets workload entity use a database through the web service
// that assay serve offers.
//
// It speaks HTTP/1.1 over connections of its own, one a session, because
// net/http repeats requests by itself when a connection that was used before
// breaks. Nothing is ever sent twice here, no proxy and no redirection is
// followed, and what was not sent at all can be told.
//
// It must not know the service's code, the load engine, the checks or any other
// driver.
package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"assay/driver/encryption"
	"assay/workload"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// store implements keyvalue.Store.
type store struct {
	*settings
	// name tells the service which connections are those of this Store.
	name  string
	admin *http.Client
	// get and post are the sessions' requests, of which the id, or the body, is not
	// there yet.
	get, post template
	promise   atomic.Value // string
	taken     workload.Taken
}

// OpenKeyValue reaches the service at target.Address, http://HOST:PORT or
// https://HOST:PORT with an optional path before those of the service and the
// parameters of readEncryption, and returns its Store. The table must be
// entity.Table, and the service started with --allow-reset, else
// *workload.OptionError; nobody there is *workload.UnreachableError.
func OpenKeyValue(ctx context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	if table.Workload != entity.Table().Workload {
		return nil, &workload.OptionError{Option: "workload", Value: table.Workload, Want: entity.Table().Workload + "; the service has no other table"}
	}
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	s, err := newStore(o)
	if err != nil {
		return nil, err
	}
	// A connection for each request: one that is reused may break, and be
	// replaced unasked.
	s.admin = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: o.dial, TLSClientConfig: o.encryption, TLSHandshakeTimeout: o.connectTimeout, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	limit, cancel := context.WithTimeout(ctx, o.connectTimeout)
	defer cancel()
	if _, err := s.describe(limit); err != nil {
		return nil, err
	}
	return s, nil
}

// newStore has a name of its own and the requests that its sessions fill in.
func newStore(o *settings) (*store, error) {
	s := &store{settings: o, name: uuid.NewString()}
	return s, errors.Join(s.get.make(s, http.MethodGet, "/entities/"+uuid.Nil.String()), s.post.make(s, http.MethodPost, "/entities"))
}

// maxAnswer bounds what is read of an answer, the one with all entities but
// one.
const maxAnswer = 1 << 20

// problem is the body of an answer that is no success; see serve's description.
type problem struct {
	Status  int             `json:"status"`
	Detail  string          `json:"detail"`
	Outcome string          `json:"outcome"`
	Class   string          `json:"class"`
	Name    string          `json:"name"`
	Hint    string          `json:"hint"`
	Others  []string        `json:"others"`
	Lease   *workload.Lease `json:"lease"`
}

// ask sends one request of the administration and returns the answer if it is
// a success. The caller closes its body.
func (s *store) ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, failed(method+" "+path, err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		return nil, failed(method+" "+path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := s.admin.Do(request)
	if err != nil {
		return nil, &workload.UnreachableError{Address: s.base, Err: plain(err)}
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, failed(method+" "+path, err)
	}
	return nil, s.refusal(method+" "+path, response.StatusCode, text)
}

// refusal is the error of an answer that is no success.
func (s *store) refusal(doing string, code int, text []byte) error {
	p, ok := problemOf(text)
	switch {
	case !ok:
		return &workload.OptionError{Option: "--db", Value: s.base,
			Want: fmt.Sprintf("the address of assay serve; what is there answered %s with %d", doing, code)}
	case p.Class == "reset not allowed":
		return &workload.OptionError{Option: "--db", Value: s.base,
			Want: "a service started by assay serve --allow-reset, so that a run can begin with nothing and read everything back"}
	case p.Class == "foreign schema":
		return &workload.ForeignError{Name: p.Name, Hint: p.Hint, Others: p.Others}
	case p.Class == "held by another run" && p.Lease != nil:
		return &workload.HeldError{Name: p.Name, Lease: *p.Lease}
	case p.Class == "no schema":
		return &workload.NoSchemaError{Name: p.Name}
	default:
		return failed(doing, errors.New(p.Detail))
	}
}

func failed(doing string, err error) error { return fmt.Errorf("rest: %s: %w", doing, err) }

// problemOf reads a problem; ok is false if it is none of the service's.
func problemOf(text []byte) (p problem, ok bool) {
	err := json.Unmarshal(text, &p)
	return p, err == nil && p.Class != "" && (p.Outcome == "failed" || p.Outcome == "unknown")
}

// answer asks and reads the answer into v; nil leaves it.
func (s *store) answer(ctx context.Context, method, path string, body, v any) error {
	response, err := s.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(v); err != nil {
		return failed(method+" "+path, err)
	}
	return nil
}

func (s *store) describe(ctx context.Context) (workload.Product, error) {
	var got struct {
		Product workload.Product `json:"product"`
		Promise string           `json:"promise"`
	}
	err := s.answer(ctx, http.MethodGet, "/admin/database", nil, &got)
	if err == nil && got.Product.Name == "" {
		err = failed("ask what is behind the service", errors.New("it did not say"))
	}
	s.promise.Store(got.Promise)
	return got.Product, err
}

// Describe implements keyvalue.Store: what is behind the service.
func (s *store) Describe(ctx context.Context) (workload.Product, error) {
	product, err := s.describe(ctx)
	if err == nil {
		// The service tells of its own connections under the plain name.
		product.Settings = append(product.Settings, workload.Setting{Name: encryption.Setting + " of the service", Value: encryption.State(s.encryption)})
	}
	return product, err
}

// Promise implements keyvalue.Promising: what the database behind the service
// promises, since each request waits for it.
func (s *store) Promise() string {
	promise, _ := s.promise.Load().(string)
	return promise
}

func (s *store) Find(ctx context.Context) (*workload.Leftover, error) { return s.find(ctx, "") }

func (s *store) Marker(ctx context.Context) (*workload.Marker, error) {
	remains, err := s.find(ctx, "?rows=no")
	if remains == nil || err != nil {
		return nil, err
	}
	return &remains.Marker, nil
}

func (s *store) find(ctx context.Context, query string) (*workload.Leftover, error) {
	var got struct {
		Found bool            `json:"found"`
		Mark  workload.Marker `json:"mark"`
		Rows  int64           `json:"rows"`
	}
	if err := s.answer(ctx, http.MethodGet, "/admin/mark"+query, nil, &got); err != nil || !got.Found {
		return nil, err
	}
	return &workload.Leftover{Marker: got.Mark, Rows: got.Rows}, nil
}

func (s *store) Create(ctx context.Context, mark workload.Marker) error {
	return s.answer(ctx, http.MethodPut, "/admin/schema"+s.asHolder(), mark, nil)
}

// Blocked is not told by the service.
func (s *store) Blocked(context.Context) (string, error) { return "", nil }

// Removable leaves the answer to the service, which refuses Create and Drop alike.
func (s *store) Removable(context.Context) error { return nil }

func (s *store) Drop(ctx context.Context) error {
	return s.answer(ctx, http.MethodDelete, "/admin/schema"+s.asHolder(), nil, nil)
}

// Settle implements keyvalue.Store. The sessions are closed by now; the service
// waits until it has seen the end of each of their connections, and with it of
// all that was under way on them, and then for its database.
func (s *store) Settle(ctx context.Context) error {
	return s.answer(ctx, http.MethodPost, "/admin/settle?client="+s.name, nil, nil)
}

func (s *store) Size(ctx context.Context) (size workload.Size, err error) {
	return size, s.answer(ctx, http.MethodGet, "/admin/size", nil, &size)
}

func (s *store) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	const doing = "read everything"
	response, err := s.ask(ctx, http.MethodGet, "/admin/entities", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 64<<10), maxAnswer)
	n := int64(0)
	for lines.Scan() {
		var last struct {
			Count *int64 `json:"count"`
		}
		if bytes.HasPrefix(lines.Bytes(), []byte(`{"count"`)) && json.Unmarshal(lines.Bytes(), &last) == nil && last.Count != nil {
			if *last.Count != n {
				return failed(doing, fmt.Errorf("%d entities came, and the service gave %d", n, *last.Count))
			}
			return nil
		}
		e, err := entityOf(lines.Bytes())
		if err != nil {
			return failed(doing, err)
		}
		n++
		if err := use(e.Record()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return failed(doing, err)
	}
	return failed(doing, fmt.Errorf("the service broke off after %d entities", n))
}

// entityOf reads an entity, which has no field that is not one of its own. It is read
// once an operation, and by the second version of Go's JSON, which takes a quarter of
// the first one's time. Text that is no UTF-8 is not refused: it is an answer, and will
// differ from what was written.
func entityOf(text []byte) (e entity.Entity, err error) {
	if err := jsonv2.Unmarshal(text, &e, jsonv2.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return e, fmt.Errorf("an entity that cannot be read: %w", err)
	}
	return e, nil
}

func (s *store) Close() error {
	s.admin.CloseIdleConnections()
	return nil
}
