package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"assay/internal/expect"
)

// markdownLink is a link, of words or of a picture, with its target; a picture alone is none.
var markdownLink = regexp.MustCompile(`[^!]\[(?:!\[[^\]]*\]\([^)]*\)|[^\]!][^\]]*)\]\(([^)\s]+)\)`)

// fencedBlock is what is not prose.
var fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")

// linksOf returns the targets of the links in a document's prose.
func linksOf(text string) (targets []string) {
	for _, found := range markdownLink.FindAllStringSubmatch("\n"+fencedBlock.ReplaceAllString(text, ""), -1) {
		targets = append(targets, found[1])
	}
	return targets
}

// sectionsOf returns the names by which links reach a document's headings, as the usual
// renderers of Markdown make them: small letters, spaces as hyphens, no other marks.
func sectionsOf(text string) map[string]bool {
	all := map[string]bool{}
	marks := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for line := range strings.Lines(fencedBlock.ReplaceAllString(text, "")) {
		if heading := strings.TrimLeft(line, "#"); heading != line {
			all[strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")] = true
		}
	}
	return all
}

// documentFiles returns the Markdown files of the repository that a reader is given,
// relative to this folder.
func documentFiles(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "deploy/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		expect.NoError(t, err)
		all = append(all, found...)
	}
	if len(all) < 40 {
		t.Fatalf("only %d documents were found", len(all))
	}
	return all
}

// TestLinksLeadSomewhere: a link within the repository names a file that is there, and a
// section that this file has.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	links, sections := 0, map[string]map[string]bool{}
	for _, document := range documentFiles(t) {
		text := readFile(t, document)
		for _, target := range linksOf(text) {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			name, section, _ := strings.Cut(target, "#")
			file := document
			if name != "" {
				file = filepath.Join(filepath.Dir(document), name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", document, target)
				continue
			}
			if section != "" && sections[file] == nil {
				sections[file] = sectionsOf(readFile(t, file))
			}
			if section != "" && !sections[file][section] {
				t.Errorf("%s: %s has no section %s", document, file, section)
			}
		}
	}
	if links < 200 {
		t.Errorf("only %d links were looked at", links)
	}
}

// TestReadmeIsForNewcomers: it can be read in a few minutes and leads on by few links;
// docs/README.md lists every page, and docs/internals/decisions/README.md those beside it.
func TestReadmeIsForNewcomers(t *testing.T) {
	t.Parallel()
	readme := readFile(t, "..", "..", "README.md")
	if words := len(strings.Fields(readme)); words > 900 {
		t.Errorf("README.md has %d words, more than 900", words)
	}
	if links := linksOf(readme); len(links) > 7 {
		t.Errorf("README.md has %d links, more than 7: %v", len(links), links)
	}
	listed := map[string]bool{}
	for _, folder := range []string{"docs", filepath.Join("docs", "internals", "decisions")} {
		for _, target := range linksOf(readFile(t, "..", "..", folder, "README.md")) {
			name, _, _ := strings.Cut(target, "#")
			listed[filepath.Join(folder, name)] = true
		}
	}
	for _, document := range documentFiles(t) {
		name, err := filepath.Rel(filepath.Join("..", ".."), document)
		expect.NoError(t, err)
		if strings.HasPrefix(name, "docs"+string(filepath.Separator)) && name != filepath.Join("docs", "README.md") && !listed[name] {
			t.Errorf("neither docs/README.md nor docs/internals/decisions/README.md lists %s", name)
		}
	}
}
