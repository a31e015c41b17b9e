// Package monitor offers the figures of a run under way to Prometheus, and sends them to
// receivers of OTLP: counters of
// operations by how they ended, histograms of their times in seconds, and gauges of the
// phase, the clients and the faults in force.
//
// It has a registry and a listener of its own, keeps no global state, and ends with
// Close. It is told what happens; it must not run anything, nor know a database's
// address: no label holds one, so that no password can be in what it serves.
//
// Names follow Prometheus's "Metric and label naming": base units, _total for counters.
package monitor
