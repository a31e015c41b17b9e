package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"assay/driver/mem"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/entity"
)

// running is a service over the reference database.
type running struct {
	t       *testing.T
	base    string
	service *Service
}

func start(t *testing.T, address string, change func(*Options)) *running {
	t.Helper()
	db, err := mem.Open(t.Context(), store.Target{Address: address}, entity.Schema())
	expect.NoError(t, err)
	o := DefaultOptions()
	o.AllowReset, o.Version, o.Timeout = true, "test", 500*time.Millisecond
	change(&o)
	service, err := New(t.Context(), db, o)
	expect.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		http.DefaultClient.CloseIdleConnections()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &running{t, "http://" + listener.Addr().String(), service}
}

func (r *running) ask(method, path, contentType, body string) (*http.Response, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response, string(text)
}

const whole = `{"name":"Ann","age":30,"description":"d","address":"a","phone":"1","email":"e@example.com"}`

func TestWriteAndRead(t *testing.T) {
	r := start(t, "mem://", func(*Options) {})
	response, body := r.ask("POST", "/entities", "application/json; charset=utf-8", whole)
	location := response.Header.Get("Location")
	if response.StatusCode != 201 || !strings.HasPrefix(location, "/entities/") || !strings.Contains(body, location[len("/entities/"):]) {
		t.Fatalf("%d, %q, %s", response.StatusCode, location, body)
	}
	response, body = r.ask("GET", location, "", "")
	var got entity.Entity
	if err := json.Unmarshal([]byte(body), &got); err != nil || response.StatusCode != 200 || got.Name != "Ann" || got.Age != 30 || got.ID.String() != location[len("/entities/"):] {
		t.Errorf("%d, %s, %v", response.StatusCode, body, err)
	}
	id := uuid.NewString()
	own := strings.Replace(whole, "{", `{"id":"`+id+`",`, 1)
	for _, want := range []int{201, 409} {
		if response, body := r.ask("POST", "/entities", "application/json", own); response.StatusCode != want {
			t.Errorf("with an id of its own: %d, %s, want %d", response.StatusCode, body, want)
		}
	}
	if response, body := r.ask("GET", "/healthz", "", ""); response.StatusCode != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("health: %d, %s", response.StatusCode, body)
	}
}

// TestRefusals: each problem describes its cause, and nothing was done.
func TestRefusals(t *testing.T) {
	r := start(t, "mem://", func(*Options) {})
	with := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	for name, test := range map[string]struct {
		method, path, kind, body string
		code                     int
		detail                   string
	}{
		"no JSON":              {"POST", "/entities", "application/json", "{", 400, "cannot be read"},
		"another type":         {"POST", "/entities", "text/plain", whole, 415, "Content-Type"},
		"unknown field":        {"POST", "/entities", "application/json", with(`"age"`, `"colour":1,"age"`), 400, "colour"},
		"missing field":        {"POST", "/entities", "application/json", with(`"phone":"1",`, ""), 400, "phone"},
		"age below":            {"POST", "/entities", "application/json", with("30", "-1"), 400, "age"},
		"age above":            {"POST", "/entities", "application/json", with("30", "151"), 400, "age"},
		"age no integer":       {"POST", "/entities", "application/json", with("30", "1.5"), 400, "cannot be read"},
		"name too long":        {"POST", "/entities", "application/json", with("Ann", strings.Repeat("n", entity.MaxName+1)), 400, "name"},
		"a null character":     {"POST", "/entities", "application/json", with("Ann", `\u0000`), 400, "null"},
		"not UTF-8":            {"POST", "/entities", "application/json", with("Ann", "\xff"), 400, "UTF-8"},
		"two values":           {"POST", "/entities", "application/json", whole + whole, 400, "follows"},
		"bad id":               {"POST", "/entities", "application/json", with("{", `{"id":"7",`), 400, "UUID"},
		"too long":             {"POST", "/entities", "application/json", with("Ann", strings.Repeat("n", maxBody)), 413, "longer"},
		"bad id to read":       {"GET", "/entities/7", "", "", 400, "UUID"},
		"id in another form":   {"GET", "/entities/{01234567-89ab-cdef-0123-456789abcdef}", "", "", 400, "UUID"},
		"not found":            {"GET", "/entities/01234567-89ab-cdef-0123-456789abcdef", "", "", 404, "no entity"},
		"no such call":         {"GET", "/nothing", "", "", 404, "openapi"},
		"no such method":       {"DELETE", "/entities", "", "", 405, "POST"},
		"a mark without a run": {"PUT", "/admin/schema", "application/json", "{}", 400, "mark"},
	} {
		response, body := r.ask(test.method, test.path, test.kind, test.body)
		var p Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s, %v", name, body, err)
		}
		if response.StatusCode != test.code || p.Status != test.code || p.Outcome != outcomeFailed || p.Class == "" || p.Title == "" || !strings.Contains(p.Detail, test.detail) {
			t.Errorf("%s: %d, %+v; want %d with %q", name, response.StatusCode, p, test.code, test.detail)
		}
	}
	if size, err := r.service.store.Size(t.Context()); err != nil || size.Rows["entity"] != 0 {
		t.Errorf("what was refused has left %+v, %v", size, err)
	}
}

