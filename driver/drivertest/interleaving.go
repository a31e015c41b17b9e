package drivertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/interleaving"
	"assay/workload/isolation"
	"assay/workload/tpcc"
)

// Shown is an isolation level and the anomalies that it shows, separated by blanks. It prevents
// all others.
type Shown struct{ Level, Anomalies string }

// RunInterleaving plays all scripts of package interleaving at each level and compares the
// anomalies shown. Callers take their expectations from Hermitage's table
// (github.com/ept/hermitage).
func RunInterleaving(t *testing.T, opener store.Opener, at func(level store.Level) store.Target, want []Shown) {
	open := func(t *testing.T, level store.Level) store.Database {
		db, err := opener(t.Context(), at(level), isolation.Schema())
		expect.NoError(t, err)
		t.Cleanup(func() {
			if err := errors.Join(db.Drop(context.Background()), db.Close()); err != nil {
				t.Error(err)
			}
		})
		return db
	}
	levels := open(t, store.Level{}).Levels()
	for _, w := range want {
		i := slices.IndexFunc(levels, func(l store.Level) bool { return l.Name == w.Level })
		if i < 0 {
			t.Errorf("there is no level %q among %v", w.Level, levels)
			continue
		}
		t.Run(w.Level, func(t *testing.T) { playLevel(t, open(t, levels[i]), w) })
	}
}

func playLevel(t *testing.T, db store.Database, want Shown) {
	mark := store.Marker{Run: "matrix", Workload: isolation.Name, Created: time.Now()}
	expect.NoError(t, db.Create(t.Context(), mark))
	var shown []string
	err := interleaving.Play(t.Context(), db, "tested", want.Level, func(c interleaving.Cell) {
		switch {
		case c.Result == interleaving.NotReached:
			t.Errorf("%s was not reached: %s\n%s", c.Anomaly, c.How, strings.Join(c.Trace, "\n"))
		case c.Broken:
			t.Errorf("%s is shown against the promise of %s\n%s", c.Anomaly, c.Promise, strings.Join(c.Trace, "\n"))
		case c.Result == interleaving.Shown:
			shown = append(shown, c.Anomaly)
		}
	})
	expect.NoError(t, err)
	if got := strings.Join(shown, " "); got != want.Anomalies {
		t.Errorf("shown: %s\nwant:  %s", got, want.Anomalies)
	}
	expect.NoError(t, db.Settle(t.Context()))
}

// RunTPCCIsolation does a short run of TPC-C at each level. Exactly the isolation tests that want
// lists must find something.
func RunTPCCIsolation(t *testing.T, by definition.Support, at func(isolation string) store.Target, want map[string][]int) {
	for level, tests := range want {
		t.Run(level, func(t *testing.T) {
			var found []int
			for _, test := range shortRun(t, at(level), by, shortRuns(t, tpcc.Name)[0]).TPCC.IsolationTests {
				t.Logf("isolation test %d: %s, %s\n\t%s", test.Test, test.Result, test.How, strings.Join(test.Steps, "\n\t"))
				if test.Result != "passed" {
					found = append(found, test.Test)
				}
			}
			if !slices.Equal(found, tests) {
				t.Errorf("not isolated are the tests %d, want %d", found, tests)
			}
		})
	}
}
