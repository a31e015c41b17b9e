package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"assay/check"
	"assay/internal/expect"
)

// TestPublishedArticles: the articles of docs are those of the repository's studies as they stand:
// their titles, tables, experiments, questions and charts; and no chart lies there that no study
// made. The matrix of databases stands among the pages of docs.
func TestPublishedArticles(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	pages, err := filepath.Glob(filepath.Join(docs, "studies", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	matrix, err := filepath.Glob(filepath.Join(docs, "databases.md")) // none while it is withdrawn
	expect.NoError(t, err)
	pages = append(pages, matrix...)
	shown := map[string]bool{}
	for _, page := range pages {
		dir, name := filepath.Dir(page), strings.TrimSuffix(filepath.Base(page), ".md")
		text := strings.ReplaceAll(readFile(t, page), `\_`, "_")
		var study struct {
			Title       string
			Question    string
			Experiments map[string]struct{ Title string }
			Overview    []struct{ Title string }
			Questions   []struct{ Ask string }
		}
		expect.NoError(t, yaml.Unmarshal([]byte(readFile(t, "..", "..", "studies", name+".yaml")), &study))
		article := readFile(t, dir, name+".html")
		expect.Text(t, name+".html", article, "<h1", html.EscapeString(study.Title))
		if outdated(t, name, text) {
			continue
		}
		expect.Text(t, name, text, "# "+study.Title+"\n", firstWords(study.Question))
		if before := strings.Contains(text, "\n## Conclusions\n"); before { // of a page before studies had questions
			study.Questions = nil
		}
		for _, q := range study.Questions {
			expect.Text(t, name, text, firstWords(q.Ask))
		}
		for _, o := range study.Overview {
			expect.Text(t, name, text, "## "+o.Title+"\n")
		}
		for _, e := range study.Experiments {
			expect.Text(t, name, text, "## "+e.Title+"\n")
		}
		if strings.Contains(text, "could not be made") || strings.Contains(text, "not made yet") {
			t.Errorf("%s is not whole", page)
		}
		for _, link := range regexp.MustCompile(`\]\((charts/[^)]+\.svg)\)`).FindAllStringSubmatch(text, -1) {
			shown[filepath.Join(dir, filepath.FromSlash(link[1]))] = true
		}
		for _, foreign := range []string{"/tmp/", "/root/", "/home/", "/work/"} {
			if strings.Contains(text, foreign) || strings.Contains(article, foreign) {
				t.Errorf("%s tells of a folder below %s", page, foreign)
			}
		}
	}
	for chart := range shown {
		if _, err := os.Stat(chart); err != nil {
			t.Errorf("a chart is missing: %v", err)
		}
	}
	charts, err := filepath.Glob(filepath.Join(docs, "studies", "charts", "*"))
	expect.NoError(t, err)
	ofDatabases, err := filepath.Glob(filepath.Join(docs, "charts", "databases-*"))
	expect.NoError(t, err)
	charts = append(charts, ofDatabases...)
	if left := slices.DeleteFunc(charts, func(chart string) bool { return shown[chart] }); len(left) > 0 {
		t.Errorf("no article shows %v", left)
	}
}

// outdated reports whether a page is withdrawn. One that was made with earlier rules of verdict
// than today's (check.Rules) is that, or says at its beginning that it is older: raise the number
// with a rule, and every page before it is made again, marked or withdrawn.
func outdated(t *testing.T, name, text string) bool {
	rules := 1
	if said := regexp.MustCompile(`(?m)^- rules of verdict: .*?(\d+)$`).FindStringSubmatch(text); said != nil {
		rules, _ = strconv.Atoi(said[1])
	}
	withdrawn := strings.Contains(text, "**Withdrawn on ") && strings.Contains(text, "assay study studies/"+name+".yaml --until-valid")
	if now := fmt.Sprintf("**Older than the rules of verdict**, which are now %d:", check.Rules); rules < check.Rules && !withdrawn && !strings.Contains(text, now) {
		t.Errorf("%s was made with rules of verdict %d, and they are %d: make it again, withdraw it, or say %q at its beginning", name, rules, check.Rules, now)
	}
	return withdrawn
}

// firstWords are the words of a text before any mark that Markdown may write otherwise.
func firstWords(text string) string {
	return strings.Join(strings.Fields(text)[:4], " ")
}
