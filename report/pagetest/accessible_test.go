package pagetest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report/pagetest"
)

// TestInaccessibleIsFound: each page breaks one rule, and its sound twin none.
func TestInaccessibleIsFound(t *testing.T) {
	const dot = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
	browser := pagetest.Start(t)
	for _, c := range []struct{ rule, broken, sound string }{
		{"image-alt", `<img src="` + dot + `">`, `<img src="` + dot + `" alt="A dot">`},
		{"color-contrast", `<p style="color: #ccc">Grey</p>`, `<p style="color: #333">Grey</p>`},
		{"heading-order", `<h4>Deep</h4>`, `<h2>Next</h2>`},
		{"color-contrast", rows(`style="color: #ccc"`), rows("")}, // rows that are alike are looked at once
		{"label", `<details><summary>More</summary><input></details>`, `<details><summary>More</summary><label>Name <input></label></details>`},
	} {
		for _, page := range []struct{ part, rule string }{{c.broken, c.rule}, {c.sound, ""}} {
			path := filepath.Join(t.TempDir(), "page.html")
			text := `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Page</title></head><body><main><h1>Page</h1>` + page.part + `</main></body></html>`
			expect.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			tab := pagetest.Open(t, browser, "file://"+path, 400)
			found := tab.Inaccessible()
			if page.rule == "" && len(found) > 0 || page.rule != "" && (len(found) != 1 || !strings.HasPrefix(found[0], page.rule+" (")) {
				t.Errorf("%s: found %q, want the rule %q", page.part, found, page.rule)
			}
			if all := pagetest.Evaluate[int](tab, `document.querySelectorAll("tr").length`); all != strings.Count(page.part, "<tr>") {
				t.Errorf("%d rows are left of %s", all, page.part)
			}
			if opened := pagetest.Evaluate[bool](tab, `document.querySelector("details[open]") !== null`); opened {
				t.Errorf("%s: a fold is left open", page.part)
			}
		}
	}
}

// rows is a table of rows that are alike, but for the last.
func rows(last string) string {
	return "<table><thead><tr><th>Nodes</th></tr></thead><tbody><tr><td>one</td></tr><tr><td>two</td></tr><tr><td " + last + ">three</td></tr></tbody></table>"
}
