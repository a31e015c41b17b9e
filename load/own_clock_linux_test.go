package load

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

const envStopped = "ASSAY_TEST_STOPPED"

// TestMain is the process that a test stops and lets go on.
func TestMain(m *testing.M) {
	if os.Getenv(envStopped) == "" {
		os.Exit(m.Run())
	}
	if err := workUntilStopped(); err != nil {
		os.Exit(1)
	}
}

// loopPlans are a plan for each way in which clients are driven.
func loopPlans() []Plan {
	return []Plan{
		plan(func(p *Plan) { p.Duration = time.Minute }),
		plan(func(p *Plan) { p.Duration, p.Rate, p.Arrivals = time.Minute, 100, Uniform }),
		plan(func(p *Plan) { p.Duration, p.Clients, p.Sequential = time.Minute, 16, true }),
	}
}

// stallTape tells of the first stall.
type stallTape struct {
	tape
	once  sync.Once
	found chan history.Event
}

func (s *stallTape) Mark(e history.Event) error {
	if e.Name == history.EventStalled {
		s.once.Do(func() { s.found <- e })
	}
	return nil
}

// workUntilStopped works all plans until each has recorded that the process did not run, and
// prints these records.
func workUntilStopped() error {
	out := json.NewEncoder(os.Stdout)
	found := make(chan history.Event)
	for _, p := range loopPlans() {
		var clients []Client
		for range p.Clients {
			clients = append(clients, &scripted{answer: func(context.Context, uint64, int) Answer {
				time.Sleep(time.Millisecond)
				return Answer{Outcome: history.Committed}
			}})
		}
		start := time.Now()
		go func() {
			_, _ = Run(context.Background(), p, clients, &stallTape{found: found}, func() int64 { return int64(time.Since(start)) }) // the process ends before it does
		}()
	}
	if err := out.Encode("at work"); err != nil {
		return err
	}
	for range loopPlans() {
		if err := out.Encode(<-found); err != nil {
			return err
		}
	}
	return nil
}

// A process that was stopped knows it, whatever loop its clients are in.
func TestAStoppedProcessKnowsIt(t *testing.T) {
	own, err := os.Executable()
	expect.NoError(t, err)
	c := exec.CommandContext(t.Context(), own)
	c.Env = append(os.Environ(), envStopped+"=1")
	pipe, err := c.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := bufio.NewScanner(pipe)
	if !lines.Scan() || !strings.Contains(lines.Text(), "at work") {
		t.Fatalf("it said %q", lines.Text())
	}
	time.Sleep(100 * time.Millisecond) // the clocks have begun
	expect.NoError(t, c.Process.Signal(syscall.SIGSTOP))
	time.Sleep(10 * leastStall)
	expect.NoError(t, c.Process.Signal(syscall.SIGCONT))
	for range loopPlans() {
		var e history.Event
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &e) != nil {
			t.Fatalf("it said %q", lines.Text())
		}
		if s, is, err := history.StallOf(e); err != nil || !is || s.To <= s.From {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
