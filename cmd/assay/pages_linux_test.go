package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"assay/internal/expect"
	"assay/report/pagetest"
)

// viewing starts assay view on a folder, and returns its address.
func viewing(t *testing.T, dir string) string {
	t.Helper()
	p := start(t, command{dir: dir, args: []string{"view", "--listen", "127.0.0.1:0"}})
	p.until("on http://")
	_, address, _ := strings.Cut(p.err.String(), "on http://")
	t.Cleanup(func() {
		p.signal(syscall.SIGINT)
		p.wait().want(t, exitValid)
	})
	return "http://" + strings.TrimSpace(strings.SplitN(address, "\n", 2)[0])
}

// TestPagesInABrowser has one browser for the pages that are made of several runs, those of assay view,
// and the articles of docs. Package runner opens the pages of single runs.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	browser := pagetest.Start(t)
	t.Run("several runs", func(t *testing.T) { testPagesOfSeveralRuns(t, browser) })
	t.Run("articles", func(t *testing.T) { testPublishedArticles(t, browser) })
}

// testPagesOfSeveralRuns opens them in windows of three widths, light and dark.
func testPagesOfSeveralRuns(t *testing.T, browser context.Context) {
	dir := t.TempDir()
	made := func(args ...string) { assay(t, dir, args...).want(t, exitValid, exitViolated, exitNoVerdict) }
	small := []string{"--db", "mem://", "--accounts", "100", "--ops", "300", "--quiet"}
	made(append([]string{"run", "bank", "--clients", "1,2", "--repeat", "4", "--out", "runs/series"}, small...)...)
	made(append([]string{"sweep", "bank", "--clients", "1,2,4,8", "--out", "runs/sweep"}, small...)...)
	made("run", "bank", "--db", "mem://?bug=lost-ack:0.05", "--ops", "1500", "--quiet", "--out", "runs/broken")
	made("compare", "runs/series", "--html", "runs/comparison.html")
	several := assay(t, dir, "report", "runs/series", "--format", "html").want(t, exitValid).stdout
	writeFile(t, several, dir, "several.html")
	unreadableFolders(t, dir)
	running := start(t, command{dir: dir, args: []string{"run", "bank", "--db", "mem://?latency=2ms", "--duration", "1h", "--warmup", "0s", "--out", "runs/running"}})
	running.until(working)
	address := viewing(t, dir)
	pages := map[string]string{
		"series": "file://" + filepath.Join(dir, "runs/series/report.html"), "sweep": "file://" + filepath.Join(dir, "runs/sweep/report.html"),
		"comparison": "file://" + filepath.Join(dir, "runs/comparison.html"), "several-runs": "file://" + filepath.Join(dir, "several.html"),
		"view-filtered": address + "/?q=series&verdict=valid&sort=throughput",
		"view-compared": address + "/compare?run=series/001-001&run=series/001-002&run=broken", "view-follow": address + "/follow/running",
		"view-not-shown": address + "/follow/newer",
	}
	for name, page := range pages {
		pagetest.Open(t, browser, page, 1280).Check(name)
	}
	usedByKeyboard(t, browser, address)
	followed(t, browser, address, running)
}

// testPublishedArticles opens each article of docs, copies a table of it, and looks at the first more
// closely: all are made alike.
func testPublishedArticles(t *testing.T, browser context.Context) {
	dir, err := filepath.Abs(filepath.Join("..", "..", "docs", "studies"))
	expect.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for i, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".html")
		tab := pagetest.Open(t, browser, "file://"+page, 1280)
		if i == 0 {
			tab.Check("article-" + name)
		}
		if article := readFile(t, dir, name+".md"); !strings.Contains(article, "**Withdrawn on ") {
			copied(t, tab, article)
		}
		if complaints := tab.Complaints(); len(complaints) > 0 {
			t.Errorf("%s: the browser complains: %q", name, complaints)
		}
	}
}

