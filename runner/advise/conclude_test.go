package advise

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/runner"
	"assay/runner/series"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/script"
)

// TestChangesThatWereCut are none: programs that read the advice expect a list.
func TestChangesThatWereCut(t *testing.T) {
	base := runner.Defaults(script.Definition())
	file, _ := definition.Lookup(base.Config, "script")
	expect.NoError(t, file.Value.(interface{ Set(string) error }).Set("../../examples/shop.star"))
	f := &finding{plan: Plan{Base: base, Repeats: 1}, options: series.Options{Out: t.TempDir()}, product: "PostgreSQL", sent: &script.Sent{}}
	a := &Advice{Alone: &Row{Verdict: check.Valid}, Levels: []Row{{Level: "read-committed", Verdict: check.Violated}}, Changes: []Row{}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.conclude(ended, a, []store.Level{{Name: "read-committed"}}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	text, err := json.Marshal(a.Changes)
	if err != nil || string(text) != "[]" {
		t.Errorf("%s, %v", text, err)
	}
}
