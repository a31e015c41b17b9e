package drivertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/store"
	"assay/workload"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// Shown is one isolation level, and the anomalies that it shows, separated by
// blanks; all others are prevented.
type Shown struct{ Level, Anomalies string }

// RunInterleaving plays all scripts of package interleaving at these levels, each on
// a database that open gives, and compares what is shown. The expectations of the
// callers are those of Hermitage's table (github.com/ept/hermitage).
func RunInterleaving(t *testing.T, open func(t *testing.T, level store.Level) store.Database, want []Shown) {
	first := open(t, store.Level{})
	levels := first.Levels()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
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
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	mark := workload.Marker{Run: "matrix", Workload: isolation.Name, Created: time.Now()}
	if err := db.Create(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(shown, " "); got != want.Anomalies {
		t.Errorf("shown: %s\nwant:  %s", got, want.Anomalies)
	}
	if err := db.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	if err := db.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}
