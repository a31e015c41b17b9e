package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"assay/check"
	"assay/driver/sqlite"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/lease"
	"assay/store"
	"assay/workload/bank"
)

// overtake gives a file's database to another run, as after an expiry. anew makes its own data,
// ended ends it.
func overtake(t *testing.T, address string, anew, ended bool) (run string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), store.Target{Address: address}, bank.Schema())
	expect.NoError(t, err)
	defer db.Close()
	left, err := db.Lease(t.Context())
	if err != nil || left == nil {
		t.Fatalf("the run holds no lease: %+v, %v", left, err)
	}
	other := lease.NewHolder(uuid.NewString())
	expect.NoError(t, db.TakeLease(t.Context(), other, lease.TTL, left.Token))
	if anew { // sessions that are idle or open would keep an SQLite file from that; here they are closed
		expect.NoError(t, db.Create(t.Context(), store.Marker{Run: other.Run, Workload: "bank", Created: time.Now(), Rows: 2}))
	}
	if ended {
		expect.NoError(t, db.ReleaseLease(t.Context(), other.Token))
	}
	return other.Run
}

// TestOvertakenRunIsNotJudged: another run's data give no verdict at any time, and the reason names
// their owner, even if that run has ended, with or without data.
func TestOvertakenRunIsNotJudged(t *testing.T) {
	t.Parallel()
	const waiting, reading = "waiting until nothing is in flight", "reading everything back"
	for name, c := range map[string]struct {
		stage       string
		anew, ended bool
	}{
		"nobody disturbs it": {"checking nothing", false, false}, "while it waits": {waiting, true, false}, "while it reads": {reading, true, false},
		"nothing made": {waiting, false, true}, "made anew": {waiting, true, true},
	} {
		dir := t.TempDir()
		s := small("sqlite:"+filepath.Join(dir, "bank.db"), 1, 300)
		var run string
		p := &intruder{stage: c.stage, act: func() { run = overtake(t, s.Database, c.anew, c.ended) }}
		out, err := Run(t.Context(), s, Options{Out: filepath.Join(dir, "run"), Progress: p})
		if run == "" {
			if err != nil || out.Result.Verdict != check.Valid {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		held, taken := errors.AsType[*store.HeldError](err)
		if c.ended && !is[*lease.GoneError](err) && !is[*lease.ReplacedError](err) || !c.ended && (!taken || held.Lease.Run != run) {
			t.Errorf("%s: the run ended with %v; the other is %s", name, err, run)
		}
		r, err := report.ReadJSON(filepath.Join(dir, "run", FileResult))
		if err != nil || r.Verdict != check.Unknown || r.Measurement.Verdict != invalid || !c.ended && !strings.Contains(reasons(r), run) {
			t.Errorf("%s: the result is %+v, %v", name, r, err)
		}
		if exists(filepath.Join(dir, "run"), bank.FileState) {
			t.Errorf("%s: another run's data are in the folder", name)
		}
	}
}

// TestLostLeaseEndsTheWork, and removes nothing.
func TestLostLeaseEndsTheWork(t *testing.T) {
	l := lease.New(nil, "one", lease.Terms{})
	l.Lose(&store.HeldError{Name: "x", Lease: store.Lease{Holder: lease.NewHolder("two")}})
	r := &run{lease: l, id: "one"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := r.interrupted(ctx, context.Canceled, "loading")
	if !is[*store.HeldError](err) || is[*InterruptedError](err) {
		t.Errorf("got %v", err)
	}
}

// wantOther: the folder cannot be judged, because the database holds another run.
func wantOther(t *testing.T, first Outcome, o RecheckOptions, by string) {
	t.Helper()
	o.Progress = &diary{}
	_, err := Recheck(t.Context(), first.Folder, o)
	if err == nil || is[*report.InputError](err) || !strings.Contains(err.Error(), by) {
		t.Errorf("got %v, want an error that names %s", err, by)
	}
}
