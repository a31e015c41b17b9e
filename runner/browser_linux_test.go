package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"assay/check"
	"assay/report"
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
	pages := map[string]string{"failover": failoverPage(t)}
	for name, s := range wordy() {
		pages[name] = filepath.Join(carryOut(t, s).Folder, FileReport)
	}
	browser := startBrowser(t)
	for name, path := range pages {
		for _, width := range []int64{400, 1280, 1920} {
			seen, complaints := openPage(t, browser, path, width)
			if len(complaints) > 0 {
				t.Errorf("%s at %d pixels: the browser complains: %q", name, width, complaints)
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
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startBrowser starts a browser of the test's own. It ends with the test, with all
// of its processes and its profile.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: run scripts/install-servers.sh chromium", err)
	}
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder) // chromedp makes and removes the profile there
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Env("HOME="+folder, "XDG_CONFIG_HOME="+folder, "XDG_CACHE_HOME="+folder),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-crash-reporter", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	browser, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(browser); err != nil {
			t.Errorf("end the browser: %v", err)
		}
		stop()
		if left, _ := filepath.Glob(filepath.Join(folder, "chromedp*")); len(left) > 0 {
			t.Errorf("the browser's profile is left: %q", left)
		}
	})
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return browser
}

// openPage opens a page in a tab of its own, light and then dark. It returns what
// is shown by scheme of colors, and what the browser complains of.
func openPage(t *testing.T, browser context.Context, path string, width int64) (map[string]shown, []string) {
	t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	defer closeTab()
	var mutex sync.Mutex
	var complaints []string
	complain := func(text string) {
		mutex.Lock()
		defer mutex.Unlock()
		complaints = append(complaints, text)
	}
	err := chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			complain(fmt.Sprintf("%s: %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *runtime.EventConsoleAPICalled:
			complain(fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded: // what the page's policy forbids, among others
			complain(e.Entry.Text)
		}
	})
	if err == nil {
		err = chromedp.Do(tab, chromedp.EmulateViewport(width, 900), scheme("light"), chromedp.Navigate("file://"+path))
	}
	seen := map[string]shown{}
	for _, name := range []string{"light", "dark"} {
		if err == nil {
			err = chromedp.Do(tab, scheme(name))
		}
		if err == nil {
			seen[name], err = chromedp.Run(tab, chromedp.Evaluate[shown](look))
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	mutex.Lock()
	defer mutex.Unlock()
	return seen, slices.Clone(complaints)
}

// scheme has the page believe that its reader prefers these colors.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return chromedp.Void{}, err
	}
}
