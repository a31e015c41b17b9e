package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"assay/measure"
	"assay/runner"
)

// progress shows on standard error how a run goes: a bar while rows are
// loaded or read if it is a terminal, else a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	bar      *progressbar.ProgressBar
	began    time.Time
	shown    time.Time
	last     time.Duration // when the latest line of work was shown
	headed   bool
	warming  bool // the latest line was of the warm-up
}

// silence is the progress of --quiet; what the user must know is still shown.
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
	return &progress{out: out, terminal: isTerminal(out)}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(descriptor)
	return ok && term.IsTerminal(int(file.Fd()))
}

// reading shows on a terminal how far a history of another tool was read. A small
// one shows nothing. The nil value shows nothing either.
type reading struct {
	out   io.Writer
	began time.Time
	mu    sync.Mutex // what reads the file may still be at it when all is over
	bar   *progressbar.ProgressBar
	shown bool
	over  bool
}

// Write shows what the bar draws, but for what comes early.
func (r *reading) Write(p []byte) (int, error) {
	if time.Since(r.began) < barAfter {
		return len(p), nil
	}
	r.shown = true
	return r.out.Write(p)
}

// newReading returns nil where nothing is to be shown: if out is no terminal, so
// that files and pipes stay free of it.
func newReading(out io.Writer, quiet bool) *reading {
	if quiet || !isTerminal(out) {
		return nil
	}
	return &reading{out: out, began: time.Now()}
}

// show takes how many bytes were read, of how many; 0 if nobody knows.
func (r *reading) show(done, total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
	case total > 0 && done >= total:
		if r.finish(); r.shown {
			fmt.Fprintln(r.out, "the history was read, and is judged")
		}
		r.over = true
	default:
		if r.bar == nil {
			r.bar = newBar(r, total, progressbar.OptionShowCount(), progressbar.OptionShowBytes(true), progressbar.OptionUseIECUnits(true))
		}
		_ = r.bar.Set64(done) // a bar that cannot be drawn is no reason to end
	}
}

// close ends the display.
func (r *reading) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finish()
	r.over = true
}

func (r *reading) finish() {
	if r.bar != nil {
		_ = r.bar.Finish() // as above
		r.bar = nil
	}
}

// textWidth is how many columns the summary may have.
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

// wrapped breaks a text behind a head between words into lines of at most width columns;
// the second and later ones begin with indent. A longer word has a line of its own.
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

// barAfter keeps short stages free of a bar that would only flash.
const barAfter = 300 * time.Millisecond

func (p *progress) Rows(done, total int64) {
	if time.Since(p.began) < barAfter {
		return
	}
	if p.terminal {
		p.showBar(done, total)
		return
	}
	if time.Since(p.shown) < 2*time.Second {
		return
	}
	p.shown = time.Now()
	rate := float64(done) / time.Since(p.began).Seconds()
	if total <= 0 {
		fmt.Fprintf(p.out, "  %d rows, %.0f/s\n", done, rate)
		return
	}
	left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
	fmt.Fprintf(p.out, "  %d of %d (%d%%), %.0f/s, %v left\n", done, total, 100*done/total, rate, left)
}

func (p *progress) showBar(done, total int64) {
	if p.bar == nil {
		p.bar = newBar(p.out, total, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"))
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to end
}

// newBar returns a bar that clears itself at the end; total is at most 0 if nobody
// knows it.
func newBar(out io.Writer, total int64, what ...progressbar.Option) *progressbar.ProgressBar {
	if total <= 0 {
		total = -1
	}
	return progressbar.NewOptions64(total, append(what, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish())...)
}

// Working prints one line a second: sysbench's habit, with percentiles. It is
// narrow enough for a terminal of 80 columns.
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

func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Finish() // as above
		p.bar = nil
	}
}
