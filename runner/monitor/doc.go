// Package monitor offers the figures of a run under way to Prometheus, and sends them to OTLP
// receivers: counters of operations by outcome, histograms of their times in seconds, and gauges
// of the phase, the clients and the active faults.
//
// It has its own registry and listener, keeps no global state, and ends with Close. It must not
// run anything, nor know a database's address: no label holds one, so it cannot serve a password.
//
// Names follow Prometheus's "Metric and label naming": base units, _total for counters.
package monitor
