package main

import (
	"fmt"
	"io"
	"strings"
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
	file, ok := out.(descriptor)
	return &progress{out: out, terminal: ok && term.IsTerminal(int(file.Fd()))}
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
	fmt.Fprintln(p.out, wrapped("note: "+text, textWidth(p.out), "      "))
}

// wrapped breaks a text between words into lines of at most width columns; the
// second and later ones begin with indent. A longer word has a line of its own.
func wrapped(text string, width int, indent string) string {
	var out strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column > 0 && column+1+n > width:
			out.WriteString("\n" + indent)
			column = len(indent)
		case column > 0:
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
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.out), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"), progressbar.OptionSetWidth(24),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish())
	}
	_ = p.bar.Set64(done) // a bar that cannot be drawn is no reason to end
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
