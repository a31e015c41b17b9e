package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"assay/history"
	"assay/internal/expect"
	"assay/report"
)

// terminal is a program on a terminal of its own.
type terminal struct {
	cmd    *exec.Cmd
	file   *os.File
	seen   buffer
	done   chan struct{}
	before unix.Termios
	t      *testing.T
}

// onTerminal starts the program on a terminal of 80 columns.
func onTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	file, side, err := pty.Open()
	expect.NoError(t, err)
	defer side.Close()
	x := &terminal{cmd: exec.Command(watched, args...), file: file, done: make(chan struct{}), t: t}
	x.cmd.Dir = t.TempDir()
	x.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + temporary(t), "TERM=xterm-256color"}, env...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = side, side, side
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x.before = modes(t, file)
	expect.NoError(t, pty.Setsize(file, &pty.Winsize{Rows: 24, Cols: 80}))
	expect.NoError(t, x.cmd.Start())
	go func() {
		defer close(x.done)
		text := make([]byte, 4096)
		for {
			n, err := file.Read(text)
			_, _ = x.seen.Write(text[:n]) // a buffer takes everything
			if err != nil {
				return // EIO: the program has closed its side
			}
		}
	}()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill() // fails if it has ended
		_ = file.Close()
	})
	return x
}

func modes(t *testing.T, file *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	expect.NoError(t, err)
	return *m
}

func (x *terminal) until(text string) {
	x.t.Helper()
	for deadline := time.Now().Add(patience); !strings.Contains(x.seen.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("no %q on the terminal: %q", text, x.seen.String())
		}
	}
}

// end waits for the end, and wants the terminal as it was: no mode is changed, no other
// screen is left open, and the cursor is to be seen.
func (x *terminal) end() (code int, text string) {
	x.t.Helper()
	_ = x.cmd.Wait() // its code is looked at
	now := modes(x.t, x.file)
	<-x.done
	text = x.seen.String()
	if now != x.before {
		x.t.Errorf("the terminal's modes were %+v and are %+v", x.before, now)
	}
	if strings.Contains(text, "\x1b[?1049h") || strings.Contains(text, "\x1b[?2004h") {
		x.t.Errorf("another screen or mode was left: %q", text)
	}
	if strings.LastIndex(text, "\x1b[?25l") > strings.LastIndex(text, "\x1b[?25h") {
		x.t.Errorf("the cursor is hidden: %q", text)
	}
	return x.cmd.ProcessState.ExitCode(), text
}

// TestScreen: a terminal shows one screen, which is gone when the summary comes, and
// the keys that end a program end it in order.
func TestScreen(t *testing.T) {
	t.Parallel()
	long := []string{"run", "bank", "--db", "mem://?latency=1ms", "--duration", "1h", "--warmup", "0s", "--out", "run"}
	for name, end := range map[string]func(x *terminal){
		"Ctrl-C":  func(x *terminal) { _, _ = x.file.WriteString("\x03") },
		"SIGTERM": func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		x := onTerminal(t, nil, long...)
		x.until("outcomes")
		x.until("█ = ")
		end(x)
		code, text := x.end()
		if code != exitNoVerdict || !strings.Contains(text, "ending in order") || strings.Contains(text, "elapsed") {
			t.Errorf("%s: exit %d, %q", name, code, text)
		}
		if _, after, found := strings.Cut(text, "verdict       "); !found || !strings.Contains(after, "run/report.html") || strings.Contains(after, "outcomes") {
			t.Errorf("%s: the summary is not the last: %q", name, text)
		}
	}
	killed := onTerminal(t, nil, long...)
	killed.until("outcomes")
	expect.NoError(t, killed.cmd.Process.Kill())
	killed.end()
}

// TestScreenOfASeries says which run it is; what each found stays above.
func TestScreenOfASeries(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{"NO_COLOR=1"}, "run", "bank", "--db", "mem://", "--ops", "300", "--accounts", "100", "--clients", "1,2", "--out", "series")
	_, text := x.end()
	expect.Text(t, "the terminal", text, "run 1 of 2, clients=1, repeat 1", "run 2 of 2, clients=2, repeat 1", "bank: valid", "series/report.html")
	if strings.Contains(text, "\x1b[33m") || strings.Contains(text, "\x1b[31m") {
		t.Errorf("colors in spite of NO_COLOR: %q", text)
	}
}

// TestNoScreen: lines are shown where they are asked for, or nothing else can be.
func TestNoScreen(t *testing.T) {
	t.Parallel()
	short := []string{"run", "bank", "--db", "mem://?latency=1ms", "--duration", "2500ms", "--warmup", "0s", "--out", "run"}
	for name, x := range map[string]*terminal{
		"--plain": onTerminal(t, nil, append(short, "--plain")...), "dumb": onTerminal(t, []string{"TERM=dumb"}, short...),
	} {
		if _, text := x.end(); !strings.Contains(text, working) || strings.Contains(text, "\x1b[A") || strings.Contains(text, "outcomes  ") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestScreenFits any terminal: no line is wider, and there are no more lines than it
// has.
func TestScreenFits(t *testing.T) {
	now := time.Unix(1000, 0)
	live := report.Live{Workload: "bank", Database: "PostgreSQL 15.4 (Debian 15.4-1) on a host with a long name", Stage: strings.Repeat("working ", 20), StageBegan: now,
		Elapsed: 125, Warmup: 5, Duration: 300, Measuring: true, PerSecond: 123456, Outcomes: history.Counts{Committed: 123456789, Unknown: 4},
		Nodes: []string{"n1", "n2", "n3"}}
	for i := range 240 {
		live.Points = append(live.Points, report.LivePoint{Second: float64(i), PerSecond: float64(i), P50: 1, P99: float64(240 - i)})
	}
	for i := range 20 {
		live.Faults = append(live.Faults, report.LiveFault{Text: "kill primary", Nodes: []string{"n2"}, Injected: float64(i), Healed: float64(i) - 19})
	}
	for width := 10; width <= 200; width += 5 {
		for _, height := range []int{1, 5, 12, 23, 60} {
			lines := drawStatus(&live, "run 3 of 10, clients=16, about 4m0s left", width, height, now)
			if len(lines) > height {
				t.Errorf("%d lines in %d", len(lines), height)
			}
			for _, line := range lines {
				for _, code := range []string{"\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"} {
					line = strings.ReplaceAll(line, code, "")
				}
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%d columns in %d: %q", n, width, line)
				}
			}
		}
	}
	whole := strings.Join(drawStatus(&live, "run 3 of 10", 80, 23, now), "\n")
	expect.Text(t, "the screen", whole, "bank on PostgreSQL", "run 3 of 10", " 41 %  2m5s  3m0s left", "239 now, 123,456 over all, measuring", "p99 1.0ms", "unknown 4", "n1 ok  n2 KILL  n3 ok", "19.0 s: kill primary n2")
	expect.Text(t, "while loading", strings.Join(drawStatus(&report.Live{Workload: "bank", Stage: "loading", StageBegan: now.Add(-10 * time.Second), Rows: 250, TotalRows: 1000}, "", 80, 23, now), "\n"), "25 %  10s  250 of 1,000 rows  30s left")
}
