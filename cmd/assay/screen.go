package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
	"assay/runner"
)

// screen shows a run on a terminal in a few lines redrawn in place. It reads no input, changes no
// terminal mode, hides no cursor and needs no alternate screen, so that nothing must be restored
// after a crash. Writes to standard error appear above it.
type screen struct {
	silence
	out         *output
	status      *runner.Status
	stop, ended chan struct{}

	mu      sync.Mutex
	heading string
	drawn   int // lines on the terminal, the cursor is below the last
	closed  bool
	once    sync.Once
}

// progress is a screen, with its status, if there is a terminal and lines are not asked for.
func (f *runFlags) progress(stderr io.Writer) (closingProgress, *runner.Status) {
	if s := f.screen(stderr); s != nil {
		return s, s.status
	}
	return newProgress(stderr, f.quiet), nil
}

// screen is nil if there is to be none.
func (f *runFlags) screen(stderr io.Writer) *screen {
	out, ours := stderr.(*output)
	kind := os.Getenv("TERM")
	if !ours || !isTerminal(stderr) || f.plain || f.quiet || kind == "" || kind == "dumb" {
		return nil
	}
	s := &screen{silence: silence{stderr}, out: out, status: &runner.Status{}, stop: make(chan struct{}), ended: make(chan struct{})}
	out.screen.Store(s)
	go s.follow()
	return s
}

const screenTick = 250 * time.Millisecond

func (s *screen) follow() {
	defer close(s.ended)
	ticker := time.NewTicker(screenTick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.print("")
		case <-s.stop:
			return
		}
	}
}

func (s *screen) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	if s.drawn > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA\x1b[J", s.drawn) // up, and clear all below
	}
	if text = strings.TrimRight(text, "\n"); text != "" {
		b.WriteString(text + "\n")
	}
	s.drawn = 0
	if !s.closed {
		width, height, err := term.GetSize(int(s.out.Fd()))
		if err != nil {
			width, height = textWidth(s.out), 24
		}
		live := s.status.Live()
		for _, line := range drawStatus(&live, s.heading, width, height-1, time.Now()) {
			b.WriteString(line + "\n")
			s.drawn++
		}
	}
	_, _ = io.WriteString(s.out.file, b.String()) // the terminal may be gone
}

func (s *screen) head(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heading = text
}

func (s *screen) close() {
	s.once.Do(func() {
		close(s.stop)
		<-s.ended
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.print("")
		s.out.screen.Store(nil)
	})
}

// Longer lines, in columns, are hard to read.
const maxScreenWidth = 110

// drawStatus lays out a run in at most height lines of width columns, and leaves out the least
// important first. heading is about the series.
func drawStatus(l *report.Live, heading string, width, height int, now time.Time) []string {
	width = max(min(width, maxScreenWidth), 10)
	if l.Stage == "" {
		return nil
	}
	title := l.Workload
	if l.Database != "" {
		title += " on " + l.Database
	}
	lines := []string{emphasis("1", cut(title, width))}
	if heading != "" {
		lines = append(lines, cut(heading, width))
	}
	lines = append(lines, cut(l.Stage, width), cut(progressLine(l, width, now), width))
	if len(l.Points) > 0 {
		lines = append(lines, figureLines(l, width)...)
	}
	if len(l.Nodes) > 0 {
		lines = append(lines, nodesLine(l, width))
	}
	for _, f := range slices.Backward(l.Faults) {
		lines = append(lines, faultLine(f, width))
	}
	return lines[:max(min(len(lines), height), 1)]
}

// progressLine has the time left only if it is known.
func progressLine(l *report.Live, width int, now time.Time) string {
	took := now.Sub(l.StageBegan)
	if l.Elapsed > 0 {
		took = time.Duration(l.Elapsed * float64(time.Second))
	}
	share, known := l.Share()
	if !known {
		return "for " + toSecond(took)
	}
	text := fmt.Sprintf(" %3.0f %%  %s", 100*share, toSecond(took))
	if l.Elapsed <= 0 && l.TotalRows > 0 && width >= 60 {
		text += fmt.Sprintf("  %s of %s rows", check.Count(l.Rows), check.Count(l.TotalRows))
	}
	left, known := l.Left()
	if !known && share > 0 {
		left, known = time.Duration(float64(took)*(1-share)/share), true
	}
	if known {
		text += "  " + toSecond(left) + " left"
	}
	return barOf(share, min(max(width-utf8.RuneCountInString(text), 0), 40)) + text
}

func barOf(share float64, width int) string {
	done := int(min(share, 1) * float64(width))
	return strings.Repeat("█", done) + strings.Repeat("░", width-done)
}

func toSecond(d time.Duration) string { return d.Round(time.Second).String() }

func figureLines(l *report.Live, width int) []string {
	var rates, times []float64
	for _, p := range l.Points {
		rates, times = append(rates, p.PerSecond), append(times, p.P99)
	}
	latest := l.Points[len(l.Points)-1]
	course := func(name string, values []float64, format func(float64) string) string {
		drawn, top := report.Sparkline(values, max(width-34, 8))
		if drawn == "" {
			return ""
		}
		return cut(fmt.Sprintf("%-14s%s  █ = %s", name, drawn, format(top)), width)
	}
	phase := "warm-up"
	if l.Measuring {
		phase = "measuring"
	}
	if l.Elapsed < 0 {
		phase = "work is done"
	}
	lines := []string{"",
		cut(fmt.Sprintf("%-14s%s now, %s over all, %s", "committed/s", quantity.Figure(latest.PerSecond), quantity.Figure(l.PerSecond), phase), width),
		course("", rates, func(v float64) string { return quantity.Figure(v) + "/s" }),
		cut(fmt.Sprintf("%-14sp50 %s  p99 %s  longest %s", "response time", short(latest.P50), short(latest.P99), short(l.Latency.Max)), width),
		course("  p99", times, quantity.Milliseconds),
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" })
	o := l.Outcomes
	outcomes := cut(fmt.Sprintf("%-14scommitted %s  rejected %s  failed %s  unknown %s", "outcomes", check.Count(o.Committed), check.Count(o.Rejected), check.Count(o.Failed), check.Count(o.Unknown)), width)
	if o.Failed+o.Unknown > 0 {
		outcomes = emphasis("33", outcomes)
	}
	return append(lines, outcomes)
}

func nodesLine(l *report.Live, width int) string {
	var parts []string
	hurt := false
	for _, n := range l.Nodes {
		state := "ok"
		for _, f := range l.Faults {
			if f.Healed < 0 && slices.Contains(f.Nodes, n) {
				state, hurt = strings.ToUpper(strings.Fields(f.Text)[0]), true
			}
		}
		parts = append(parts, n+" "+state)
	}
	line := cut(fmt.Sprintf("%-14s%s", "nodes", strings.Join(parts, "  ")), width)
	if hurt {
		return emphasis("31", line)
	}
	return line
}

func faultLine(f report.LiveFault, width int) string {
	end := "in effect"
	if f.Healed >= 0 {
		end = fmt.Sprintf("healed at %.1f s", f.Healed)
	}
	return cut(fmt.Sprintf("%-14s%.1f s: %s %s, %s", "fault", f.Injected, f.Text, strings.Join(f.Nodes, ", "), end), width)
}

func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}

// emphasis sets a line's attribute (1 bold, 31 red, 33 yellow), unless NO_COLOR is set.
func emphasis(attribute, line string) string {
	if attribute != "1" && os.Getenv("NO_COLOR") != "" {
		return line
	}
	return "\x1b[" + attribute + "m" + line + "\x1b[0m"
}
