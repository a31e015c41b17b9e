package report

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"assay/check"
)

// Markdown writes the result for an issue or a wiki, in the common dialect of GitHub and GitLab.
func Markdown(w io.Writer, r *Result) error {
	r = clean(r)
	m := &MarkdownText{}
	m.raw("# " + escape(subject(r)))
	m.raw("**" + escape(verdictLine(r)) + "**")
	m.raw("Measurement: " + escape(measurementLine(r)))
	m.Items(r.Measurement.Reasons)
	if len(r.Thresholds) > 0 {
		m.raw("Thresholds: " + escape(thresholdsLine(r)))
	}
	if len(r.Rounds) > 0 {
		for _, t := range roundTables(r) {
			m.table(t)
		}
	} else {
		m.table(throughputTable(r))
		m.table(latencyTable(r, true))
	}
	m.table(outcomeTable(r))
	m.filled(errorTable(r))
	m.filled(thresholdTable(r))
	m.checks(r)
	for _, s := range sections(r) {
		if s.Text != "" {
			m.raw("## " + escape(s.Title))
			m.raw(escape(s.Text))
		}
		for _, t := range s.Tables {
			m.table(t)
		}
	}
	m.filled(faultTable(r))
	m.filled(proofTable(r))
	if c := r.Cluster; c != nil {
		m.table(clusterTable(c))
		m.filled(eventTable(c))
	}
	if s := r.Servers; s != nil {
		m.raw("## What the servers were doing")
		m.raw(escape(s.Limit.Text))
		for _, reason := range serverReasons(s) {
			m.raw(escape(reason))
		}
		for _, t := range nodeTables(s) {
			m.table(t)
		}
		m.filled(accountTable(s))
	}
	m.table(settingTable("Setup", "setting", setup(r)))
	m.table(settingTable("Further figures", "figure", further(r)))
	if len(r.Notes) > 0 {
		m.raw("## Notes")
		m.Items(r.Notes)
	}
	return m.Write(w)
}

// MarkdownText is Markdown made block by block, with an empty line between. Its zero value is
// empty.
type MarkdownText struct{ blocks []string }

// Write writes the text.
func (m *MarkdownText) Write(w io.Writer) error {
	text := strings.ReplaceAll(strings.Join(m.blocks, "\n\n"), nbsp, " ") + "\n"
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

func (m *MarkdownText) raw(text string) { m.blocks = append(m.blocks, text) }

// Image adds a picture file with its alternative text.
func (m *MarkdownText) Image(text, path string) {
	m.raw("![" + escape(text) + "](" + reference(path) + ")")
}

// Items adds a list.
func (m *MarkdownText) Items(texts []string) {
	var lines []string
	for _, text := range texts {
		lines = append(lines, "- "+escape(text))
	}
	if len(lines) > 0 {
		m.raw(strings.Join(lines, "\n"))
	}
}

func (m *MarkdownText) table(t Table) {
	if t.Title != "" {
		m.raw("## " + escape(t.Title))
	}
	m.rows(t)
}

func (m *MarkdownText) rows(t Table) {
	if t.Drawn != "" {
		m.fenced(t.Drawn)
		return
	}
	var b strings.Builder
	row := func(n int, cells []string) {
		for i, cell := range cells {
			text := escape(cell)
			if link := t.Link(n, i); link != "" {
				text = "[" + text + "](" + link + ")"
			}
			b.WriteString("| " + text + " ")
		}
		b.WriteString("|\n")
	}
	row(-1, t.Head)
	for i := range t.Head {
		if t.Left(i) {
			b.WriteString("|---")
		} else {
			b.WriteString("|--:")
		}
	}
	b.WriteString("|\n")
	for i, cells := range t.Rows {
		if part := t.Parts[i]; part != "" {
			b.WriteString("| **" + escape(part) + "** " + strings.Repeat("| ", len(t.Head)-1) + "|\n")
		}
		row(i, cells)
	}
	m.raw(strings.TrimSuffix(b.String(), "\n"))
}

// fenced writes a text unchanged; no line of it ends the block.
func (m *MarkdownText) fenced(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.raw(fence + "text\n" + strings.TrimRight(text, "\n") + "\n" + fence)
}

func (m *MarkdownText) filled(t Table) {
	if len(t.Rows) > 0 {
		m.table(t)
	}
}

// Table writes a table without its title, unless it is empty.
func (m *MarkdownText) Table(t Table) {
	if len(t.Rows) > 0 {
		m.rows(t)
	}
}

// Heading adds a heading of a level, from 1 on.
func (m *MarkdownText) Heading(level int, text string) {
	m.raw(strings.Repeat("#", level) + " " + escape(text))
}

// Verdict adds the line of a verdict, if it has a text.
func (m *MarkdownText) Verdict(v DocumentVerdict) {
	if v.Text != "" {
		m.raw(Mark(v.Verdict) + " **" + escape(v.Text) + "**")
	}
}

// Answer adds a question and the runs' answer.
func (m *MarkdownText) Answer(ask, answer string) {
	m.raw("**" + escape(ask) + "** " + escape(answer))
}

// Line adds a paragraph of plain text.
func (m *MarkdownText) Line(text string) { m.raw(escape(text)) }

// Raw adds Markdown, unless it is empty.
func (m *MarkdownText) Raw(text string) {
	if text = strings.TrimSpace(text); text != "" {
		m.raw(text)
	}
}

// Settings adds a list of names and values.
func (m *MarkdownText) Settings(all []Setting) {
	var lines []string
	for _, s := range all {
		lines = append(lines, s.Name+": "+s.Value)
	}
	m.Items(lines)
}

func (m *MarkdownText) checks(r *Result) {
	m.table(checkTable(r))
	m.filled(promiseTable(r))
	for _, t := range convictionTables(r) {
		m.table(t)
	}
	for _, c := range r.Checks {
		if len(c.Evidence) == 0 {
			continue
		}
		m.raw(fmt.Sprintf("### Evidence: %s (%s of %s)", escape(c.Name), check.Count(int64(len(c.Evidence))),
			check.Counted(c.Found, "finding", "findings")))
		var lines []string
		var cycles []*check.Cycle
		for _, e := range c.Evidence {
			lines = append(lines, "- "+escape(e.Kind+": "+evidenceText(e)))
			if cycle := cycleOf(e); cycle != nil {
				lines = append(lines, stepLines(cycle)...)
				cycles = append(cycles, cycle)
			}
		}
		m.raw(strings.Join(lines, "\n"))
		var meanings []string
		for _, d := range legend(cycles...) {
			meanings = append(meanings, "**"+d.Kind+"** "+d.Meaning)
		}
		if len(meanings) > 0 {
			m.raw("In the cycles, " + strings.Join(meanings, "; ") + ".")
		}
	}
}

func stepLines(c *check.Cycle) []string {
	var lines []string
	for i, s := range c.Steps {
		lines = append(lines,
			fmt.Sprintf("  %d. **%s**, %s", i+1, escape(s.Name), escape(s.Text)),
			fmt.Sprintf("     - before %s, %s", escape(after(c, i).Name), escape(s.Kind+": "+s.Why)))
	}
	return lines
}

// escape protects text that may come from a database, also inside a table.
func escape(text string) string {
	var b strings.Builder
	for _, r := range plain(text) {
		switch r {
		case '\\', '`', '*', '_', '|', '[', ']', '~', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '#', '@': // these would link to an issue or a person
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func reference(path string) string {
	link := &url.URL{Path: filepath.ToSlash(path)}
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(link.String())
}
