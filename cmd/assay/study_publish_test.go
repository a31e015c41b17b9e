package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/internal/expect"
)

// testPublished publishes a study whose runs are made: the Markdown refers to charts that are there,
// charts that are no longer made are gone, what is not the study's stays, and nothing tells of the
// machine's folders.
func testPublished(t *testing.T, dir, file string) {
	t.Helper()
	at := filepath.Join(dir, "reports")
	assay(t, dir, "study", file, "--out", "made", "--publish", at, "--quiet").want(t, exitNoVerdict, exitValid).shows(t, "published ")
	for folder, names := range map[string][2]string{"made": {"study.md", "study.html"}, "reports": {"small.md", "small.html"}} {
		text, page := readFile(t, dir, folder, names[0]), readFile(t, dir, folder, names[1])
		expect.Text(t, folder, text, "assay study small.yaml --size laptop", "![Throughput by clients](charts/")
		links := regexp.MustCompile(`\]\((charts/[^)]+)\)`).FindAllStringSubmatch(text, -1)
		if len(links) < 5 || strings.Count(page, `<figure class="lines`) != len(links) {
			t.Errorf("%s: %q", folder, links)
		}
		for _, link := range links {
			text += readFile(t, dir, folder, link[1])
		}
		host, err := os.Hostname()
		expect.NoError(t, err)
		for _, tells := range []string{dir, host} {
			if strings.Contains(text+page, tells) {
				t.Errorf("%s tells %s", folder, tells)
			}
		}
	}
	own := filepath.Join(at, "charts", "small-of-another-hand.svg")
	writeFile(t, "<svg/>", own)
	writeFile(t, strings.Replace(publishedStudy(), `, "throughput by clients"`, "", 1), file)
	assay(t, dir, "study", file, "--out", "made", "--publish", at, "--quiet").want(t, exitNoVerdict, exitValid)
	for path, there := range map[string]bool{own: true, filepath.Join(at, "charts", "small-transfers-throughput.svg"): true, filepath.Join(at, "charts", "small-transfers-throughput-by-clients.svg"): false} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}

	writeFile(t, "# Written by hand\n", filepath.Join(at, "small.md"))
	refused := assay(t, dir, "study", file, "--out", "again", "--publish", at).want(t, exitUsage)
	expect.Text(t, refused, refused.stderr, "small.md is there and is no article of this study")
	if _, err := os.Stat(filepath.Join(dir, "again")); err == nil || readFile(t, at, "small.md") != "# Written by hand\n" {
		t.Error("a run was made, or the page is overwritten")
	}
}