// TestTheDatabaseIsAway: the caller learns so, and a write's outcome.
func TestTheDatabaseIsAway(t *testing.T) {
	for address, outcome := range map[string]string{"mem://?timeout=1": outcomeUnknown, "mem://?latency=1h": outcomeFailed} {
		r := start(t, address, func(o *Options) { o.Timeout = 50 * time.Millisecond })
		response, body := r.ask("POST", "/entities", "application/json", whole)
		var p Problem
		if err := json.Unmarshal([]byte(body), &p); err != nil || response.StatusCode != 503 || response.Header.Get("Retry-After") == "" || p.Outcome != outcome {
			t.Errorf("%s: %d, %+v, %v", address, response.StatusCode, p, err)
		}
		if _, text := r.ask("GET", "/metrics", "", ""); !strings.Contains(text, `outcome="`+outcome+`"} 1`) {
			t.Errorf("%s: the failure is not counted: %s", address, text)
		}
	}
}

func TestWithoutReset(t *testing.T) {
	r := start(t, "mem://", func(o *Options) { o.AllowReset = false })
	for _, route := range r.service.routes() {
		response, body := r.ask(route.method, strings.Replace(route.pattern, "{id}", "x", 1), "application/json", "{}")
		if (response.StatusCode == 403) != route.admin || route.admin && !strings.Contains(body, classReset) {
			t.Errorf("%s %s: %d, %s", route.method, route.pattern, response.StatusCode, body)
		}
	}
	if found, err := r.service.store.Find(t.Context()); err != nil || found == nil {
		t.Errorf("what was there is gone: %v, %v", found, err)
	}
}

// TestTheDescriptionFits: it has exactly the service's calls.
func TestTheDescriptionFits(t *testing.T) {
	r := start(t, "mem://", func(*Options) {})
	_, text := r.ask("GET", "/openapi.json", "", "")
	var described struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Responses map[string]any
		}
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]struct{ MaxLength, Maximum int }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &described); err != nil || described.OpenAPI != "3.1.0" {
		t.Fatalf("%v", err)
	}
	calls := 0
	for _, methods := range described.Paths {
		calls += len(methods)
	}
	for _, route := range r.service.routes() {
		call, ok := described.Paths[route.pattern][strings.ToLower(route.method)]
		if _, forbidden := call.Responses["403"]; !ok || forbidden != route.admin {
			t.Errorf("%s %s: described is %v, with 403 %v", route.method, route.pattern, ok, forbidden)
		}
		calls--
		response, _ := r.ask(route.method, strings.Replace(route.pattern, "{id}", uuid.NewString(), 1), "application/json", whole)
		if _, ok := call.Responses[fmt.Sprint(response.StatusCode)]; !ok {
			t.Errorf("%s %s answered %d, which is not described", route.method, route.pattern, response.StatusCode)
		}
	}
	if calls != 0 {
		t.Errorf("%d calls are described that do not exist", calls)
	}
	for name, required := range map[string]int{"Entity": 7, "NewEntity": 6} {
		s := described.Components.Schemas[name]
		p := s.Properties
		if len(s.Required) != required || len(p) != 7 || p["name"].MaxLength != entity.MaxName || p["description"].MaxLength != entity.MaxDescription ||
			p["address"].MaxLength != entity.MaxAddress || p["phone"].MaxLength != entity.MaxPhone || p["email"].MaxLength != entity.MaxEmail || p["age"].Maximum != entity.MaxAge {
			t.Errorf("%s is described as %+v", name, s)
		}
	}
}

func TestMetrics(t *testing.T) {
	r := start(t, "mem://", func(*Options) {})
	for range 3 {
		r.ask("POST", "/entities", "application/json", whole)
	}
	r.ask("GET", "/entities/7", "", "")
	response, text := r.ask("GET", "/metrics", "", "")
	for _, want := range []string{
		`assay_http_requests_total{code="201",method="POST",route="/entities"} 3`,
		`assay_http_requests_total{code="400",method="GET",route="/entities/{id}"} 1`,
		`assay_http_request_duration_seconds_count{route="/entities"} 3`,
		`assay_http_request_duration_seconds_bucket{route="/entities",le="+Inf"} 3`,
		`assay_http_in_flight 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	line := regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="[^"\n]*",?)+\})? [0-9.e+-]+)$`)
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if !line.MatchString(l) {
			t.Errorf("%q is not in the format", l)
		}
	}
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain; version=0.0.4") {
		t.Errorf("the type is %q", kind)
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Sessions: 1}, {Sessions: MaxSessions + 1, Timeout: 1}, {Sessions: 1, Timeout: time.Hour}} {
		if o.Validate() == nil {
			t.Errorf("%+v is possible", o)
		}
	}
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
}

// TestAServiceKeepsOutOfARun: it does not begin where a run works, no run takes the database while
// it serves, and the next may when it has ended.
func TestAServiceKeepsOutOfARun(t *testing.T) {
	run := store.Holder{Token: uuid.NewString(), Run: "another"}
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, entity.Schema())
	expect.NoError(t, err)
	o := DefaultOptions()
	o.Version = "test"
	held := (*store.HeldError)(nil)
	expect.NoError(t, db.TakeLease(t.Context(), run, time.Minute, ""))
	if _, err := New(t.Context(), db, o); !errors.As(err, &held) || held.Lease.Run != run.Run {
		t.Errorf("beside a run: %v", err)
	}
	expect.NoError(t, db.ReleaseLease(t.Context(), run.Token))
	service, err := New(t.Context(), db, o)
	expect.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(ctx, listener) }()
	if err := db.TakeLease(t.Context(), run, time.Minute, ""); !errors.As(err, &held) {
		t.Errorf("a run beside the service: %v", err)
	}
	stop()
	expect.NoError(t, <-ended)
	expect.NoError(t, db.TakeLease(t.Context(), run, time.Minute, ""))
	o.AllowReset = true // the run may come through the service
	_, err = New(t.Context(), db, o)
	expect.NoError(t, err)
}
