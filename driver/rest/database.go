// Package rest is the table behind the web service of assay serve as a database: records are
// inserted, and read by key.
//
// A session speaks HTTP/1.1 over a connection of its own, because net/http repeats requests when a
// reused connection breaks. Nothing is sent twice, no proxy and no redirection is followed, and
// the driver knows whether any byte was sent.
//
// It must not know the service's code, the load engine, the checks or any other driver.
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
	"net/url"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"assay/driver/encryption"
	"assay/store"
)

type database struct {
	*settings
	records
	// name tells the service which connections belong to this database.
	name  string
	admin *http.Client
	// header begins each request of a session, after the request line.
	header  string
	promise atomic.Value // string
	taken   store.Taken
}

const twoCalls = "the service behind the address has two calls, to write an entity and to read one"

// Lacks returns the service's missing capabilities.
func Lacks() store.Lacks { return store.LacksAllBut(twoCalls, store.UniqueKeys) }

// Open reaches the service at http://HOST:PORT or https://HOST:PORT, with an optional path and
// readEncryption's parameters. It returns *store.OptionError unless the schema has one table, of
// records under an id, and the service runs with --allow-reset. It returns
// *store.UnreachableError if no service answers.
func Open(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	d, err := newDatabase(o, schema)
	if err != nil {
		return nil, err
	}
	// Each request has a new connection. net/http silently replaces a broken reused one.
	d.admin = &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: o.connectTimeout}).DialContext, TLSClientConfig: o.encryption, TLSHandshakeTimeout: o.connectTimeout, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	limit, cancel := context.WithTimeout(ctx, o.connectTimeout)
	defer cancel()
	if _, err := d.describe(limit); err != nil {
		return nil, err
	}
	return d, nil
}

func newDatabase(o *settings, schema store.Schema) (*database, error) {
	of, err := recordsOf(schema)
	if err != nil {
		return nil, err
	}
	name := uuid.NewString()
	return &database{settings: o, records: of, name: name,
		header: "Host: " + o.host + "\r\nUser-Agent: assay\r\n" + headerClient + ": " + name + "\r\n"}, nil
}

func (d *database) Lacks() store.Lacks { return Lacks() }

func (d *database) Levels() []store.Level { return nil }

// Promises are the promises of the database behind the service, since each request waits for it.
func (d *database) Promises() store.Promises {
	promise, _ := d.promise.Load().(string)
	return store.Promises{Reads: promise}
}

// maxAnswer bounds an answer in bytes, except the answer with all entities.
const maxAnswer = 1 << 20

// problem is the body of an error's answer; see serve's description.
type problem struct {
	Status  int          `json:"status"`
	Detail  string       `json:"detail"`
	Outcome string       `json:"outcome"`
	Class   string       `json:"class"`
	Name    string       `json:"name"`
	Hint    string       `json:"hint"`
	Others  []string     `json:"others"`
	Lease   *store.Lease `json:"lease"`
}

