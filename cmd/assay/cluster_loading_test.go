package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestFaultsWhileLoading: a primary dies while accounts are loaded. Batches that failed
// are loaded again, each account is there once, and the run keeps the account of it.
func TestFaultsWhileLoading(t *testing.T) {
	t.Parallel()
	for spec, accounts := range map[string]int64{"mongodb:3,election=2s": 100_000, "postgres:2": 300_000} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := assay(t, dir, "run", "bank", "--cluster", spec, "--accounts", strconv.FormatInt(accounts, 10), "--clients", "4", "--seed", "5",
				"--ops", "200", "--out", "run", "--verbose", "--connect-timeout", "1m", "--fault", "kill primary while loading at 0s for 2s")
			e.want(t, exitValid, exitNoVerdict) // the figures of so short a run are not judged here
			narrow(t, e.stdout)
			r := resultOf(t, filepath.Join(dir, "run"))
			if r.Verdict.String() != "valid" || r.Loading.Rows != accounts || r.Loading.Again == 0 || len(r.Faults) != 0 || len(r.Loading.Faults) != 1 {
				t.Fatalf("loading %+v, faults %+v: %v", r.Loading, r.Faults, e)
			}
			f := r.Loading.Faults[0]
			if !f.Proven || f.Skipped || f.Healing == "" || len(f.Nodes) != 1 || f.HealedSecond <= f.InjectedSecond || f.Problem != "" {
				t.Errorf("%+v", f)
			}
			expect.Text(t, e, unwrapped(e.stdout), "loaded again; kill primary")
			again := assay(t, dir, "check", "run", "--quiet")
			if after := resultOf(t, filepath.Join(dir, "run")); again.code != e.code || len(after.Loading.Faults) != 1 || after.Loading.Again != r.Loading.Again {
				t.Errorf("judged again: %+v, %s", after.Loading, again)
			}
		})
	}
}

// TestAwayWhileLoading: a primary that is killed for ever is away until all rows are in, and
// is a node like the others before the work begins.
func TestAwayWhileLoading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--cluster", "mongodb:3,election=2s", "--accounts", "100000", "--clients", "4", "--seed", "5",
		"--ops", "200", "--out", "run", "--verbose", "--connect-timeout", "1m", "--fault", "kill primary while loading at 0s for ever").want(t, exitValid, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict.String() != "valid" || len(r.Loading.Faults) != 1 || r.Loading.Rows != 100_000 {
		t.Fatalf("%+v: %v", r.Loading, e)
	}
	f := r.Loading.Faults[0]
	if !f.Proven || f.Asked != "kill primary while loading at 0s for ever" || f.HealedSecond <= f.InjectedSecond || f.HealedSecond > r.Loading.Seconds+1 || f.Problem != "" {
		t.Errorf("%+v of %+v", f, r.Loading)
	}
	expect.Text(t, e, e.stderr, "rows; faults: kill primary while loading at 0s for ever")
}

// TestAFaultWhileLoadingThatComesTooLate: the measurement is not of what was asked for.
func TestAFaultWhileLoadingThatComesTooLate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--cluster", "postgres:1", "--accounts", "100", "--ops", "100", "--out", "run",
		"--fault", "kill primary while loading at 10m").want(t, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if len(r.Loading.Faults) != 1 || !r.Loading.Faults[0].Skipped || !strings.Contains(strings.Join(r.Measurement.Reasons, "\n"), "loading was over") {
		t.Errorf("%+v, %+v: %v", r.Loading, r.Measurement, e)
	}
}
