package main

import (
	"path/filepath"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// TestPromiseOfAScript wants the verdict of a script to say which of the two it was: where
// the isolation level does not rule out what its statements make possible, the promise was
// kept, and the transactions ask too little.
func TestPromiseOfAScript(t *testing.T) {
	t.Parallel()
	server := serverFor(t, "postgres:1")
	for _, test := range []struct{ script, level, anomaly string }{
		{"shop.star", "read committed", "lost update"}, {"doctors.star", "repeatable read", "write skew"},
	} {
		folder := filepath.Join(t.TempDir(), "run")
		e := assay(t, ".", "run", "script", example(test.script), "--isolation", test.level, "--pause", "3", "--clients", "8", "--ops", "1500",
			"--db", server.address, "--out", folder).want(t, exitViolated)
		r := resultOf(t, folder)
		if p := r.Promise; r.Verdict != check.Violated || p.Kept == nil || !*p.Kept || p.Model == "" {
			t.Errorf("%s: %s %+v", test.script, r.Verdict, p)
		}
		expect.Text(t, test.script, unwrapped(e.stdout), "VIOLATED, and allowed by "+r.Promise.Model[:4], "does not rule out a "+test.anomaly,
			"the transactions ask too little of the database: "+test.anomaly)
		again := assay(t, ".", "check", folder).want(t, exitViolated)
		expect.Text(t, "checked again", unwrapped(again.stdout), "the transactions ask too little of the database: "+test.anomaly)
	}
}
