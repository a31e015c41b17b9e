package monitor

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	otlp "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"assay/internal/expect"
)

// receiver takes OTLP over HTTP like a collector and keeps each metric's newest value.
type receiver struct {
	*httptest.Server
	mu         sync.Mutex
	metrics    map[string]*otlp.Metric
	attributes map[string]string // of the resource
	paths      []string
	headers    http.Header
	refuse     bool
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{metrics: map[string]*otlp.Metric{}, attributes: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, asked *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paths, r.headers = append(r.paths, asked.URL.Path), asked.Header
		if r.refuse {
			http.Error(w, "no room", http.StatusInsufficientStorage)
			return
		}
		if err := r.take(asked); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(asked *http.Request) error {
	body := io.Reader(asked.Body)
	if asked.Header.Get("Content-Encoding") == "gzip" {
		packed, err := gzip.NewReader(asked.Body)
		if err != nil {
			return err
		}
		body = packed
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var request collector.ExportMetricsServiceRequest
	if err := proto.Unmarshal(text, &request); err != nil {
		return err
	}
	for _, resource := range request.GetResourceMetrics() {
		for _, a := range resource.GetResource().GetAttributes() {
			r.attributes[a.GetKey()] = a.GetValue().GetStringValue()
		}
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				r.metrics[m.GetName()] = m
			}
		}
	}
	return nil
}

// sum is a counter's point with these attributes, "name=value".
func (r *receiver) sum(t *testing.T, name string, attributes ...string) float64 {
	t.Helper()
	for _, p := range r.metrics[name].GetSum().GetDataPoints() {
		var have []string
		for _, a := range p.GetAttributes() {
			have = append(have, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		if !slices.ContainsFunc(attributes, func(a string) bool { return !slices.Contains(have, a) }) {
			return p.GetAsDouble()
		}
	}
	t.Fatalf("there is no %s with %v in %v", name, attributes, r.metrics[name])
	return 0
}

// TestSend: a receiver gets what Prometheus gets, by the same names.
func TestSend(t *testing.T) {
	r, m := newReceiver(t), New("test")
	s, err := Send(t.Context(), r.URL, "test", m)
	expect.NoError(t, err)
	work(m)
	expect.NoError(t, s.Close())
	if r.paths[0] != "/v1/metrics" || r.headers.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("it asks for %s with %v", r.paths[0], r.headers)
	}
	if r.attributes["service.name"] != "assay" || r.attributes["service.version"] != "test" {
		t.Errorf("the resource is %v", r.attributes)
	}
	for want, of := range map[float64][]string{
		900: {"assay_operations_total", "operation=transfer", "outcome=committed"},
		100: {"assay_errors_total", "class=deadlock", "outcome=failed"},
	} {
		if got := r.sum(t, of[0], of[1:]...); got != want {
			t.Errorf("%v is %v, want %v", of, got, want)
		}
	}
	if sum := r.metrics["assay_operations_total"].GetSum(); !sum.GetIsMonotonic() || sum.GetAggregationTemporality() != otlp.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
		t.Errorf("the operations are no counter: %v", sum)
	}
	times, counted := r.metrics["assay_response_time_seconds"], uint64(0)
	for _, p := range times.GetExponentialHistogram().GetDataPoints() {
		counted += p.GetCount()
	}
	if counted != 900 {
		t.Errorf("%d response times in %v", counted, times)
	}
	server, err := Serve("127.0.0.1:0", m)
	expect.NoError(t, err)
	defer server.Close()
	var missing []string
	for name := range scrape(t, server.Address().String()) {
		if r.metrics[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 || len(r.metrics) < 20 {
		t.Errorf("of %d metrics that are sent these are missing: %v", len(r.metrics), missing)
	}
}

// TestSendFromEnvironment: OpenTelemetry's variables say where, how, and with which headers. Later
// errors are reported at the end.
func TestSendFromEnvironment(t *testing.T) {
	r := newReceiver(t)
	t.Setenv(endpointVariable, r.URL+"/base")
	t.Setenv(headersVariable, "authorization=Bearer%20secret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=nightly")
	t.Setenv(intervalVariable, "60000")
	s, err := Send(t.Context(), FromEnvironment, "test", New("test"))
	expect.NoError(t, err)
	r.mu.Lock()
	if r.paths[0] != "/base/v1/metrics" || r.headers.Get("Authorization") != "Bearer secret" || r.attributes["deployment.environment"] != "nightly" {
		t.Errorf("it asks for %v with %v of %v", r.paths, r.headers, r.attributes)
	}
	r.refuse = true
	r.mu.Unlock()
	err = s.Close()
	if err == nil || !strings.Contains(err.Error(), "1 of 2 times the figures were not taken") || strings.Contains(err.Error(), "secret") {
		t.Errorf("of a receiver without room it says %v", err)
	}
}

// TestSendRefuses: a bad address differs from a silent one, and no error has a password.
func TestSendRefuses(t *testing.T) {
	var malformed *EndpointError
	t.Setenv(endpointVariable, "")
	t.Setenv(metricsEndpointVariable, "")
	for _, address := range []string{"", FromEnvironment, "127.0.0.1:4318", "http://", "ftp://h", "http://me:hush@127.0.0.1:4318", "http://me:hush@[::1", "http://h:port"} {
		_, err := Send(t.Context(), address, "test", New("test"))
		if !errors.As(err, &malformed) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", address, err)
		}
	}
	r := newReceiver(t)
	r.Close()
	if _, err := Send(t.Context(), r.URL, "test", New("test")); err == nil || errors.As(err, &malformed) || !strings.Contains(err.Error(), "4318") {
		t.Errorf("where nobody listens it says %v", err)
	}
}
