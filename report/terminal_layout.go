package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// labelWidth is the column at which values start.
const labelWidth = 14

// textWriter writes labels, each with values beside it, wrapped at the width.
type textWriter struct {
	b     strings.Builder
	width int
	// complete names the place that holds everything.
	complete string
	explain  bool
}

func newTextWriter(o TextOptions) *textWriter {
	t := &textWriter{width: max(72, o.Width), explain: o.Explain, complete: "the report"}
	if o.Width == 0 {
		t.width = 80
	}
	return t
}

func (t *textWriter) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, strings.ReplaceAll(t.b.String(), nbsp, " ")); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func (t *textWriter) line(text string) {
	for _, part := range wrap(plain(text), t.width) {
		t.b.WriteString(part + "\n")
	}
}

func (t *textWriter) gap() { t.b.WriteByte('\n') }

// field leaves out empty values.
func (t *textWriter) field(label string, values ...string) {
	for _, value := range values {
		if value != "" {
			t.block(pad(plain(label), labelWidth), "", value)
			label = ""
		}
	}
}

// item writes text under the values, wrapped behind its own start.
func (t *textWriter) item(start, text string) { t.block(pad("", labelWidth), "  "+start, text) }

// block writes a label, a head, and text behind the head, or below if it has no room.
func (t *textWriter) block(label, head, text string) {
	head, text = plain(head), plain(text)
	before := utf8.RuneCountInString(label)
	indent := before + utf8.RuneCountInString(head)
	if text == "" || t.width-indent < (t.width-before)/2 {
		text, head = head+text, ""
		indent = before
	}
	t.b.WriteString(label + head + strings.Join(wrap(text, t.width-indent), "\n"+strings.Repeat(" ", indent)) + "\n")
}

// widest bounds all columns but the first; any figure fits.
const widest = 26

// table aligns figures right. Too wide a first column is wrapped or, with Cut, cut.
func (t *textWriter) table(tb Table) {
	if tb.Drawn != "" {
		t.gap()
		t.b.WriteString(strings.TrimRight(tb.Drawn, "\n") + "\n")
		return
	}
	lines := [][]string{tb.fitted(tb.Head)}
	for _, row := range tb.Rows {
		lines = append(lines, tb.fitted(row))
	}
	widths := make([]int, len(tb.Head))
	widths[0] = labelWidth - 2
	for _, row := range lines {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rest := 0
	for _, width := range widths[1:] {
		rest += width + 2
	}
	if room := t.width - rest; len(tb.Wide) > 0 && widths[0] > room && room < t.width/2 {
		t.table(tb.narrow())
		return
	}
	widths[0] = max(labelWidth-2, min(widths[0], t.width-rest))
	t.gap()
	for _, row := range lines {
		parts := wrap(row[0], widths[0])
		if tb.Cut && len(parts) > 1 {
			parts = []string{shortened(row[0], widths[0])}
		}
		for j, first := range parts {
			line := pad(first, widths[0])
			for k, cell := range row[1:] {
				if j > 0 {
					break
				}
				line += "  " + align(cell, widths[k+1], tb.Left(k+1))
			}
			t.b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
}

// fitted makes a row's cells plain, and cuts words that push figures off the line.
func (t Table) fitted(row []string) []string {
	cells := make([]string, len(row))
	for i, cell := range row {
		cells[i] = plain(cell)
		if runes := []rune(cells[i]); i > 0 && !t.Whole && len(runes) > widest {
			cells[i] = string(runes[:widest-1]) + "…"
		}
	}
	return cells
}

// shortened ends a cut text with an ellipsis. A short rest behind its last colon stays, since it
// says which figure the row has.
func shortened(text string, width int) string {
	runes := []rune(text)
	tail := ""
	if i := strings.LastIndex(text, ": "); i >= 0 && len(text)-i < width/2 && len(text)-i < 8 {
		tail = text[i:]
	}
	return string(runes[:max(0, width-1-utf8.RuneCountInString(tail))]) + "…" + tail
}

// Folded is text behind a label, at 80 columns: what finds no room goes on below where the text starts.
func Folded(label, text string) string {
	indent := utf8.RuneCountInString(label)
	return label + strings.ReplaceAll(strings.Join(wrap(plain(text), pageWidth-indent), "\n"+strings.Repeat(" ", indent)), nbsp, " ")
}

func pad(text string, width int) string { return align(text, width, true) }

func align(text string, width int, left bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if left {
		return text + space
	}
	return space + text
}

// wrap breaks text at spaces into lines of at most width characters, and words longer than a
// line. It returns at least one line.
func wrap(text string, width int) []string {
	width = max(1, width)
	var lines []string
	runes := []rune(strings.TrimRight(text, " "))
	for len(runes) > width {
		at := width
		for at > 0 && runes[at] != ' ' {
			at--
		}
		if at == 0 {
			at = width
		}
		lines = append(lines, strings.TrimRight(string(runes[:at]), " "))
		for at < len(runes) && runes[at] == ' ' {
			at++
		}
		runes = runes[at:]
	}
	return append(lines, string(runes))
}