// copied clicks the first button to be seen that copies a table, and wants each row of what
// is then in the clipboard to stand in the same article's Markdown.
func copied(t *testing.T, tab *pagetest.Tab, article string) {
	t.Helper()
	limit, cancel := context.WithTimeout(tab.Context, 5*time.Minute)
	defer cancel()
	_, err := chromedp.CallBrowser(limit, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: browser.PermissionSettingGranted})
	expect.NoError(t, err)
	// The figures of charts are folded, and the Markdown has none of them.
	_, err = chromedp.Run(limit, chromedp.Evaluate[bool](`[...document.querySelectorAll("button.copy")].find((b) => b.checkVisibility()).id = "seen", true`))
	expect.NoError(t, err)
	expect.NoError(t, chromedp.Do(limit, chromedp.Click(chromedp.CSS("#seen"))))
	says, err := chromedp.Run(limit, chromedp.Poll[string](`document.querySelector("#seen + [role=status]").textContent`))
	if err != nil || says != "Copied" {
		t.Fatalf("the button says %q, %v", says, err)
	}
	text, err := chromedp.Run(limit, chromedp.Evaluate[string]("navigator.clipboard.readText()", chromedp.EvalAwaitPromise))
	expect.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(text), "\n")
	if len(rows) < 4 {
		t.Errorf("the copy has %d lines: %q", len(rows), text)
	}
	// A copy goes elsewhere, where what the page links to within itself is not.
	article = regexp.MustCompile(`\[([^\]]*)\]\(#[^)]*\)`).ReplaceAllString(article, "$1")
	for _, row := range rows {
		if !strings.Contains(article, row+"\n") {
			t.Errorf("the article has no row %q", row)
		}
	}
}

// unreadableFolders makes folders that are no runs, of another version and half
// written.
func unreadableFolders(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"notes/remarks.txt": "nothing", "newer/result.json": `{"format": 99}`, "half/result.json": `{"format": 1, "workl`, "begun/scenario.yaml": "workload: bank\n",
	} {
		writeFile(t, text, dir, "runs", name)
	}
}

// usedByKeyboard goes from the list to a comparison without a mouse.
func usedByKeyboard(t *testing.T, browser context.Context, address string) {
	t.Helper()
	tab := pagetest.Open(t, browser, address+"/?q=series+001", 1280)
	for _, name := range []string{"series/001-001", "series/001-002"} {
		expect.NoError(t, chromedp.Do(tab.Context, chromedp.Focus(`input[value="`+name+`"]`), chromedp.KeyEvent(" ")))
	}
	if _, err := chromedp.RunResponse(tab.Context, chromedp.KeyEvent("\r")); err != nil {
		t.Fatal(err)
	}
	title := pagetest.Evaluate[string](tab, "document.title")
	if title != "bank: 001-001 against 001-002" {
		t.Errorf("the form led to %q", title)
	}
}

// followed opens a run that is being made, sees its figures change, ends it, and wants
// the page to lead to its report.
func followed(t *testing.T, browser context.Context, address string, running *process) {
	t.Helper()
	tab := pagetest.Open(t, browser, address+"/follow/running", 1280)
	const points = `document.querySelector("#recent tbody th").textContent`
	first := pagetest.Evaluate[string](tab, points)
	if _, err := chromedp.Run(tab.Context, chromedp.Poll[bool](points+` !== "`+first+`"`)); err != nil {
		t.Fatalf("the figures do not change: %v", err)
	}
	if _, err := chromedp.RunResponse(tab.Context, chromedp.Action[chromedp.Void](func(context.Context, *chromedp.Target) (chromedp.Void, error) {
		running.signal(syscall.SIGINT)
		return chromedp.Void{}, nil
	})); err != nil {
		t.Fatal(err)
	}
	running.wait().want(t, exitNoVerdict)
	if at := pagetest.Evaluate[string](tab, "location.pathname"); at != "/files/running/report.html" {
		t.Errorf("the end led to %s", at)
	}
	if complaints := tab.Complaints(); len(complaints) > 0 {
		t.Errorf("the browser complains: %q", complaints)
	}
}

// TestViewRefuses: only this machine is served, and nothing that is no page of a run.
func TestViewRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, listen := range []string{"0.0.0.0:0", "192.0.2.1:80", "8090", "[::]:0"} {
		expect.Text(t, listen, assay(t, dir, "view", ".", "--listen", listen).want(t, exitUsage).complaint(t), "not this machine's loopback")
	}
	expect.Text(t, "without runs", assay(t, dir, "view").want(t, exitUsage).complaint(t), "name a folder")
	expect.NoError(t, os.Mkdir(filepath.Join(dir, "runs"), 0o755))
	address := viewing(t, dir)
	answer, err := http.Get(address + "/")
	expect.NoError(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("an empty folder: %s", answer.Status)
	}
	other := start(t, command{dir: dir, args: []string{"view", "--listen", strings.TrimPrefix(address, "http://")}})
	expect.Text(t, "a port that is taken", other.wait().want(t, exitCannotRun).complaint(t), "name another place")
}
