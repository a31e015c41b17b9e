package main

import (
	"fmt"
	"io"

	"assay/monitor"
	"assay/runner"
)

// serveMetrics begins to serve figures if --metrics asks for it, before anything is made.
// Without the flag nobody watches. stop frees the address.
func (f *runFlags) serveMetrics(version string, stderr io.Writer) (watched runner.Monitor, stop func(), err error) {
	if f.metrics == "" {
		return nil, func() {}, nil
	}
	server, err := monitor.Serve(f.metrics, version)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(stderr, "metrics: http://%s/metrics\n", server.Address())
	return server, func() {
		if err := server.Close(); err != nil {
			fmt.Fprintln(stderr, "note: metrics: "+err.Error())
		}
	}, nil
}
