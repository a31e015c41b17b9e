package serve

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts requests for Prometheus. It is safe for concurrent use. Its memory is bounded:
// routes, methods and codes are few, and classes of failures have a limit.
type metrics struct {
	inFlight           atomic.Int64
	requests, failures *prometheus.CounterVec
	times              *prometheus.HistogramVec
	answer             http.HandlerFunc // GET /metrics

	mu      sync.Mutex
	classes map[string]bool // of failures
}

func newMetrics() *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "assay_http_requests_total", Help: "Requests by method, route and code."},
			[]string{"method", "route", "code"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "assay_database_failures_total", Help: "Calls that the database did not do, or may not have done."},
			[]string{"class", "outcome"}),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "assay_http_request_duration_seconds", Help: "Time to answer, by route.",
			Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}}, []string{"route"}),
		classes: map[string]bool{},
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.requests, m.failures, m.times, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "assay_http_in_flight", Help: "Requests that are being answered."}, func() float64 { return float64(m.inFlight.Load()) }))
	m.answer = promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP
	return m
}

func (m *metrics) request(method, route string, code int, took time.Duration) {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions, http.MethodPatch:
	default:
		method = "other" // a client could make up any number of them
	}
	m.requests.WithLabelValues(method, route, strconv.Itoa(code)).Inc()
	m.times.WithLabelValues(route).Observe(took.Seconds())
}

const maxFailures = 100

// failure counts a failed call of the database.
func (m *metrics) failure(class, outcome string) {
	m.mu.Lock()
	if !m.classes[class] && len(m.classes) >= maxFailures {
		class = "other"
	}
	m.classes[class] = true
	m.mu.Unlock()
	m.failures.WithLabelValues(class, outcome).Inc()
}
