package report

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"assay/check"
)

// Markdown writes the result for an issue or a wiki, in the dialect that
// GitHub and GitLab share.
func Markdown(w io.Writer, r *Result) error {
	r = clean(r)
	m := &markdown{}
	m.line("# " + escape(subject(r)))
	m.line("**" + escape(verdictLine(r)) + "**")
	m.line("Measurement: " + escape(measurementLine(r)))
	m.items(r.Measurement.Reasons)
	if len(r.Thresholds) > 0 {
		m.line("Thresholds: " + escape(thresholdsLine(r)))
	}
	if len(r.Rounds) > 0 {
		m.table(roundTable(r))
		m.filled(roundFactTable(r))
	} else {
		m.table(throughputTable(r))
		m.table(latencyTable(r, true))
	}
	m.table(outcomeTable(r))
	m.filled(errorTable(r))
	m.filled(thresholdTable(r))
	m.checks(r)
	kinds := kindTable(r.Kinds)
	for _, s := range sections(r) {
		if s.Text != "" {
			m.line("## " + escape(s.Title))
			m.line(escape(s.Text))
		}
		for _, t := range s.Tables {
			m.table(t)
		}
		if s.kinds {
			kinds.Rows = nil
		}
	}
	m.filled(kinds)
	m.filled(faultTable(r))
	if c := r.Cluster; c != nil {
		m.table(clusterTable(c))
		m.filled(eventTable(c))
	}
	if s := r.Servers; s != nil {
		m.line("## What the servers were doing")
		m.line(escape(s.Limit.Text))
		for _, reason := range serverReasons(s) {
			m.line(escape(reason))
		}
		m.table(nodeTable(s))
		m.filled(accountTable(s))
	}
	m.table(settingTable("Setup", "setting", setup(r)))
	m.table(settingTable("Further figures", "figure", further(r)))
	if len(r.Notes) > 0 {
		m.line("## Notes")
		m.items(r.Notes)
	}
	m.table(installation(r))
	m.table(waits(r))
	m.table(sizes(r))
	return m.to(w)
}

// markdown collects the text; its blocks are parted by one empty line.
type markdown struct{ blocks []string }

func (m *markdown) to(w io.Writer) error {
	text := strings.ReplaceAll(strings.Join(m.blocks, "\n\n"), nbsp, " ") + "\n"
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

func (m *markdown) line(text string) { m.blocks = append(m.blocks, text) }

func (m *markdown) image(text, path string) {
	m.line("![" + escape(text) + "](" + reference(path) + ")")
}

func (m *markdown) items(texts []string) {
	var lines []string
	for _, text := range texts {
		lines = append(lines, "- "+escape(text))
	}
	if len(lines) > 0 {
		m.line(strings.Join(lines, "\n"))
	}
}

func (m *markdown) table(t Table) {
	if t.Title != "" {
		m.line("## " + escape(t.Title))
	}
	m.rows(t)
}

// rows writes a table without its title.
func (m *markdown) rows(t Table) {
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
	m.line(strings.TrimSuffix(b.String(), "\n"))
}

// filled writes a table unless it is empty.
func (m *markdown) filled(t Table) {
	if len(t.Rows) > 0 {
		m.table(t)
	}
}

// someRows writes a table without its title, unless it is empty.
func (m *markdown) someRows(t Table) {
	if len(t.Rows) > 0 {
		m.rows(t)
	}
}

// checks writes each check's answer, and below the table the evidence.
func (m *markdown) checks(r *Result) {
	m.table(checkTable(r))
	m.filled(promiseTable(r))
	for _, t := range convictionTables(r) {
		m.table(t)
	}
	for _, c := range r.Checks {
		if len(c.Evidence) == 0 {
			continue
		}
		m.line(fmt.Sprintf("### Evidence: %s (%s of %s)", escape(c.Name), check.Count(int64(len(c.Evidence))),
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
		m.line(strings.Join(lines, "\n"))
		var meanings []string
		for _, d := range legend(cycles...) {
			meanings = append(meanings, "**"+d.Kind+"** "+d.Meaning)
		}
		if len(meanings) > 0 {
			m.line("In the cycles, " + strings.Join(meanings, "; ") + ".")
		}
	}
}

// stepLines are the steps of a cycle as a list inside an item.
func stepLines(c *check.Cycle) []string {
	var lines []string
	for i, s := range c.Steps {
		lines = append(lines,
			fmt.Sprintf("  %d. **%s**, %s", i+1, escape(s.Name), escape(s.Text)),
			fmt.Sprintf("     - before %s, %s", escape(after(c, i).Name), escape(s.Kind+": "+s.Why)))
	}
	return lines
}

// escape makes text stand as it is in Markdown, also inside a table: text may
// come from a database.
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

// reference is the path of a file as a link has it.
func reference(path string) string {
	link := &url.URL{Path: filepath.ToSlash(path)}
	return strings.NewReplacer("(", "%28", ")", "%29").Replace(link.String())
}
