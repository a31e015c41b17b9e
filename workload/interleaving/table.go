package interleaving

import (
	"fmt"
	"slices"
	"strings"
)

type Matrix []Cell

func (m Matrix) levels() (levels []string) {
	for _, c := range m {
		if !slices.Contains(levels, c.Level) {
			levels = append(levels, c.Level)
		}
	}
	return levels
}

func (m Matrix) cell(level, anomaly string) *Cell {
	for i := range m {
		if m[i].Level == level && m[i].Anomaly == anomaly {
			return &m[i]
		}
	}
	return nil
}

// Broken are the shown cells that the vendor's promise forbids.
func (m Matrix) Broken() []Cell {
	return slices.DeleteFunc(slices.Clone(m), func(c Cell) bool { return !c.Broken })
}

// Unreached are the cells without a result.
func (m Matrix) Unreached() []Cell {
	return slices.DeleteFunc(slices.Clone(m), func(c Cell) bool { return c.Result != NotReached })
}

func (c *Cell) word() string {
	switch {
	case c == nil:
		return ""
	case c.Broken:
		return "SHOWN (!)"
	case c.Result == Shown:
		return "shown"
	case c.Result == NotReached:
		return "not reached"
	case c.How == "old version":
		return "old version"
	case c.How == "blocked":
		return "blocked"
	case strings.HasPrefix(c.How, "blocked, "):
		return "blocked+err"
	default:
		return "error"
	}
}

const legend = `shown: the anomaly came about, SHOWN (!): though the vendor's promise rules it
out; prevented: blocked (a transaction waited for another), error (one was
refused), blocked+err (both), old version (reads gave what was before).`

// Text is the matrix for a terminal of 80 columns, levels as columns.
func (m Matrix) Text() string {
	levels := m.levels()
	if len(levels) == 0 {
		return ""
	}
	const first = 19
	width := min(16, (80-first)/len(levels))
	var b strings.Builder
	b.WriteString(m[0].Database + "\n\n")
	heading(&b, first, width, levels)
	for _, s := range Scripts() {
		line := fmt.Sprintf("%-*s", first, s.Anomaly)
		for _, level := range levels {
			line += fmt.Sprintf("%-*s", width, m.cell(level, s.Anomaly).word())
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	b.WriteString("\n")
	for _, level := range levels {
		fmt.Fprintf(&b, "%s promises %s\n", level, m.cell(level, Scripts()[0].Anomaly).promise())
	}
	b.WriteString("\n" + legend + "\n")
	for _, c := range append(m.Broken(), m.Unreached()...) {
		fmt.Fprintf(&b, "\n%s at %s: %s %s\n", c.Anomaly, c.Level, c.Result, c.How)
		for _, step := range c.Trace {
			b.WriteString("  " + step + "\n")
		}
	}
	return b.String()
}

func (c *Cell) promise() string {
	if c == nil {
		return "what is not known"
	}
	return c.Promise
}

// heading writes the levels' names, long ones word below word.
func heading(b *strings.Builder, first, width int, levels []string) {
	var columns [][]string
	height := 0
	for i, level := range levels {
		var lines []string
		room := width - 1 // a blank is between columns
		if i == len(levels)-1 {
			room = width
		}
		for word := range strings.FieldsSeq(level) {
			if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= room {
				lines[last] += " " + word
			} else {
				lines = append(lines, word[:min(len(word), room)])
			}
		}
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	for i := range height {
		line := strings.Repeat(" ", first)
		for _, lines := range columns {
			word := ""
			if i < len(lines) {
				word = lines[i]
			}
			line += fmt.Sprintf("%-*s", width, word)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// Markdown is the matrix as a Markdown table.
func (m Matrix) Markdown() string {
	levels := m.levels()
	if len(levels) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n| Anomaly | %s |\n|---%s|\n", m[0].Database, strings.Join(levels, " | "), strings.Repeat("|---", len(levels)))
	row := func(head string, cell func(level string) string) {
		b.WriteString("| " + head)
		for _, level := range levels {
			b.WriteString(" | " + cell(level))
		}
		b.WriteString(" |\n")
	}
	row("promise", func(level string) string { return m.cell(level, Scripts()[0].Anomaly).promise() })
	for _, s := range Scripts() {
		row(fmt.Sprintf("%s, %s", s.Anomaly, s.Title), func(level string) string {
			c := m.cell(level, s.Anomaly)
			switch {
			case c == nil:
				return ""
			case c.Broken:
				return "**shown against the promise**"
			case c.Result == Prevented:
				return c.How
			default:
				return "**" + string(c.Result) + "**"
			}
		})
	}
	return b.String()
}
