package servers

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/internal/quantity"
	"assay/store"
)

// statistics is an account that is as a test wants it.
type statistics struct {
	read   func(ctx context.Context) (store.Reading, error)
	closed chan struct{}
}

func (s *statistics) List() []store.Statistic {
	return []store.Statistic{{Name: "commits", Chart: "Commits", Counter: true}, {Name: "sessions", Chart: "Sessions", Means: store.BusySessions}}
}
func (s *statistics) Read(ctx context.Context) (store.Reading, error) { return s.read(ctx) }
func (s *statistics) Close()                                          { close(s.closed) }

func self() []Source {
	return []Source{{Node: Node{Name: "self", CPUs: 1}, Look: func() (Usage, bool) { return Look([]int{os.Getpid()}, true) }}}
}

// TestTheFileIsBounded: of a run of any length the file has the same counters and the
// means of what is measured at a moment.
func TestTheFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.jsonl")
	f := newFile(path, Sources{Account: &statistics{}})
	f.enter(Node{Name: "n1", CPUs: 1})
	const looks = 5*mostSamples + 7
	for i := range looks {
		s := Sample{At: float64(i), Looks: 1, Nodes: map[string]Usage{"n1": {CPU: float64(i) / 2, Memory: int64(10 + i%2)}},
			Account: &Account{At: float64(i), Reading: store.Reading{Server: "n1", Values: map[string]float64{"commits": float64(3 * i), "sessions": float64(i % 2)}}}}
		if i%100 == 50 {
			s.Account, s.Missed, s.Problem = nil, 1, "no answer in time"
		}
		f.add(s)
	}
	expect.NoError(t, f.close())
	r, err := Read(path)
	expect.NoError(t, err)
	if n := len(r.Samples); n < mostSamples/2 || n > mostSamples {
		t.Errorf("%d samples", n)
	}
	missed, all := 0, 0
	for _, s := range r.Samples {
		missed, all = missed+s.Missed, all+s.Looks
	}
	if all != looks || missed != looks/100 {
		t.Errorf("%d of %d looks are missing", missed, all)
	}
	for name, want := range map[string]float64{"commits": 3, "sessions": 0.5} {
		for _, s := range r.Statistics {
			if values := knownOf(r.figure(s)); s.Name == name && math.Abs(quantity.Median(values)-want) > 0.01 {
				t.Errorf("%s is %v, want %v", name, quantity.Median(values), want)
			}
		}
	}
	if got := quantity.Median(r.cpu(r.Nodes[0])); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("the processor is %v", got)
	}
}

// TestAFileThatWasCut: the last line of a killed run is left out, and anything else
// that is wrong refuses the file.
func TestAFileThatWasCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.jsonl")
	if r, err := Read(path); r != nil || err != nil {
		t.Errorf("no file: %v, %v", r, err)
	}
	const header, line = `{"format":1,"nodes":[]}` + "\n", `{"at_s":1,"nodes":{},"looks":1}` + "\n"
	for text, want := range map[string]int{
		header: 0, header + line: 1, header + line + `{"at_s":2,"no`: 1,
		header + `{"at_s":2,"no` + "\n" + line: -1, "x\n" + line: -1, `{"format":2}` + "\n": -1,
		header + strings.ReplaceAll(line, "1,", "2,") + line: -1, header + strings.Repeat(line, 2*mostSamples+1): -1,
	} {
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		r, err := Read(path)
		if want < 0 && err == nil || want >= 0 && (err != nil || len(r.Samples) != want) {
			t.Errorf("%.60q: %+v, %v; want %d samples", text, r, err, want)
		}
	}
}

// TestAServerThatDoesNotAnswer: looks go on, with gaps that are told, and the end of
// the watch waits for nobody.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.jsonl")
	asked, release := make(chan struct{}, 100), make(chan struct{})
	account := &statistics{closed: make(chan struct{}), read: func(context.Context) (store.Reading, error) {
		asked <- struct{}{}
		<-release // whatever the context says
		return store.Reading{}, errors.New("too late")
	}}
	stop := Watch(t.Context(), path, time.Now(), Sources{Nodes: self, Account: account, Every: 10 * time.Millisecond})
	<-asked
	holds(t, path, func(r *Record) bool { return len(r.Samples) >= 3 })
	if err := stop(); err != nil {
		t.Error(err)
	}
	r, err := Read(path)
	if err != nil || r.Samples[1].Missed != 1 || r.Samples[1].Problem != "no answer in time" || r.Samples[1].Nodes["self"].Memory == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	close(release)
	<-account.closed
}

// TestAServerThatAnswers, once with an error.
func TestAServerThatAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.jsonl")
	commits := 0.0
	account := &statistics{closed: make(chan struct{}), read: func(context.Context) (store.Reading, error) {
		if commits++; commits == 1 {
			return store.Reading{}, errors.New("not yet")
		}
		return store.Reading{Server: "n1", Values: map[string]float64{"commits": commits}}, nil
	}}
	stop := Watch(t.Context(), path, time.Now(), Sources{Nodes: self, Account: account, Every: 10 * time.Millisecond})
	holds(t, path, func(r *Record) bool {
		return slices.ContainsFunc(r.Samples, func(s Sample) bool { return s.Problem == "not yet" && s.Missed == 1 }) &&
			slices.ContainsFunc(r.Samples, func(s Sample) bool { return s.Account != nil && s.Account.Server == "n1" })
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	<-account.closed
}

// holds returns when the file is as wanted.
func holds(t *testing.T, path string, wanted func(*Record) bool) {
	t.Helper()
	expect.Eventually(t, "the file is as wanted", func() bool {
		r, err := Read(path)
		return err == nil && r != nil && wanted(r)
	})
}

// TestAFileThatCannotBeWritten is an error at the end, and nothing else.
func TestAFileThatCannotBeWritten(t *testing.T) {
	stop := Watch(t.Context(), filepath.Join(t.TempDir(), "none", "servers.jsonl"), time.Now(), Sources{Nodes: self})
	if err := stop(); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestProcessTime reads what this process has used.
func TestProcessTime(t *testing.T) {
	own := []int{os.Getpid()}
	before := ProcessTime(own)
	for start := time.Now(); ProcessTime(own) == before; {
		if time.Since(start) > time.Minute {
			t.Fatalf("still %v after a minute of work", before)
		}
	}
	if after := ProcessTime(own); after < before {
		t.Errorf("%v after %v", after, before)
	}
	if ProcessTime([]int{0}) != 0 {
		t.Error("there is no process 0")
	}
	if _, known := Look([]int{0}, false); known {
		t.Error("a process that is not there is looked at")
	}
}

func TestNetworkAndDisk(t *testing.T) {
	const dev = "Inter-|   Receive | Transmit\n face |bytes packets\n    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n  eth0: 10 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
	if in, out := network(dev); in == nil || *in != 10 || *out != 20 {
		t.Errorf("network %v, %v", in, out)
	}
	if in, _ := network("    lo: 900 1 0 0 0 0 0 0 900 1 0 0 0 0 0 0\n"); in != nil {
		t.Errorf("the loopback is a network: %v", *in)
	}
	if read, written := processIO("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n"); read != 4096 || written != 8192 {
		t.Errorf("disk %d, %d", read, written)
	}
}
