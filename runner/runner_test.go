package runner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/check"
	"assay/cluster"
	"assay/internal/expect"
	"assay/measure"
	"assay/report"
	"assay/workload/bank"
	"assay/workload/definition"
)

type diary struct {
	mu     sync.Mutex
	stages []string
	notes  []string
}

func (d *diary) Stage(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stages = append(d.stages, text)
}

func (d *diary) Note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, text)
}

func (d *diary) Rows(int64, int64)                             {}
func (d *diary) Working(time.Duration, bool, measure.Snapshot) {}

// small takes a moment: 100 accounts, a number of operations, no warm-up.
func small(database string, seed, ops uint64) Scenario {
	s := Defaults(bank.Definition())
	s.Database = database
	s.Config.(*bank.Config).Accounts = 100
	s.Load.Seed, s.Load.Ops, s.Load.Warmup = seed, ops, 0
	s.Load.Timeout = 10 * time.Second
	return s
}

// become changes a scenario's workload and keeps its load.
func become(s *Scenario, w definition.Workload) { s.Workload, s.Config = w.Name, w.Config() }

func carryOut(t *testing.T, s Scenario) Outcome {
	t.Helper()
	return carryOutBy(t, s, Options{})
}

func carryOutBy(t *testing.T, s Scenario, o Options) Outcome {
	t.Helper()
	o.Version, o.Out = "test", cmp.Or(o.Out, filepath.Join(t.TempDir(), "run"))
	if o.Progress == nil {
		o.Progress = &diary{}
	}
	out, err := Run(t.Context(), s, o)
	expect.NoError(t, err)
	return out
}

func onServers(t *testing.T, spec string) *cluster.Cluster {
	t.Helper()
	parsed, err := cluster.ParseSpec(spec)
	expect.NoError(t, err)
	c, err := cluster.Start(t.Context(), parsed, cluster.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

func put(t *testing.T, path, text string) {
	t.Helper()
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func recheck(t *testing.T, folder string) Outcome {
	t.Helper()
	out, err := Recheck(t.Context(), folder, RecheckOptions{Version: "test", Progress: &diary{}})
	expect.NoError(t, err)
	return out
}

// violated returns which checks of the books alone were violated, sorted: chance decides what
// order, audits and replicas show.
func violated(r *report.Result) []string {
	names := []string{}
	for _, c := range r.Checks {
		if c.Verdict == check.Violated && slices.Contains([]string{"total", "accounts", "transfers"}, c.Name) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

// details returns the words of all checks that are not valid.
func details(r *report.Result) string {
	var text []string
	for _, c := range r.Checks {
		if c.Verdict != check.Valid {
			text = append(text, fmt.Sprintf("%s %v: %s", c.Name, c.Verdict, c.Detail))
		}
	}
	return strings.Join(text, "; ")
}

func reasons(r *report.Result) string { return strings.Join(r.Measurement.Reasons, "\n") }

// ownReasons leaves out reasons against a measurement that a busy machine causes.
func ownReasons(r *report.Result) []string {
	return slices.DeleteFunc(slices.Clone(r.Measurement.Reasons), func(reason string) bool {
		return strings.HasPrefix(reason, "machine busy: ") || strings.HasPrefix(reason, "client saturated: ") || strings.HasPrefix(reason, "stalled: ")
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	return text
}

// keepsSchema validates result.json by the published schema.
func keepsSchema(t *testing.T, folder string) {
	t.Helper()
	var schema jsonschema.Schema
	expect.NoError(t, json.Unmarshal(read(t, filepath.Join("..", "report", "schema.json")), &schema))
	resolved, err := schema.Resolve(nil)
	expect.NoError(t, err)
	var result any
	expect.NoError(t, json.Unmarshal(read(t, filepath.Join(folder, FileResult)), &result))
	if err := resolved.Validate(result); err != nil {
		t.Errorf("%s: %v", folder, err)
	}
}

// sameFigures compares all that is judged and measured.
func sameFigures(t *testing.T, got, want *report.Result) {
	t.Helper()
	blank := func(r *report.Result) string {
		c := *r
		c.Notes, c.Version, c.Ended = nil, "", time.Time{}
		for i := range c.Checks {
			c.Checks[i].Detail = "" // may say less: nobody counted along
		}
		c.Checks = slices.Clone(c.Checks)
		var text bytes.Buffer
		expect.NoError(t, report.WriteJSON(&text, &c))
		return text.String()
	}
	if a, b := blank(got), blank(want); a != b {
		t.Errorf("the results differ: %s", firstDifference(a, b))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return strings.TrimSpace(x[i]) + " where " + strings.TrimSpace(y[i]) + " was"
		}
	}
	return "one is longer"
}
