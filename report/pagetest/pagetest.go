// Package pagetest opens pages in Chromium for tests of whatever makes or serves pages.
package pagetest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// widths are pixels of a telephone, a notebook and a large screen.
func widths() []int64 { return []int64{400, 1280, 1920} }

// inspected are the widths for axe-core, with the preferred colors. Our styles never depend on
// both width and colors, so two pairs find all. A large screen has the page of a notebook.
func inspected() map[int64]string { return map[int64]string{400: "light", 1280: "dark"} }

// Start starts a browser that ends with the test, with all its processes and its profile.
func Start(t *testing.T) context.Context {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: run scripts/install-servers.sh chromium", err)
	}
	folder := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Env("HOME="+folder, "TMPDIR="+folder, "XDG_CONFIG_HOME="+folder, "XDG_CACHE_HOME="+folder),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-crash-reporter", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	browser, _ := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(browser); err != nil {
			t.Errorf("end the browser: %v", err)
		}
		stop()
	})
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return browser
}

// Tab is one open page.
type Tab struct {
	Context    context.Context
	t          *testing.T
	mutex      sync.Mutex
	complaints []string
}

// Open opens an address in a new tab, in light colors. The tab closes with the test.
func Open(t *testing.T, browser context.Context, address string, width int64) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	tab := &Tab{Context: ctx, t: t}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			tab.complain(fmt.Sprintf("%s: %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
		case *runtime.EventConsoleAPICalled:
			tab.complain(fmt.Sprintf("console.%s", e.Type))
		case *log.EventEntryAdded: // what the page's policy forbids, among others
			tab.complain(e.Entry.Text)
		}
	})
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), scheme("light"), chromedp.Navigate(address))
	}
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return tab
}

func (tab *Tab) complain(text string) {
	tab.mutex.Lock()
	defer tab.mutex.Unlock()
	tab.complaints = append(tab.complaints, text)
}

// Complaints are the browser's complaints so far.
func (tab *Tab) Complaints() []string {
	tab.mutex.Lock()
	defer tab.mutex.Unlock()
	return slices.Clone(tab.complaints)
}

// Evaluate runs a script in the page and returns its value.
func Evaluate[T any](tab *Tab, script string) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.Context, chromedp.Evaluate[T](script))
	if err != nil {
		tab.t.Fatal(err)
	}
	return value
}

// prefers sets the reader's preferred colors.
func (tab *Tab) prefers(colors string) {
	tab.t.Helper()
	if err := chromedp.Do(tab.Context, scheme(colors)); err != nil {
		tab.t.Fatalf("%s: %v", colors, err)
	}
}

func (tab *Tab) picture(name string) {
	folder := os.Getenv("ASSAY_SCREENSHOTS")
	if folder == "" {
		return
	}
	tab.t.Helper()
	image, err := chromedp.Run(tab.Context, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name), image, 0o644)
	}
	if err != nil {
		tab.t.Errorf("picture %s: %v", name, err)
	}
}

// Layout is a browser's rendering of any page.
type Layout struct {
	// Beyond is how many pixels of the page lie to the right of the window.
	Beyond float64 `json:"beyond"`
	Dark   bool    `json:"dark"`
	Title  string  `json:"title"`
	// Unnamed are controls without a name for screen readers, pictures without a description and
	// tables without heads.
	Unnamed []string `json:"unnamed"`
}

const layout = `(() => {
	const all = (what) => [...document.querySelectorAll(what)];
	const named = (e) => e.ariaLabel || e.textContent.trim() || (e.labels && e.labels.length > 0) || e.getAttribute("aria-labelledby") || e.getAttribute("aria-hidden");
	return {
		beyond: document.scrollingElement.scrollWidth - window.innerWidth,
		dark: matchMedia("(prefers-color-scheme: dark)").matches,
		title: document.title,
		unnamed: all("a, button, input:not([type=hidden]), select, svg, progress, [role=region], [role=group], [role=img]").filter((e) => !named(e)).map((e) => e.outerHTML.slice(0, 100))
			.concat(all("table").filter((e) => e.querySelectorAll("thead th[scope=col]").length === 0).map((e) => e.outerHTML.slice(0, 100))),
	};
})()`

// Check tests a page at all widths, in light or dark colors: nothing beyond the window, nothing
// unnamed, no finding of axe-core, no complaint of the browser. It calls besides at each width.
// Pictures are kept in the folder ASSAY_SCREENSHOTS, if that is set.
func (tab *Tab) Check(name string, besides ...func(where string, width int64)) {
	tab.t.Helper()
	for _, width := range widths() {
		if err := chromedp.Do(tab.Context, chromedp.EmulateViewport(width, 900)); err != nil {
			tab.t.Fatalf("%s: %v", name, err)
		}
		tab.settle(width)
		colors := cmp.Or(inspected()[width], "light")
		tab.prefers(colors)
		where := fmt.Sprintf("%s at %d pixels, %s", name, width, colors)
		if got := Evaluate[Layout](tab, layout); got.Beyond > 0 || got.Dark != (colors == "dark") || got.Title == "" || len(got.Unnamed) > 0 {
			tab.t.Errorf("%s: %+v", where, got)
		}
		tab.picture(fmt.Sprintf("%s-%d-%s.png", name, width, colors))
		if inspected()[width] != "" {
			for _, found := range tab.Inaccessible() {
				tab.t.Errorf("%s: %s", where, found)
			}
		}
		for _, more := range besides {
			more(where, width)
		}
	}
	if complaints := tab.Complaints(); len(complaints) > 0 {
		tab.t.Errorf("%s: the browser complains: %q", name, complaints)
	}
}

// settle waits until a resized page is drawn: it learns its width only with the next frame.
func (tab *Tab) settle(width int64) {
	tab.t.Helper()
	drawn := fmt.Sprintf(`new Promise((done) => {
		const look = (left) => requestAnimationFrame(() => {
			if (left === 0) done(true);
			else look(window.innerWidth === %d ? left - 1 : 3);
		});
		look(3);
	})`, width)
	limit, cancel := context.WithTimeout(tab.Context, 5*time.Minute)
	defer cancel()
	if _, err := chromedp.Run(limit, chromedp.Evaluate[bool](drawn, chromedp.EvalAwaitPromise)); err != nil {
		tab.t.Fatalf("a window of %d pixels: %v", width, err)
	}
}

func scheme(name string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return chromedp.Void{}, err
	}
}
