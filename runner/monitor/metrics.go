package monitor

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"assay/history"
)

// Metrics are the figures of a command's runs: counters go on from run to run, gauges show the
// latest. Recorded and Fault may be called from many goroutines. No method waits.
type Metrics struct {
	registry *prometheus.Registry

	run, phase, clients, faults          *prometheus.GaugeVec
	operations, attempts, errors, faulty *prometheus.CounterVec
	response, service                    *prometheus.HistogramVec

	mu    sync.RWMutex
	names map[uint8]string // of the operations of the run under way
	kinds map[uint8]*kindMetrics

	phaseNow string
}

// kindMetrics caches the metrics of one kind of operation.
type kindMetrics struct {
	operations, attempts [history.Failed + 1]prometheus.Counter
	response, service    prometheus.Observer
}

// New returns the metrics of a command of this version of assay.
func New(version string) *Metrics {
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		kinds:      map[uint8]*kindMetrics{},
		run:        gauge("run_info", "The run under way, or the one before it: always 1; its labels tell the runs apart.", "run", "workload", "database", "version"),
		phase:      gauge("phase", "1 for the phase that the run is in, 0 for the others.", "phase"),
		clients:    gauge("clients", "Clients that the run works with; 0 while it does not work."),
		faults:     gauge("fault_active", "1 while a fault is in force, 0 after it was ended.", "action", "target", "nodes"),
		operations: counter("operations_total", "Operations by how they ended over all their attempts.", "operation", "outcome"),
		attempts:   counter("attempts_total", "Attempts of operations by how each ended.", "operation", "outcome"),
		errors:     counter("errors_total", "Attempts that ended with an error, by its class.", "class", "outcome"),
		faulty:     counter("faults_total", "Faults that were injected.", "action", "target"),
		response:   histogram("response_time_seconds", "Time of committed operations from when each was due to the end of its last attempt."),
		service:    histogram("service_time_seconds", "Time of committed operations from the start of the first attempt to the end of the last."),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "The version of assay: always 1.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(m.run, m.phase, m.clients, m.faults, m.operations, m.attempts, m.errors, m.faulty, m.response, m.service, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const namespace = "assay"

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

// histogram has buckets from 100 µs (an embedded database) to a minute (a failover). It is also
// native, with 10 % between buckets, for a Prometheus that takes these.
func histogram(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help,
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60},

		NativeHistogramBucketFactor:    1.1,
		NativeHistogramMaxBucketNumber: 160,
	}, []string{"operation"})
}

// Begin implements runner.Monitor.
func (m *Metrics) Begin(run, workload, database, version string, operations map[uint8]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names, m.kinds = operations, map[uint8]*kindMetrics{}
	for kind := range operations {
		m.kinds[kind] = m.newKind(kind)
	}
	m.faults.Reset()
	m.run.Reset()
	m.run.WithLabelValues(run, workload, database, version).Set(1)
}

// Phase implements runner.Monitor.
func (m *Metrics) Phase(phase string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phaseNow != "" {
		m.phase.WithLabelValues(m.phaseNow).Set(0)
	}
	m.phase.WithLabelValues(phase).Set(1)
	m.phaseNow = phase
}

// Clients implements runner.Monitor.
func (m *Metrics) Clients(n int) { m.clients.WithLabelValues().Set(float64(n)) }

// Fault implements runner.Monitor.
func (m *Metrics) Fault(action, target string, nodes []string, active bool) {
	value := 0.0
	if active {
		value = 1
		m.faulty.WithLabelValues(action, target).Inc()
	}
	m.faults.WithLabelValues(action, target, strings.Join(nodes, ",")).Set(value)
}

// Recorded counts one attempt, and the operation if the attempt ends it. It does not keep op.
func (m *Metrics) Recorded(op *history.Op) {
	k := m.kind(op.Kind)
	k.attempts[known(op.Outcome)].Inc()
	if op.Error != "" {
		m.errors.WithLabelValues(op.Error, op.Outcome.String()).Inc()
	}
	if !op.Last {
		return
	}
	k.operations[known(op.Final)].Inc()
	if op.Final == history.Committed {
		k.response.Observe(float64(op.Latency()) / 1e9)
		k.service.Observe(float64(op.ServiceTime()) / 1e9)
	}
}

// known counts a missing outcome as unknown.
func known(o history.Outcome) history.Outcome {
	if !o.Valid() {
		return history.Unknown
	}
	return o
}

func (m *Metrics) kind(kind uint8) *kindMetrics {
	m.mu.RLock()
	k := m.kinds[kind]
	m.mu.RUnlock()
	if k != nil {
		return k
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kinds[kind] == nil {
		m.kinds[kind] = m.newKind(kind)
	}
	return m.kinds[kind]
}

// newKind starts all metrics of a kind at 0, so that a rate is right from the first operation on.
func (m *Metrics) newKind(kind uint8) *kindMetrics {
	name := m.names[kind]
	if name == "" {
		name = "other"
	}
	k := &kindMetrics{response: m.response.WithLabelValues(name), service: m.service.WithLabelValues(name)}
	for o := history.Unknown; o.Valid(); o++ {
		k.operations[o] = m.operations.WithLabelValues(name, o.String())
		k.attempts[o] = m.attempts.WithLabelValues(name, o.String())
	}
	return k
}