// ask sends one request of the administration. The caller closes the body of a successful answer.
func (d *database) ask(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, failed(method+" "+path, err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, d.base+path, content)
	if err != nil {
		return nil, failed(method+" "+path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := d.admin.Do(request)
	if err != nil {
		return nil, &store.UnreachableError{Address: d.base, Err: plain(err)}
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, failed(method+" "+path, err)
	}
	return nil, d.refusal(method+" "+path, response.StatusCode, text)
}

func (d *database) refusal(doing string, code int, text []byte) error {
	p, ok := problemOf(text)
	switch {
	case !ok:
		return &store.OptionError{Option: "--db", Value: d.base,
			Want: fmt.Sprintf("the address of assay serve; what is there answered %s with %d", doing, code)}
	case p.Class == "reset not allowed":
		return &store.OptionError{Option: "--db", Value: d.base,
			Want: "a service started by assay serve --allow-reset, so that a run can begin with nothing and read everything back"}
	case p.Class == "foreign schema":
		return &store.ForeignError{Name: p.Name, Hint: p.Hint, Others: p.Others}
	case p.Class == "held by another run" && p.Lease != nil:
		return &store.HeldError{Name: p.Name, Lease: *p.Lease}
	case p.Class == "no schema":
		return &store.NoSchemaError{Name: p.Name}
	default:
		return failed(doing, errors.New(p.Detail))
	}
}

func failed(doing string, err error) error { return fmt.Errorf("rest: %s: %w", doing, err) }

func problemOf(text []byte) (p problem, ok bool) {
	err := json.Unmarshal(text, &p)
	return p, err == nil && p.Class != "" && (p.Outcome == "failed" || p.Outcome == "unknown")
}

// answer asks and decodes the answer into v, unless v is nil.
func (d *database) answer(ctx context.Context, method, path string, body, v any) error {
	response, err := d.ask(ctx, method, path, body)
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

func (d *database) describe(ctx context.Context) (store.Product, error) {
	var got struct {
		Product store.Product `json:"product"`
		Promise string        `json:"promise"`
	}
	err := d.answer(ctx, http.MethodGet, "/admin/database", nil, &got)
	if err == nil && got.Product.Name == "" {
		err = failed("ask what is behind the service", errors.New("it did not say"))
	}
	d.promise.Store(got.Promise)
	return got.Product, err
}

// Describe describes the database behind the service.
func (d *database) Describe(ctx context.Context) (store.Product, error) {
	product, err := d.describe(ctx)
	if err == nil {
		// The service reports its own connections under the plain name.
		product.Settings = append(product.Settings, store.Setting{Name: encryption.Setting + " of the service", Value: encryption.State(d.encryption)})
	}
	return product, err
}

func (d *database) Find(ctx context.Context) (*store.Leftover, error) { return d.find(ctx, "") }

func (d *database) Marker(ctx context.Context) (*store.Marker, error) {
	remains, err := d.find(ctx, "?rows=no")
	if remains == nil || err != nil {
		return nil, err
	}
	return &remains.Marker, nil
}

func (d *database) find(ctx context.Context, query string) (*store.Leftover, error) {
	var got struct {
		Found bool         `json:"found"`
		Mark  store.Marker `json:"mark"`
		Rows  int64        `json:"rows"`
	}
	if err := d.answer(ctx, http.MethodGet, "/admin/mark"+query, nil, &got); err != nil || !got.Found {
		return nil, err
	}
	return &store.Leftover{Marker: got.Mark, Rows: got.Rows}, nil
}

func (d *database) Create(ctx context.Context, mark store.Marker) error {
	mark.Loaded = true // the service has no call for the end of loading
	return d.answer(ctx, http.MethodPut, "/admin/schema"+d.asHolder(), mark, nil)
}

// Blocked implements store.Administration. The service does not tell.
func (d *database) Blocked(context.Context) (string, error) { return "", nil }

// Removable implements store.Administration. The service refuses Create and Drop itself.
func (d *database) Removable(context.Context) error { return nil }

func (d *database) Drop(ctx context.Context) error {
	return d.answer(ctx, http.MethodDelete, "/admin/schema"+d.asHolder(), nil, nil)
}

// Settle implements store.Database. The sessions are closed by now. The service waits until it
// has seen the end of each of their connections and of all work on them, and then for its
// database.
func (d *database) Settle(ctx context.Context) error {
	return d.answer(ctx, http.MethodPost, "/admin/settle?client="+d.name, nil, nil)
}

func (d *database) Size(ctx context.Context) (size store.Size, err error) {
	return size, d.answer(ctx, http.MethodGet, "/admin/size", nil, &size)
}

const leasePath = "/admin/lease"

type leaseTerms struct {
	Holder store.Holder  `json:"holder"`
	TTL    time.Duration `json:"ttl_ns"`
	Gone   string        `json:"gone"`
}

// asHolder is the query that names the lease's holder.
func (d *database) asHolder() string { return "?lease=" + url.QueryEscape(d.taken.Holder().Token) }

// Lease asks the database behind the service, which keeps the lease.
func (d *database) Lease(ctx context.Context) (*store.Lease, error) {
	var got struct {
		Lease *store.Lease `json:"lease"`
	}
	err := d.answer(ctx, http.MethodGet, leasePath, nil, &got)
	return got.Lease, err
}

func (d *database) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	err := d.answer(ctx, http.MethodPut, leasePath, leaseTerms{holder, ttl, gone}, nil)
	if err == nil {
		d.taken.Set(holder)
	}
	return err
}

func (d *database) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	return d.answer(ctx, http.MethodPost, leasePath, leaseTerms{Holder: store.Holder{Token: token}, TTL: ttl}, nil)
}

func (d *database) ReleaseLease(ctx context.Context, token string) error {
	return d.answer(ctx, http.MethodDelete, leasePath+"?token="+url.QueryEscape(token), nil, nil)
}

// Load inserts rows as a session does.
func (d *database) Load(ctx context.Context, rows store.Rows) error {
	session, err := d.Session(ctx, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	if r := session.Load(ctx, rows); r.Err != nil {
		return failed("load", r.Err)
	}
	return nil
}

func (d *database) FinishLoad(context.Context) error { return nil }

func (d *database) View(_ context.Context, read func(store.Reader) error) error {
	return read(&reader{database: d, count: -1})
}

// Audit is View, since the service lacks Snapshots.
func (d *database) Audit(ctx context.Context, read func(store.Reader) error) error {
	return d.View(ctx, read)
}

type reader struct {
	*database
	count int64 // of the records that the service has given; -1 before
}

func (r *reader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, _ ...store.Value) error {
	switch {
	case len(s.Where) > 0:
		return failed("read", errors.ErrUnsupported)
	case s.Verb != store.Count:
		return r.everything(ctx, row)
	case r.count < 0:
		if err := r.everything(ctx, func(store.Row) error { return nil }); err != nil {
			return err
		}
	}
	return row(store.Values{store.OfInt(r.count)})
}

func (r *reader) everything(ctx context.Context, use func(store.Row) error) error {
	const doing = "read everything"
	response, err := r.ask(ctx, http.MethodGet, "/admin/entities", nil)
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
			if r.count = n; *last.Count != n {
				return failed(doing, fmt.Errorf("%d entities came, and the service gave %d", n, *last.Count))
			}
			return nil
		}
		one, err := r.read(lines.Bytes())
		if err != nil {
			return failed(doing, err)
		}
		n++
		if err := use(one); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return failed(doing, err)
	}
	return failed(doing, fmt.Errorf("the service broke off after %d entities", n))
}

func (d *database) Close() error {
	d.admin.CloseIdleConnections()
	return nil
}
