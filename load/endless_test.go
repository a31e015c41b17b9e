package load

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

// short are graces that a test can wait for. Who has been called back has much
// longer, since on a busy machine that may take its time.
func short() graces {
	return graces{cut: 40 * time.Millisecond, end: 40 * time.Millisecond, hung: 20 * time.Second}
}

// endless works a plan without a limit of time.
func endless(t *testing.T, ctx context.Context, g graces, change func(*Plan), answer func(context.Context, uint64, int) Answer) (*tape, Stats) {
	t.Helper()
	p := plan(func(p *Plan) { p.Clients, p.Timeout, p.Duration = 1, 0, 300*time.Millisecond; change(p) })
	rec, start := &tape{}, time.Now()
	stats, err := run(ctx, p, []Client{&scripted{answer: answer}}, rec, func() int64 { return int64(time.Since(start)) }, g)
	expect.NoError(t, err)
	return rec, stats
}

// TestWithoutALimitOnlyTheEndEnds has a database that never answers, and
// clients who say of it what they like.
func TestWithoutALimitOnlyTheEndEnds(t *testing.T) {
	tests := map[string]struct{ said, kept Answer }{
		"unknown":          {Answer{Class: "timeout"}, Answer{Outcome: history.Unknown, Class: history.ClassHung}},
		"failed":           {Answer{Outcome: history.Failed, Class: "cannot connect"}, Answer{Outcome: history.Unknown, Class: history.ClassHung}},
		"answered at last": {Answer{Outcome: history.Committed}, Answer{Outcome: history.Committed}},
		"refused at last":  {Answer{Outcome: history.Rejected}, Answer{Outcome: history.Rejected}},
		"done before":      {Answer{Outcome: history.Failed, Done: true}, Answer{Outcome: history.Failed}},
	}
	for name, test := range tests {
		var began, ended atomic.Int64
		rec, stats := endless(t, t.Context(), short(), func(*Plan) {}, func(ctx context.Context, _ uint64, _ int) Answer {
			began.Add(1)
			if _, limited := ctx.Deadline(); limited {
				t.Errorf("%s: the attempt has a time limit", name)
			}
			<-ctx.Done()
			ended.Add(1)
			return test.said
		})
		if began.Load() != 1 || ended.Load() != 1 || len(rec.ops) != 1 || stats.Hung != 0 || stats.Cut {
			t.Fatalf("%s: %d began, %d ended, %d records, %+v", name, began.Load(), ended.Load(), len(rec.ops), stats)
		}
		op := rec.ops[0]
		if op.Outcome != test.kept.Outcome || op.Error != test.kept.Class {
			t.Errorf("%s: recorded as %v, %q", name, op.Outcome, op.Error)
		}
		if op.End < stats.MeasureEnd+int64(short().end) {
			t.Errorf("%s: taken back at %d, before the grace was over", name, op.End)
		}
	}
}

// TestWithoutALimitWhatAnswersInTheGraceIsKept is the near miss.
func TestWithoutALimitWhatAnswersInTheGraceIsKept(t *testing.T) {
	patient := graces{cut: time.Minute, end: time.Minute, hung: time.Minute}
	rec, _ := endless(t, t.Context(), patient, func(p *Plan) { p.Duration = 3 * time.Second }, func(context.Context, uint64, int) Answer {
		time.Sleep(4 * time.Second) // longer than the measured part, in which it begins
		return Answer{Outcome: history.Unknown, Class: "connection lost"}
	})
	if len(rec.ops) != 1 || rec.ops[0].Error != "connection lost" {
		t.Errorf("recorded %+v", rec.ops)
	}
}

// TestWithALimitTheClassIsTheClients: only what has no limit is hung.
func TestWithALimitTheClassIsTheClients(t *testing.T) {
	rec, _ := endless(t, t.Context(), short(), func(p *Plan) { p.Timeout = 200 * time.Millisecond }, func(ctx context.Context, _ uint64, _ int) Answer {
		<-ctx.Done()
		return Answer{Class: "timeout"}
	})
	if len(rec.ops) == 0 {
		t.Fatal("nothing is recorded")
	}
	for _, op := range rec.ops {
		if op.Error != "timeout" {
			t.Errorf("recorded %+v", op)
		}
	}
}

// TestWhoNeverComesBackIsCounted: the run ends all the same.
func TestWhoNeverComesBackIsCounted(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	never := short()
	never.hung = 40 * time.Millisecond
	rec, stats := endless(t, t.Context(), never, func(*Plan) {}, func(context.Context, uint64, int) Answer {
		<-release
		return Answer{}
	})
	if stats.Hung != 1 || len(rec.ops) != 0 {
		t.Errorf("%d hung, %d records", stats.Hung, len(rec.ops))
	}
}

func TestCutTakesBackWhatHasNoLimit(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rec, stats := endless(t, ctx, short(), func(p *Plan) { p.Duration = time.Hour }, func(ctx context.Context, _ uint64, _ int) Answer {
		cancel()
		<-ctx.Done()
		return Answer{Class: "cancelled"}
	})
	if !stats.Cut || stats.Hung != 0 || len(rec.ops) != 1 || rec.ops[0].Error != history.ClassHung {
		t.Errorf("%+v, recorded %+v", stats, rec.ops)
	}
}

// TestRetriesWithoutABound go on until the run ends, and no longer.
func TestRetriesWithoutABound(t *testing.T) {
	for _, mode := range []RetryMode{RetryBlind, RetryIdempotent} {
		rec, stats := endless(t, t.Context(), short(), func(p *Plan) {
			p.Timeout, p.Duration, p.Retry, p.MaxAttempts = time.Second, 1500*time.Millisecond, mode, 0
		}, func(context.Context, uint64, int) Answer {
			return Answer{Outcome: history.Unknown, Class: "timeout"}
		})
		if n := len(rec.ops); n < 11 || stats.Hung != 0 { // 10 would be the default bound
			t.Errorf("%s: %d attempts", mode, n)
		}
		for i, op := range rec.ops {
			if op.Seq != 0 || op.Attempt != i+1 || op.Last != (i == len(rec.ops)-1) {
				t.Errorf("%s: attempt %d is recorded as %+v", mode, i+1, op)
			}
		}
	}
}
