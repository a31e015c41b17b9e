package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/report/pagetest"
	"assay/workload/candles"
)

// shown is a browser's view of a run's page.
type shown struct {
	// Charts counts all charts. Empty have no line, Silent show nothing under the pointer. Charts of
	// points have no table and show nothing.
	Charts int      `json:"charts"`
	Empty  []string `json:"empty"`
	Silent []string `json:"silent"`
	// Cut are tables about rounds, and their picture, wider than their place.
	Cut []string `json:"cut"`
}

// look runs in the page. A line's name is followed by the table's cell in the pointer's row.
const look = `(() => {
	const all = (what) => [...document.querySelectorAll(what)];
	const visible = (e) => e.getClientRects().length > 0;
	const charts = all("figure.lines:not(.bars)");
	const says = (chart) => {
		const svg = chart.querySelector("svg"), box = svg.getBoundingClientRect();
		svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
		const said = [...chart.querySelectorAll("[data-column]")].map((c) => c.querySelector("b").textContent);
		svg.dispatchEvent(new PointerEvent("pointerleave"));
		return said.length > 1 && said.every((text) => text !== "");
	};
	return {
		charts: charts.length,
		empty: charts.filter((c) => !visible(c) || !c.querySelector("svg path[d^=M]")).map((c) => c.ariaLabel),
		silent: charts.filter((c) => !says(c) && !c.querySelector("svg").ariaLabel.startsWith("Points of")).map((c) => c.ariaLabel),
		cut: all("#rounds .scroll").filter((s) => s.scrollWidth > s.clientWidth).map((s) => s.ariaLabel),
	};
})()`

// TestPagesInABrowser opens each workload's page at three widths, light or dark. Nothing fails,
// lies beyond the window, or is empty, and all words are well formed.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"failover": failoverPage(t)}
	for name, s := range wordy() {
		out := carryOut(t, s)
		mustBeWellFormed(t, name, out.Result)
		if !strings.Contains(name, " ") { // the variants of isolation have the same parts
			pages[name] = out.Report
		}
	}
	browser := pagetest.Start(t)
	for name, path := range pages {
		tab := pagetest.Open(t, browser, "file://"+path, 1280)
		tab.Check("report-"+name, func(where string, width int64) {
			got := pagetest.Evaluate[shown](tab, look)
			// Rounds of candles have neither a course nor sizes.
			if len(got.Empty) > 0 || len(got.Silent) > 0 || got.Charts == 0 && name != candles.Name {
				t.Errorf("%s: %+v", where, got)
			}
			// A telephone scrolls tables sideways, but not the picture.
			if width >= 1280 && len(got.Cut) > 0 || slices.Contains(got.Cut, "picture") {
				t.Errorf("%s: cut off: %q", where, got.Cut)
			}
		})
	}
}

// failoverPage has a fault, a cluster and evidence, and is the widest.
func failoverPage(t *testing.T) string {
	t.Helper()
	r := *carryOut(t, small("mem://?bug=lost-ack:0.05", 3, 1500)).Result
	if r.Verdict != check.Violated {
		t.Fatalf("the run is %v", r.Verdict)
	}
	r.Faults = []report.Fault{{Action: "kill", Target: "primary", Nodes: []string{"n1"}, InjectedSecond: 0.01, HealedSecond: 0.02,
		Proven: true, Proof: "process 4711 is gone", Healing: "it is a secondary", NewPrimary: "n3", NewPrimaryAfter: 10380,
		WriteOutage: 11100, ReadOutage: 10420, LongestCall: 10002,
		Errors: []report.ErrorCount{{Class: "connection lost", Outcome: "unknown", Attempts: 29}, {Class: "not primary", Outcome: "failed", Attempts: 16}}}}
	r.Cluster = &report.Cluster{Spec: "mongodb:3", Network: "own", StartSeconds: 2.4, Settled: "all nodes held the same data 1.2 s after it",
		Nodes: []report.ClusterNode{{Name: "n1", Address: "198.18.7.11:27017", Memory: 400 << 20, CPU: 1}}}
	path := filepath.Join(t.TempDir(), FileReport)
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(report.HTML(file, &r, report.Page{}), file.Close())
	}
	expect.NoError(t, err)
	return path
}
