package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"assay/check"
	"assay/driver/bugs"
	"assay/driver/drivertest"
	"assay/driver/sqlite"
	"assay/history"
	"assay/internal/expect"
	"assay/runner/serve"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// start runs a service over an SQLite file until the test ends.
func start(t *testing.T, allowReset bool) (hostPort string, behind store.Database) {
	t.Helper()
	return startBehind(t, allowReset, func(l net.Listener) net.Listener { return l })
}

// startBehind is start with a wrapped listener.
func startBehind(t *testing.T, allowReset bool, around func(net.Listener) net.Listener) (hostPort string, behind store.Database) {
	t.Helper()
	behind, err := sqlite.Open(t.Context(), store.Target{Address: "sqlite:" + filepath.Join(t.TempDir(), "entity.db")}, entity.Schema())
	expect.NoError(t, err)
	o := serve.DefaultOptions()
	o.AllowReset, o.Version, o.Sessions = allowReset, "test", 8
	service, err := serve.New(t.Context(), behind, o)
	expect.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(ctx, around(listener)) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, behind.Close()); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String(), behind
}

func open(t *testing.T, hostPort string) store.Database {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: "http://" + hostPort}, entity.Schema())
	expect.NoError(t, err)
	return db
}

func opened(t *testing.T, db store.Database) store.Session {
	t.Helper()
	s, err := db.Session(t.Context(), keyvalue.Statements(entity.Schema()))
	expect.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func insert(ctx context.Context, s store.Session, e entity.Entity) store.Reply {
	return s.Run(ctx, store.Call{Statement: keyvalue.Insert, Parameters: e.Values()}).Inserted()
}

// get returns a zero entity if there is none.
func get(ctx context.Context, s store.Session, id uuid.UUID) (found entity.Entity, r store.Reply) {
	r = s.Run(ctx, store.Call{Statement: keyvalue.Get, Parameters: []store.Value{store.OfBytes(id[:])}, Row: func(row store.Row) (err error) {
		found, err = entity.Of(row)
		return err
	}})
	return found, r
}

func TestEntityThroughTheService(t *testing.T) {
	hostPort, _ := start(t, true)
	db := open(t, hostPort)
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 12, Each: 20, Attempts: 1}
	if j := run.Valid(t.Context(), t, db); j.Counts.Committed != 240 {
		t.Errorf("%+v", j.Entity)
	}
	product, err := db.Describe(t.Context())
	if err != nil || product.Name != "SQLite" || product.Embedded || db.Promises().Reads != store.Linearizable {
		t.Errorf("behind the service is %+v, %v", product, err)
	}
	expect.NoError(t, db.Drop(t.Context()), db.Close())
}

