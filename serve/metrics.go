package serve

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// buckets are the upper bounds of response times, in seconds.
var buckets = [...]float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// metrics counts what the service does, and writes it in the text format of
// Prometheus (its documentation, "Exposition formats", version 0.0.4). It is
// safe for concurrent use, and its memory does not grow with the requests:
// routes, methods and codes are few, and classes of failures are bounded.
type metrics struct {
	inFlight atomic.Int64

	mu       sync.Mutex
	requests map[request]int64
	times    map[string]*times
	failures map[failure]int64
}

type request struct {
	method, route string
	code          int
}

type failure struct{ class, outcome string }

type times struct {
	counts [len(buckets) + 1]int64
	sum    float64
}

func newMetrics() *metrics {
	return &metrics{requests: map[request]int64{}, times: map[string]*times{}, failures: map[failure]int64{}}
}

// request enters one that was answered.
func (m *metrics) request(method, route string, code int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodPatch:
	default:
		method = "other" // a client could make up any number of them
	}
	seconds := took.Seconds()
	at, _ := slices.BinarySearch(buckets[:], seconds)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[request{method, route, code}]++
	t := m.times[route]
	if t == nil {
		t = new(times)
		m.times[route] = t
	}
	t.counts[at]++
	t.sum += seconds
}

// maxFailures bounds how many classes of failures are told apart.
const maxFailures = 100

// failure enters a call that the database did not answer as it should.
func (m *metrics) failure(class, outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.failures) >= maxFailures {
		class = "other"
	}
	m.failures[failure{class, outcome}]++
}

// answer is GET /metrics.
func (m *metrics) answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(m.text()) // nobody is left to tell if the client has gone
}

func (m *metrics) text() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []byte
	line := func(format string, values ...any) { out = fmt.Appendf(out, format+"\n", values...) }
	line("# HELP assay_http_requests_total Requests by method, route and code.")
	line("# TYPE assay_http_requests_total counter")
	for _, r := range slices.SortedFunc(maps.Keys(m.requests), func(a, b request) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.method, b.method), cmp.Compare(a.code, b.code))
	}) {
		line(`assay_http_requests_total{method="%s",route="%s",code="%d"} %d`, r.method, r.route, r.code, m.requests[r])
	}
	line("# HELP assay_http_request_duration_seconds Time to answer, by route.")
	line("# TYPE assay_http_request_duration_seconds histogram")
	for _, route := range slices.Sorted(maps.Keys(m.times)) {
		t, total := m.times[route], int64(0)
		for i, n := range t.counts {
			bound := "+Inf"
			if i < len(buckets) {
				bound = strconv.FormatFloat(buckets[i], 'g', -1, 64)
			}
			total += n
			line(`assay_http_request_duration_seconds_bucket{route="%s",le="%s"} %d`, route, bound, total)
		}
		line(`assay_http_request_duration_seconds_sum{route="%s"} %g`, route, t.sum)
		line(`assay_http_request_duration_seconds_count{route="%s"} %d`, route, total)
	}
	line("# HELP assay_http_in_flight Requests that are being answered.")
	line("# TYPE assay_http_in_flight gauge")
	line("assay_http_in_flight %d", m.inFlight.Load())
	line("# HELP assay_database_failures_total Calls that the database did not do, or of which that is not known.")
	line("# TYPE assay_database_failures_total counter")
	for _, f := range slices.SortedFunc(maps.Keys(m.failures), func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.outcome, b.outcome))
	}) {
		line(`assay_database_failures_total{class=%q,outcome="%s"} %d`, f.class, f.outcome, m.failures[f])
	}
	return out
}
