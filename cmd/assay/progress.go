package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"assay/check"
	"assay/internal/quantity"
	"assay/measure"
	"assay/runner"
)

// progress shows a run on standard error: on a terminal a bar while rows are loaded or read,
// otherwise a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	bar      bar
	began    time.Time
	shown    time.Time
	last     time.Duration // when the latest line of work was shown
	headed   bool
	warming  bool // the latest line was of the warm-up
}

// silence is the progress of --quiet; it still shows what the user must know.
type silence struct{ out io.Writer }

func (silence) Stage(string)                                  {}
func (silence) Rows(int64, int64)                             {}
func (silence) Working(time.Duration, bool, measure.Snapshot) {}
func (s silence) Note(text string)                            { fmt.Fprintln(s.out, "note:", text) }
func (silence) close()                                        {}

type closingProgress interface {
	runner.Progress
	close()
}

func newProgress(out io.Writer, quiet bool) closingProgress {
	if quiet {
		return silence{out}
	}
	return &progress{out: out, terminal: isTerminal(out), bar: bar{out: out}}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(descriptor)
	return ok && term.IsTerminal(int(file.Fd()))
}

type bar struct {
	out   io.Writer
	drawn time.Time
	width int // of what stands there
}

// draw shows how much is done since began. total is at most 0 if unknown.
func (b *bar) draw(done, total int64, began time.Time, format func(int64) string) {
	if time.Since(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = time.Now()
	line := doneOf(done, total, time.Since(began), format)
	if total > 0 {
		line = barOf(float64(done)/float64(total), 24) + " " + line
	}
	b.put(line)
}

func (b *bar) put(line string) {
	width := utf8.RuneCountInString(line)
	fmt.Fprintf(b.out, "\r%s%*s", line, max(b.width-width, 0), "")
	b.width = width
}

// clear removes the bar, and reports whether there was one.
func (b *bar) clear() bool {
	shown := b.width > 0
	if shown {
		b.put("")
		fmt.Fprint(b.out, "\r")
	}
	b.drawn = time.Time{}
	return shown
}

func doneOf(done, total int64, took time.Duration, format func(int64) string) string {
	rate := float64(done) / took.Seconds()
	if total <= 0 {
		return fmt.Sprintf("%s so far, %s/s", format(done), format(int64(rate)))
	}
	left := time.Duration(float64(total-done) / max(rate, 1e-9) * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%s of %s (%d%%), %s/s, %v left", format(done), format(total), 100*done/total, format(int64(rate)), left)
}

// reading shows on a terminal how far a large history was read. A nil reading shows nothing.
type reading struct {
	began time.Time
	mu    sync.Mutex // what reads the file may still be at it when all is over
	bar   bar
	over  bool
}

// newReading returns nil if out is no terminal, to keep files and pipes clean.
func newReading(out io.Writer, quiet bool) *reading {
	if quiet || !isTerminal(out) {
		return nil
	}
	return &reading{bar: bar{out: out}, began: time.Now()}
}

// show takes bytes; total is 0 if unknown.
func (r *reading) show(done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
	case total > 0 && done >= total:
		if r.bar.clear() {
			fmt.Fprintln(r.bar.out, "the history was read, and is judged")
		}
		r.over = true
	case time.Since(r.began) >= barAfter:
		r.bar.draw(done, total, r.began, quantity.Bytes)
	}
}

func (r *reading) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bar.clear()
	r.over = true
}

// textWidth is the width of the summary in columns.
func textWidth(out io.Writer) int {
	if file, ok := out.(descriptor); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return min(width, 120)
		}
	}
	return 80
}

func (p *progress) Stage(text string) {
	p.close()
	p.began, p.shown, p.last, p.headed, p.warming = time.Now(), time.Now(), 0, false, false
	fmt.Fprintln(p.out, text)
}

func (p *progress) Note(text string) {
	p.close()
	fmt.Fprintln(p.out, wrapped("", "note: "+text, textWidth(p.out), "      "))
}

// wrapped breaks a text behind a head into lines of at most width columns, indented from the
// second on. A longer word has its own line.
func wrapped(head, text string, width int, indent string) string {
	var out strings.Builder
	out.WriteString(head)
	column := utf8.RuneCountInString(head)
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && column+1+n > width:
			out.WriteString("\n" + indent)
			column = len(indent)
		case i > 0:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

// barAfter keeps short stages free of a flashing bar.
const barAfter = 300 * time.Millisecond

func (p *progress) Rows(done, total int64) {
	if time.Since(p.began) < barAfter {
		return
	}
	if p.terminal {
		p.bar.draw(done, total, p.began, check.Count)
	} else if time.Since(p.shown) >= 2*time.Second {
		p.shown = time.Now()
		fmt.Fprintln(p.out, "  "+doneOf(done, total, time.Since(p.began), check.Count))
	}
}

// Working prints one line a second, like sysbench, with percentiles, in 80 columns.
func (p *progress) Working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	if !p.headed {
		p.headed = true
		fmt.Fprintf(p.out, "%7s %8s %8s %6s %6s %7s %7s %7s %7s %7s\n",
			"elapsed", "now/s", "overall", "reject", "failed", "unknown", "p50", "p95", "p99", "max")
	}
	if p.warming && measuring {
		fmt.Fprintln(p.out, "the warm-up is over, measured from here on")
	}
	p.warming = !measuring
	recent, l := now.Recent, now.RecentLatency
	fmt.Fprintf(p.out, "%6.0fs %8.0f %8.0f %6d %6d %7d %7s %7s %7s %7s\n", elapsed.Seconds(),
		float64(recent.Committed)/(elapsed-p.last).Seconds(), float64(now.Outcomes.Committed)/elapsed.Seconds(),
		recent.Rejected, recent.Failed, recent.Unknown,
		short(l.P50), short(l.P95), short(l.P99), short(l.Max))
	p.last = elapsed
}

// short writes milliseconds in at most seven columns, up to a day.
func short(ms float64) string {
	switch {
	case ms <= 0:
		return "-"
	case ms < 1:
		return fmt.Sprintf("%.0fus", ms*1000)
	case ms < 999.95:
		return fmt.Sprintf("%.1fms", ms)
	default:
		return fmt.Sprintf("%.1fs", ms/1000)
	}
}

func (p *progress) close() { p.bar.clear() }
