package report

import (
	"io"
	"strings"
)

// MarkdownText is a text in the dialect of Markdown, written block by block. Its zero
// value is empty.
type MarkdownText struct{ m markdown }

// Heading adds a heading of a level, from 1 on.
func (t *MarkdownText) Heading(level int, text string) {
	t.m.line(strings.Repeat("#", level) + " " + escape(text))
}

// Verdict adds the line of a verdict, if it has a text.
func (t *MarkdownText) Verdict(v DocumentVerdict) {
	if v.Text != "" {
		t.m.line(v.Mark() + " **" + escape(v.Text) + "**")
	}
}

// Answer adds a question and what the runs say to it.
func (t *MarkdownText) Answer(ask, answer string) {
	t.m.line("**" + escape(ask) + "** " + escape(answer))
}

// Line adds a paragraph whose text stands as it is.
func (t *MarkdownText) Line(text string) { t.m.line(escape(text)) }

// Raw adds what is Markdown already, unless it is empty.
func (t *MarkdownText) Raw(text string) {
	if text = strings.TrimSpace(text); text != "" {
		t.m.line(text)
	}
}

// Image adds a picture by the path of its file, with the text that stands for it.
func (t *MarkdownText) Image(text, path string) { t.m.image(text, path) }

// Items adds a list.
func (t *MarkdownText) Items(texts []string) { t.m.items(texts) }

// Table adds a table without its title, unless it is empty.
func (t *MarkdownText) Table(table Table) { t.m.someRows(table) }

// Settings adds a list of names and values.
func (t *MarkdownText) Settings(all []Setting) {
	var lines []string
	for _, s := range all {
		lines = append(lines, s.Name+": "+s.Value)
	}
	t.m.items(lines)
}

// Write writes the text.
func (t *MarkdownText) Write(w io.Writer) error { return t.m.to(w) }