// TestEveryBugIsFound, seeded around the service, by its check.
func TestEveryBugIsFound(t *testing.T) {
	for _, b := range entity.Bugs() {
		hostPort, _ := start(t, true)
		db := bugs.Over(open(t, hostPort), entity.Schema(), entity.Bugs(), []bugs.Seeded{{Name: b.Name, Probability: 0.5}}, 1)
		run := drivertest.ShortRun{Workload: entity.Definition(), Config: &entity.Config{WriteShare: 0.5}, Seed: 1, Clients: 4, Each: 50, Attempts: 1}
		found := false
		for _, r := range run.Judge(t.Context(), t, db).Results {
			found = found || r.Name == b.Check && r.Verdict == check.Violated
			if r.Verdict == check.Violated && b.Check == "" {
				t.Errorf("%s: %s is violated: %s", b.Name, r.Name, r.Detail)
			}
		}
		if found != (b.Check != "") {
			t.Errorf("%s: found is %v", b.Name, found)
		}
		if err := errors.Join(db.Drop(t.Context()), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestRecordsThroughTheService writes texts that a careless service would spoil.
func TestRecordsThroughTheService(t *testing.T) {
	hostPort, _ := start(t, true)
	db, other := open(t, hostPort), open(t, hostPort)
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "r", Workload: entity.Name, Loaded: true}))
	session, reader := opened(t, db), opened(t, other)
	var e entity.Entity
	written := 0
	for i, text := range []string{`' " and \ and $1 ? :x %s {}`, "Žluťoučký 馬 🐎", " spaces at the ends ", "two\nlines\tand a tab", "<b>&amp;</b>", ""} {
		e = entity.Entity{ID: entity.IDOf(1, int64(i)), Name: text, Age: i, Description: text, Address: text, Phone: text, Email: text}
		if found, r := get(t.Context(), reader, e.ID); r.Outcome != history.Committed || found != (entity.Entity{}) {
			t.Errorf("before the insert: %+v, %+v", found, r)
		}
		if r := insert(t.Context(), session, e); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
		if r := insert(t.Context(), session, e); r.Outcome != history.Failed || !r.Duplicate {
			t.Errorf("insert again: %+v", r)
		}
		if found, r := get(t.Context(), reader, e.ID); r.Outcome != history.Committed || found != e {
			t.Errorf("get: %+v, %+v, want %+v", found, r, e)
		}
		written++
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, r := get(ended, session, entity.IDOf(1, 0)); r.Outcome != history.Failed {
		t.Errorf("get in a context that was over: %+v", r)
	}
	e.ID = entity.IDOf(2, 0)
	if r := insert(ended, session, e); r.Outcome == history.Committed {
		t.Errorf("insert in a context that was over: %+v", r)
	}
	more := store.Rows{Table: "entity", Count: 3, Row: func(i int, into []store.Value) []store.Value {
		return append(into, entity.Make(1, 100+int64(i)).Values()...)
	}}
	if r := reader.Insert(t.Context(), more); r.Outcome != history.Committed {
		t.Errorf("several: %+v", r)
	}
	if r := reader.Insert(t.Context(), more); r.Outcome != history.Failed || r.Violated != store.Unique {
		t.Errorf("several again: %+v", r)
	}
	n := 0
	err := keyvalue.Read(t.Context(), db, entity.Schema(), func(store.Row) error { n++; return nil })
	if err := errors.Join(err, db.Drop(t.Context()), db.Close(), other.Close()); err != nil || n != written+3 {
		t.Errorf("%d records were read, want %d; %v", n, written+3, err)
	}
}

// TestWhatTheServiceDoesNot: unsupported statements are refused at the session's opening, tables at
// the database's.
func TestWhatTheServiceDoesNot(t *testing.T) {
	hostPort, _ := start(t, true)
	db := open(t, hostPort)
	defer db.Close()
	if _, err := db.Session(t.Context(), []store.Statement{{Name: "remove", Verb: store.Delete, Table: "entity", Where: store.Where("id")}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a delete: %v", err)
	}
	session := opened(t, db)
	for _, r := range []store.Reply{session.Batch(t.Context(), &store.Batch{}), session.Transaction(t.Context(), false, nil)} {
		if r.Outcome != history.Failed || !errors.Is(r.Err, errors.ErrUnsupported) {
			t.Errorf("a transaction: %+v", r)
		}
	}
	_, err := Open(t.Context(), store.Target{Address: "http://" + hostPort}, availability.Schema())
	if refused, is := errors.AsType[*store.OptionError](err); !is || refused.Option != "workload" {
		t.Errorf("another table: %v", err)
	}
}

func TestAServiceThatAllowsNoReset(t *testing.T) {
	hostPort, behind := start(t, false)
	var refused *store.OptionError
	if _, err := Open(t.Context(), store.Target{Address: "http://" + hostPort}, entity.Schema()); !errors.As(err, &refused) || !strings.Contains(refused.Want, "--allow-reset") {
		t.Errorf("got %v", err)
	}
	found, err := behind.Find(t.Context())
	if err != nil || found == nil || !found.Marker.Loaded {
		t.Errorf("the service has made %+v, %v", found, err)
	}
}

func TestAddresses(t *testing.T) {
	for _, wrong := range []string{"http://", "http://u:hunter2@host", "http://host?x=1", "ftp://host",
		"http://host?tlsCAFile=x", "https://host?tlsCAFile=none.pem", "https://host?sslmode=x", "https://host?tlsInsecure=1", "http://host/#a", "http:host"} {
		_, err := Open(t.Context(), store.Target{Address: wrong}, entity.Schema())
		var refused *store.OptionError
		if !errors.As(err, &refused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	nobody := listener.Addr().String()
	listener.Close()
	var unreachable *store.UnreachableError
	if _, err := Open(t.Context(), store.Target{Address: "http://" + nobody}, entity.Schema()); !errors.As(err, &unreachable) {
		t.Errorf("nobody there: %v", err)
	}
	for address, want := range map[string]settings{
		"http://host":             {base: "http://host", hostPort: "host:80", host: "host"},
		"https://host/":           {base: "https://host", hostPort: "host:443", host: "host"},
		"http://host:8080/a/b/":   {base: "http://host:8080/a/b", hostPort: "host:8080", host: "host:8080", prefix: "/a/b"},
		"http://[2001:db8::1]:90": {base: "http://[2001:db8::1]:90", hostPort: "[2001:db8::1]:90", host: "[2001:db8::1]:90"},
	} {
		got, err := parse(store.Target{Address: address})
		want.connectTimeout = store.DefaultConnectTimeout
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if encrypted := got.encryption != nil; encrypted != strings.HasPrefix(address, "https:") {
			t.Errorf("%s: encrypted %v", address, encrypted)
		}
		if got.encryption = nil; *got != want {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

// answering answers every request with the same text and counts them.
func answering(t *testing.T, text string) (s *session, asked *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	asked = new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 64<<10)
				for {
					if n, err := conn.Read(buffer); err != nil || n == 0 {
						return
					}
					asked.Add(1)
					if text == "" {
						return
					}
					if _, err := io.WriteString(conn, text); err != nil {
						return
					}
				}
			}()
		}
	}()
	o, err := parse(store.Target{Address: "http://" + listener.Addr().String()})
	expect.NoError(t, err)
	db, err := newDatabase(o, entity.Schema())
	expect.NoError(t, err)
	return opened(t, db).(*session), asked
}

// TestRequests: net/http reads them correctly, for any address.
func TestRequests(t *testing.T) {
	e := entity.Make(1, 2)
	for address, want := range map[string]struct{ host, prefix string }{
		"http://host": {"host", ""}, "https://host:8443/a/b/": {"host:8443", "/a/b"},
		"http://[2001:db8::1]:90": {"[2001:db8::1]:90", ""}, "http://host/%2Fodd": {"host", "/%2Fodd"},
	} {
		s, err := parse(store.Target{Address: address})
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		db, err := newDatabase(s, entity.Schema())
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		n := &session{of: db}
		for range 2 { // the second takes the place of the first
			n.askFor(e.ID)
			checkRequest(t, n, http.MethodGet, want.host, want.prefix+"/entities/"+e.ID.String(), "")
			n.give([]byte(`{"name":"Ł"}`))
			checkRequest(t, n, http.MethodPost, want.host, want.prefix+"/entities", `{"name":"Ł"}`)
		}
	}
}

func checkRequest(t *testing.T, n *session, method, host, path, body string) {
	t.Helper()
	text := n.out
	in := bufio.NewReader(bytes.NewReader(text))
	r, err := http.ReadRequest(in)
	if err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || r.Method != method || r.Host != host || r.RequestURI != path || string(got) != body || r.Header.Get(headerClient) != n.of.name ||
		(r.Header.Get("Content-Type") == "application/json") != (body != "") || r.Close || in.Buffered() != 0 {
		t.Errorf("%v: %q, body %q; want %s %s of %s", err, text, got, method, path, host)
	}
}

// TestTheEndOfAContextMeetsTheAnswer closes a session while the deadline of an ended request is
// being set, under the race detector.
func TestTheEndOfAContextMeetsTheAnswer(t *testing.T) {
	for range 200 {
		s, _ := answering(t, httpAnswer("201 Created", `{"id":"x"}`))
		ctx, cancel := context.WithCancel(t.Context())
		s.in.Reset(readerFunc(func(p []byte) (int, error) {
			cancel()
			return s.conn.Read(p)
		}))
		if r := insert(ctx, s, entity.Make(1, 2)); !r.Broken || r.Outcome == history.Failed {
			t.Fatalf("%+v", r)
		}
		if r := insert(t.Context(), s, entity.Make(1, 3)); !errors.Is(r.Err, errClosed) || r.Outcome != history.Failed {
			t.Fatalf("on a session that is over: %+v", r)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func httpAnswer(code, body string) string {
	return "HTTP/1.1 " + code + "\r\nContent-Type: application/problem+json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// TestAnswers: an outcome is failed only if the service says so.
func TestAnswers(t *testing.T) {
	typed := func(status, outcome, class string) string {
		return `{"type":"about:blank","title":"x","status":` + status + `,"detail":"d","outcome":"` + outcome + `","class":"` + class + `"}`
	}
	for name, test := range map[string]struct {
		answer string
		put    history.Outcome
		class  string
		again  bool // the session can be used again
		found  history.Outcome
	}{
		"written":            {answer: httpAnswer("201 Created", `{"id":"x"}`), put: history.Committed, again: true, found: history.Failed},
		"failed":             {answer: httpAnswer("503 Service Unavailable", typed("503", "failed", "cannot connect")), put: history.Failed, class: "cannot connect", again: true, found: history.Failed},
		"unknown":            {answer: httpAnswer("503 Service Unavailable", typed("503", "unknown", "timeout")), put: history.Unknown, class: "timeout", again: true, found: history.Failed},
		"refused":            {answer: httpAnswer("400 Bad Request", typed("400", "failed", "request refused")), put: history.Failed, class: "request refused", again: true, found: history.Failed},
		"somebody else's":    {answer: httpAnswer("503 Service Unavailable", `<html>`), put: history.Unknown, class: classUnexpected, again: true, found: history.Failed},
		"another code":       {answer: httpAnswer("502 Bad Gateway", typed("503", "failed", "x")), put: history.Unknown, class: classUnexpected, again: true, found: history.Failed},
		"redirected":         {answer: httpAnswer("302 Found", ``), put: history.Unknown, class: classUnexpected, again: true, found: history.Failed},
		"not found":          {answer: httpAnswer("404 Not Found", typed("404", "failed", "not found")), put: history.Failed, class: "not found", again: true, found: history.Committed},
		"another not found":  {answer: httpAnswer("404 Not Found", `not here`), put: history.Unknown, class: classUnexpected, again: true, found: history.Failed},
		"cut":                {answer: "", put: history.Unknown, class: store.ClassLost, found: history.Failed},
		"a class made up":    {answer: httpAnswer("503 Service Unavailable", typed("503", "failed", strings.Repeat("x", 100))), put: history.Failed, class: classService, again: true, found: history.Failed},
		"an odd entity":      {answer: httpAnswer("200 OK", `{"id":1}`), put: history.Unknown, class: classUnexpected, again: true, found: history.Failed},
		"no HTTP whatsoever": {answer: "220 mail ready\r\n\r\n", put: history.Unknown, class: store.ClassLost, found: history.Failed},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		s, asked := answering(t, test.answer)
		r := insert(ctx, s, entity.Make(1, 2))
		if r.Outcome != test.put || r.Class != test.class || r.Broken == test.again || (r.Err == nil) != (r.Class == "") {
			t.Errorf("%s: put %+v", name, r)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: it was asked %d times", name, n)
		}
		s, asked = answering(t, test.answer)
		if found, r := get(ctx, s, uuid.UUID{}); r.Outcome != test.found || found != (entity.Entity{}) || r.Broken == test.again {
			t.Errorf("%s: get %+v", name, r)
		}
		if n := asked.Load(); n != 1 {
			t.Errorf("%s: it was asked %d times", name, n)
		}
		cancel()
	}
}

// TestNothingIsSentTwice: net/http would repeat a read on a broken reused connection.
func TestNothingIsSentTwice(t *testing.T) {
	hostPort, _ := start(t, true)
	proxy := drivertest.NewProxy(t, hostPort)
	db := open(t, proxy.Addr())
	defer db.Close()
	s := opened(t, db)
	e := entity.Make(1, 2)
	if r := insert(t.Context(), s, e); r.Outcome != history.Committed {
		t.Fatalf("%+v", r)
	}
	if found, r := get(t.Context(), s, e.ID); found != e {
		t.Fatalf("%+v", r)
	}
	proxy.Cut()
	proxy.Pass()
	if _, r := get(t.Context(), s, e.ID); r.Outcome != history.Failed || !r.Broken {
		t.Errorf("a get over a connection that was cut: %+v", r)
	}
	if r := insert(t.Context(), s, e); r.Outcome != history.Failed || !r.Broken {
		t.Errorf("a put after it, on a session that is over: %+v", r)
	}
}
