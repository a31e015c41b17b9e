package pagetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
)

type finding struct {
	ID     string `json:"id"`
	Help   string `json:"help"`
	Impact string `json:"impact"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

func (f finding) String() string {
	lines := []string{fmt.Sprintf("%s (%s): %s", f.ID, f.Impact, f.Help)}
	for _, n := range f.Nodes[:min(3, len(f.Nodes))] {
		lines = append(lines, fmt.Sprintf("  %.200s\n  %s", n.HTML, strings.ReplaceAll(n.Summary, "\n", "\n  ")))
	}
	return strings.Join(lines, "\n")
}

// rules are the success criteria of WCAG 2.1 at levels A and AA and good practice. All closed
// folds are opened meanwhile, since they hide their content from axe-core. Of table rows that
// differ only in words, all but the first are taken out meanwhile: a study's page has thousands,
// and axe-core takes seconds for each hundred.
const rules = `(async () => {
	const folds = [...document.querySelectorAll("details:not([open])")];
	for (const f of folds) f.open = true;
	const shapes = new Map(), places = [];
	for (const row of document.querySelectorAll("tbody > tr")) {
		const table = row.closest("table"), shape = row.outerHTML.replace(/>[^<]*[^<\s][^<]*</g, ">words<");
		const seen = shapes.get(table) ?? new Set();
		shapes.set(table, seen);
		if (!seen.has(shape)) { seen.add(shape); continue; }
		const place = document.createComment("");
		row.replaceWith(place);
		places.push([place, row]);
	}
	const found = await axe.run(document, { resultTypes: ["violations"],
		runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] } });
	for (const [place, row] of places) place.replaceWith(row);
	for (const f of folds) f.open = false;
	return JSON.stringify(found.violations);
})()`

// Inaccessible returns axe-core's findings on the page as it stands.
func (tab *Tab) Inaccessible() []string {
	tab.t.Helper()
	if !Evaluate[bool](tab, `typeof axe === "object"`) {
		if err := chromedp.Do(tab.Context, chromedp.Evaluate[chromedp.Void](axe(tab)+";undefined")); err != nil {
			tab.t.Fatalf("load axe-core into the page: %v", err)
		}
	}
	text, err := chromedp.Run(tab.Context, chromedp.Evaluate[string](rules, chromedp.EvalAwaitPromise))
	var findings []finding
	if err == nil {
		err = json.Unmarshal([]byte(text), &findings)
	}
	if err != nil {
		tab.t.Fatalf("have axe-core look at the page: %v", err)
	}
	var all []string
	for _, f := range findings {
		all = append(all, f.String())
	}
	return all
}

// axe is the text of axe-core, which scripts/install-servers.sh installs.
func axe(tab *Tab) string {
	tab.t.Helper()
	folder := os.Getenv("ASSAY_SERVERS")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			tab.t.Fatalf("find axe-core: %v", err)
		}
		folder = filepath.Join(cache, "assay", "servers")
	}
	text, err := os.ReadFile(filepath.Join(folder, "axe", "axe.min.js"))
	if err != nil {
		tab.t.Fatalf("%v: run scripts/install-servers.sh axe", err)
	}
	return string(text)
}
