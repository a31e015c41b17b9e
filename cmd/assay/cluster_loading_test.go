package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestFaultsWhileLoading: a primary dies for ever while accounts are loaded, which is until all are in.
// Batches that failed are loaded again, each account is there once, and the run keeps the account of it.
func TestFaultsWhileLoading(t *testing.T) {
	t.Parallel()
	const accounts, asked = 40_000, "kill primary while loading at 0s for ever"
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--cluster", "mongodb:3,election=2s", "--accounts", strconv.Itoa(accounts), "--clients", "4", "--seed", "5",
		"--ops", "200", "--out", "run", "--verbose", "--connect-timeout", "1m", "--fault", asked)
	e.want(t, exitValid, exitNoVerdict) // the figures of so short a run are not judged here
	narrow(t, e.stdout)
	expect.Text(t, e, e.stderr, "rows; faults: "+asked)
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict.String() != "valid" || r.Loading.Rows != accounts || r.Loading.Again == 0 || len(r.Faults) != 0 || len(r.Loading.Faults) != 1 {
		t.Fatalf("loading %+v, faults %+v: %v", r.Loading, r.Faults, e)
	}
	f := r.Loading.Faults[0]
	if f.Asked != asked || !f.Proven || f.Skipped || f.Healing == "" || len(f.Nodes) != 1 || f.HealedSecond <= f.InjectedSecond || f.Problem != "" {
		t.Errorf("%+v", f)
	}
	expect.Text(t, e, unwrapped(e.stdout), "loaded again; kill primary")
	again := assay(t, dir, "check", "run", "--quiet")
	if after := resultOf(t, filepath.Join(dir, "run")); again.code != e.code || len(after.Loading.Faults) != 1 || after.Loading.Again != r.Loading.Again {
		t.Errorf("judged again: %+v, %s", after.Loading, again)
	}
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
