package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/check"
	"assay/history/exchange"
	"assay/internal/expect"
	"assay/report"
	"assay/runner/histories"
	"assay/workload/isolation"
)

func reproduced(t *testing.T, path string, o ReproOptions) (Reproduction, string, error) {
	t.Helper()
	o.Format, o.Timeout = exchange.EDN, time.Minute
	o.Out = filepath.Join(t.TempDir(), "repro.edn")
	r, err := Reproduce(t.Context(), path, o)
	text, readErr := os.ReadFile(o.Out)
	if (err == nil) != (readErr == nil) {
		t.Fatalf("error %v, and reading what was written: %v", err, readErr)
	}
	return r, string(text), err
}

// TestSmallestHistoriesOfSeededBugs: for each isolation bug of the database in memory the smallest
// history is written, violated and small. It prints the sizes.
func TestSmallestHistoriesOfSeededBugs(t *testing.T) {
	var (
		mu  sync.Mutex
		all []int
	)
	t.Run("each", func(t *testing.T) {
		for _, bug := range bugsOf(isolation.Name) {
			if bug.Check != "isolation" {
				continue
			}
			t.Run(bug.Name, func(t *testing.T) {
				t.Parallel()
				if n := smallestOf(t, &trial{workload: isolation.Name, test: bug.Tests[0], bug: bug}); n > 0 {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, n)
				}
			})
		}
	})
	slices.Sort(all)
	if len(all) < 6 || all[len(all)/2] > 4 {
		t.Errorf("sizes %v: want a median of at most 4", all)
	}
}

// smallestOf returns the size of the smallest history of a bug's run; 0 if it did not strike.
func smallestOf(t *testing.T, x *trial) int {
	out := carryOut(t, trustScenario(t, x, 1, 200))
	r, text, err := reproduced(t, out.Folder, ReproOptions{})
	if out.Result.Verdict != check.Violated {
		if !is[*NothingError](err) || !strings.Contains(err.Error(), "nothing to reproduce") {
			t.Errorf("the run is %v, and repro says %v", out.Result.Verdict, err)
		}
		return 0
	}
	expect.NoError(t, err)
	n := len(r.Evidence.Smallest.Operations)
	if lines := strings.Count(text, ":type :invoke"); lines != n {
		t.Errorf("%d operations are written of %d", lines, n)
	}
	t.Logf("%d of %d show %s", n, r.Evidence.Smallest.Of, r.Evidence.Kind)
	return n
}

// TestReproduceBank: a wrong total has a history of one read. A lost transfer has none, and is
// named.
func TestReproduceBank(t *testing.T) {
	t.Parallel()
	scenario := func(bug string) Scenario {
		s := dry("mem://?bug="+bug+":0.2", 1)
		s.Load.Ops = 200
		return s
	}
	out := carryOut(t, scenario("torn-transfer"))
	r, text, err := reproduced(t, out.Folder, ReproOptions{})
	expect.NoError(t, err)
	if r.Kind != "bank" || r.Evidence.Kind != "total" || len(r.Evidence.Smallest.Operations) != 1 || !slices.Contains(r.Arguments, "--total") {
		t.Errorf("%+v\n%s", r, text)
	}
	out = carryOut(t, scenario("lost-ack"))
	_, _, err = reproduced(t, out.Folder, ReproOptions{})
	if !is[*NothingError](err) || !strings.Contains(err.Error(), "has no smaller history") || !strings.Contains(err.Error(), "transfers: transfer") {
		t.Errorf("a lost transfer: %v", err)
	}
	out = carryOut(t, small("mem://", 1, 100))
	if _, _, err = reproduced(t, out.Folder, ReproOptions{}); err == nil || !strings.Contains(err.Error(), "nothing to reproduce") {
		t.Errorf("an honest bank: %v", err)
	}
	for _, o := range []histories.Options{{Model: "serializable"}, {Initial: "0"}} {
		if _, _, err = reproduced(t, out.Folder, ReproOptions{Options: o}); !is[*report.InputError](err) {
			t.Errorf("a bank with %+v: %v", o, err)
		}
	}
}

// wrongRegisters are histories of one register, with the number of operations that are needed.
var wrongRegisters = []struct {
	name, anomaly, text string
	needed              int
}{
	{"stale read", "stale-read", "w1 w2 r2 w3 r3 r2 r2", 4},
	{"garbage", "garbage-read", "w1 r1 w2 r9 r2", 1},
	{"written twice", "stale-read", "w1 w2 w1 r1 r2 w4 r4", 5},
}

// TestReproduceRegisters: the needed operations stay, and no write of a value written twice is
// dropped.
func TestReproduceRegisters(t *testing.T) {
	t.Parallel()
	for _, test := range wrongRegisters {
		path := filepath.Join(t.TempDir(), "register.edn")
		put(t, path, oneAfterTheOther(test.text))
		r, text, err := reproduced(t, path, ReproOptions{})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if n := len(r.Evidence.Smallest.Operations); n > test.needed || !r.Evidence.Smallest.Minimal {
			t.Errorf("%s: %d operations, want %d: %s", test.name, n, test.needed, text)
		}
	}
}

// oneAfterTheOther is a history of one process, such as w1 r1.
func oneAfterTheOther(text string) string {
	var b strings.Builder
	for _, w := range strings.Fields(text) {
		f, asked := "write", w[1:]
		if w[0] == 'r' {
			f, asked = "read", "nil"
		}
		fmt.Fprintf(&b, "{:type :invoke, :process 0, :f :%s, :value %s}\n{:type :ok, :process 0, :f :%s, :value %s}\n", f, asked, f, w[1:])
	}
	return b.String()
}

// TestReproduceInterrupted: an interrupt leaves no file.
func TestReproduceInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register.edn")
	put(t, path, oneAfterTheOther(strings.Repeat("w1 w2 r1 ", 200)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(t.TempDir(), "repro.edn")
	_, err := Reproduce(ctx, path, ReproOptions{Options: histories.Options{Timeout: time.Minute}, Out: out, Format: exchange.EDN})
	if err == nil {
		t.Error("an interrupted search says that it has written a history")
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an interrupted search left a file: %v", err)
	}
}
