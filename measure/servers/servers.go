// Package servers records the servers during a run: each node's use of processor, memory, disk and
// network, and the database's own statistics. It keeps samples in a file of bounded size, and finds
// by rules what the limit was.
//
// It must not know any driver, cluster or report.
package servers

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"assay/store"
)

// Node is a server's part of a machine, or the tester's.
type Node struct {
	Name string `json:"name"`
	// CPUs is the number of processors it may use. Shared means that others use the same.
	CPUs   float64 `json:"cpus"`
	Shared bool    `json:"shared_cpus,omitempty"`
	// MemoryLimit is in bytes, DiskWriteLimit in bytes a second; 0 for none.
	MemoryLimit    int64 `json:"memory_limit_bytes,omitempty"`
	DiskWriteLimit int64 `json:"disk_write_limit_bytes_per_second,omitempty"`
	// OwnDisk means that no other node has files on the same disk.
	OwnDisk bool `json:"own_disk,omitempty"`
	Tester  bool `json:"tester,omitempty"`
}

// Usage is what a node's processes have used so far. All but Memory, Threads, Files and Free grows
// until the server is restarted.
type Usage struct {
	CPU     float64 `json:"cpu_s"`
	Memory  int64   `json:"memory_bytes"`
	Read    int64   `json:"disk_read_bytes"`
	Written int64   `json:"disk_written_bytes"`
	Threads int64   `json:"threads,omitempty"`
	// Files is the size of its files, Free what their file system has left, in bytes. Both are
	// measured now and then, and otherwise 0.
	Files int64 `json:"files_bytes,omitempty"`
	Free  int64 `json:"free_bytes,omitempty"`
	// Received and Sent are of the node's own network; nil if it has none.
	Received *int64 `json:"network_in_bytes,omitempty"`
	Sent     *int64 `json:"network_out_bytes,omitempty"`
}

// Header describes the samples. It is the file's first line, and is repeated when nodes join.
type Header struct {
	Format int    `json:"format"`
	Nodes  []Node `json:"nodes"`
	// NoNodes is why the use of the machines is unknown, NoAccount why the statistics are; empty
	// if known.
	NoNodes    string            `json:"no_nodes,omitempty"`
	NoAccount  string            `json:"no_account,omitempty"`
	Statistics []store.Statistic `json:"statistics,omitempty"`
}

// Sample is one look at everything.
type Sample struct {
	// At is in seconds since the start of the run.
	At float64 `json:"at_s"`
	// Nodes lacks nodes that did not run or could not be read.
	Nodes map[string]Usage `json:"nodes"`
	// Account is nil if the server did not answer in time, with the reason in Problem. It has a
	// time of its own.
	Account *Account `json:"account,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Looks is the number of looks merged into it. Missed of them lack the account.
	Looks  int `json:"looks"`
	Missed int `json:"missed,omitempty"`
}

// Account is a reading of the database's statistics.
type Account struct {
	At float64 `json:"at_s"`
	store.Reading
}

// Source is a node and how to observe it. Look returns false if the node does not run.
type Source struct {
	Node
	Look func() (Usage, bool)
}

// Sources are all that Watch observes.
type Sources struct {
	// Nodes returns the present nodes. It must not block.
	Nodes   func() []Source
	NoNodes string
	// Account may be nil. Watch closes it.
	Account   store.Statistics
	NoAccount string
	// Every is the time between two looks; 0 means a second.
	Every time.Duration
}

const (
	every       = time.Second
	answerBound = time.Second
	// stopBound is how long stop waits for a pending answer. The connection is then closed.
	stopBound = time.Second
)

// Watch observes the sources repeatedly and writes samples to a file until stop, which waits for at
// most a second. started is the start of the run. stop returns errors of the file; other failures
// leave gaps.
func Watch(ctx context.Context, path string, started time.Time, of Sources) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{of: of, file: newFile(path, of), started: started}
	ended := make(chan error, 1)
	go func() { ended <- w.run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

type watcher struct {
	of      Sources
	file    *file
	started time.Time
}

type answer struct {
	account *Account
	err     error
}

// run looks until ctx ends. Another goroutine asks the database, so that a missing answer does not
// delay the looks.
func (w *watcher) run(ctx context.Context) error {
	questions, answers, closed := make(chan struct{}, 1), make(chan answer, 1), make(chan struct{})
	if w.of.Account != nil {
		go w.ask(ctx, questions, answers, closed)
	} else {
		close(closed)
	}
	tick := time.NewTicker(cmp.Or(w.of.Every, every))
	defer tick.Stop()
	w.file.add(w.look())
	asked, taken := false, (*answer)(nil)
	for {
		if !asked && taken == nil && w.of.Account != nil {
			questions <- struct{}{} // there is room: it is the only one
			asked = true
		}
		select {
		case <-ctx.Done():
			close(questions)
			waitFor(closed)
			return w.file.close()
		case a := <-answers:
			asked, taken = false, &a
		case <-tick.C:
			s := w.look()
			if w.of.Account != nil {
				s.take(taken)
			}
			taken = nil
			w.file.add(s)
		}
	}
}

// take enters the database's answer since the last look; nil for none.
func (s *Sample) take(a *answer) {
	if a != nil && a.account != nil {
		s.Account = a.account
		return
	}
	s.Missed, s.Problem = 1, errNoAnswer.Error()
	if a != nil && !errors.Is(a.err, context.DeadlineExceeded) {
		const longest = 200
		s.Problem = a.err.Error()
		s.Problem = s.Problem[:min(len(s.Problem), longest)]
	}
}

func waitFor(closed <-chan struct{}) {
	bounded := time.NewTimer(stopBound)
	defer bounded.Stop()
	select {
	case <-closed:
	case <-bounded.C:
	}
}

var errNoAnswer = errors.New("no answer in time")

func (w *watcher) ask(ctx context.Context, questions <-chan struct{}, answers chan<- answer, closed chan<- struct{}) {
	defer close(closed)
	defer w.of.Account.Close()
	for range questions {
		bounded, cancel := context.WithTimeout(ctx, answerBound)
		reading, err := w.of.Account.Read(bounded)
		cancel()
		a := answer{err: err}
		if err == nil {
			a.account = &Account{At: w.second(), Reading: reading}
		}
		answers <- a // there is room: no question is asked before it is taken
	}
}

// second is the time since the start of the run, to the millisecond.
func (w *watcher) second() float64 { return math.Round(time.Since(w.started).Seconds()*1000) / 1000 }

func (w *watcher) look() Sample {
	s := Sample{Nodes: map[string]Usage{}, Looks: 1}
	for _, source := range w.of.Nodes() {
		w.file.enter(source.Node)
		if usage, runs := source.Look(); runs {
			s.Nodes[source.Name] = usage
		}
	}
	s.At = w.second()
	return s
}
