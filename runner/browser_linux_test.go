package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
	"assay/report/pagetest"
	"assay/workload/candles"
)

// shown is what a browser makes of a page.
type shown struct {
	// Drawn is true if the page's script ran to its end.
	Drawn bool `json:"drawn"`
	// Beyond is how many pixels of the page lie to the right of the window.
	Beyond float64 `json:"beyond"`
	// Charts are the charts that were drawn, Empty the indexes and legends of those
	// that have no line.
	Charts int      `json:"charts"`
	Empty  []string `json:"empty"`
	// Cut are the tables about rounds, and the picture of them, that are wider than
	// their place.
	Cut  []string `json:"cut"`
	Dark bool     `json:"dark"`
}

// look is run in the page. A name in a legend is one of the lines; the first entry
// is of the time that the pointer is at.
const look = `(() => {
	const all = (what) => [...document.querySelectorAll(what)];
	const visible = (e) => e.getClientRects().length > 0;
	return {
		drawn: document.documentElement.classList.contains("drawn"),
		beyond: document.scrollingElement.scrollWidth - window.innerWidth,
		charts: all(".chart .uplot").length,
		empty: all(".chart").filter((c) => visible(c) && c.querySelectorAll(".u-legend tr").length < 2).map((c) => c.id),
		cut: all("#rounds .scroll").filter((s) => s.scrollWidth > s.clientWidth).map((s) => s.ariaLabel)
			.concat(all("svg.rounds").filter((s) => visible(s) && s.getBoundingClientRect().right > window.innerWidth).map(() => "picture")),
		dark: matchMedia("(prefers-color-scheme: dark)").matches,
	};
})()`

// TestPagesInABrowser opens the page of each workload in windows of three widths,
// light and dark: nothing fails, nothing lies beyond the window, no chart is empty.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"failover": failoverPage(t)}
	for name, s := range wordy() {
		pages[name] = filepath.Join(carryOut(t, s).Folder, FileReport)
	}
	browser := pagetest.Start(t)
	for name, path := range pages {
		for _, width := range pagetest.Widths() {
			tab := pagetest.Open(t, browser, "file://"+path, width)
			seen := pagetest.InBothSchemes[shown](tab, fmt.Sprintf("report-%s-%d", name, width), look)
			if complaints := tab.Complaints(); len(complaints) > 0 {
				t.Errorf("%s at %d pixels: the browser complains: %q", name, width, complaints)
			}
			if colors, is := pagetest.Inspected()[width]; is {
				tab.WantAccessible(fmt.Sprintf("%s at %d pixels", name, width), colors)
			}
			for scheme, got := range seen {
				where := fmt.Sprintf("%s at %d pixels, %s", name, width, scheme)
				if !got.Drawn || got.Beyond > 0 || len(got.Empty) > 0 || got.Dark != (scheme == "dark") {
					t.Errorf("%s: %+v", where, got)
				}
				// Rounds of candles alone have neither a course nor sizes.
				if got.Charts == 0 && name != candles.Name {
					t.Errorf("%s: no chart was drawn", where)
				}
				// A telephone scrolls tables sideways, but not the picture.
				if width >= 1280 && len(got.Cut) > 0 || slices.Contains(got.Cut, "picture") {
					t.Errorf("%s: cut off: %q", where, got.Cut)
				}
			}
		}
	}
}

// failoverPage is the page of a run with a fault, a cluster and evidence, widest
// of all.
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
