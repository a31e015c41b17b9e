// Package servers records what the servers were doing while a run went on: what each
// node used of processor, memory, disk and network, and the account that the
// database keeps of its own work. It samples them, keeps them in a file of bounded
// size, and says by rules what the limit was.
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

// Node is one server's share of a machine, or the tester's.
type Node struct {
	Name string `json:"name"`
	// CPUs is how many processors it may use. Shared is true if others use the same
	// ones.
	CPUs   float64 `json:"cpus"`
	Shared bool    `json:"shared_cpus,omitempty"`
	// MemoryLimit is in bytes and DiskWriteLimit in bytes a second; 0 for none.
	MemoryLimit    int64 `json:"memory_limit_bytes,omitempty"`
	DiskWriteLimit int64 `json:"disk_write_limit_bytes_per_second,omitempty"`
	// OwnDisk is true if no other node has its files on the same disk.
	OwnDisk bool `json:"own_disk,omitempty"`
	// Tester is true of assay itself.
	Tester bool `json:"tester,omitempty"`
}

// Usage is what the processes of a node have used until a moment. All but Memory, Threads, Files and
// Free only grows as long as the server is not started again.
type Usage struct {
	CPU     float64 `json:"cpu_s"`
	Memory  int64   `json:"memory_bytes"`
	Read    int64   `json:"disk_read_bytes"`
	Written int64   `json:"disk_written_bytes"`
	Threads int64   `json:"threads,omitempty"`
	// Files is how large its files are, and Free what their file system has left, in bytes, now and
	// then; 0 if that was not looked at.
	Files int64 `json:"files_bytes,omitempty"`
	Free  int64 `json:"free_bytes,omitempty"`
	// Received and Sent are of the node's own network; nil where it has none.
	Received *int64 `json:"network_in_bytes,omitempty"`
	Sent     *int64 `json:"network_out_bytes,omitempty"`
}

// Header says what the samples are of. It is the first line of the file, and is
// written again when nodes join.
type Header struct {
	Format int    `json:"format"`
	Nodes  []Node `json:"nodes"`
	// NoNodes is why nothing is known of the servers' use of their machines, and
	// NoAccount why nothing is known of the database's account; empty if it is.
	NoNodes   string `json:"no_nodes,omitempty"`
	NoAccount string `json:"no_account,omitempty"`
	// Statistics are the figures of the account.
	Statistics []store.Statistic `json:"statistics,omitempty"`
}

// Sample is one look at all of it.
type Sample struct {
	// At is in seconds since the start of the run.
	At float64 `json:"at_s"`
	// Nodes has no node that did not run, or could not be read.
	Nodes map[string]Usage `json:"nodes"`
	// Account is nil where the server did not answer in time. It has a time of its
	// own, and Problem is why it is nil.
	Account *Account `json:"account,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Looks is how many looks were made into one, and Missed of how many of them the
	// account is missing.
	Looks  int `json:"looks"`
	Missed int `json:"missed,omitempty"`
}

// Account is a reading of the database's account.
type Account struct {
	At float64 `json:"at_s"`
	store.Reading
}

// Source is a node and how to look at it. Look returns false for one that does not
// run.
type Source struct {
	Node
	Look func() (Usage, bool)
}

// Sources are all that is looked at.
type Sources struct {
	// Nodes returns those that are there now. It must not block.
	Nodes   func() []Source
	NoNodes string
	// Account is nil where there is none. Watch closes it.
	Account   store.Statistics
	NoAccount string
	// Every is the time between two looks; 0 means a second.
	Every time.Duration
}

const (
	// every is how often is looked where nothing else is asked for.
	every = time.Second
	// answerBound is how long the database may take to answer.
	answerBound = time.Second
	// stopBound is how long the end of the watch waits for an answer that was asked
	// for; the connection is closed then, wherever the server is.
	stopBound = time.Second
)

// Watch looks now and then at the sources and keeps what it sees in a file, until
// the returned function is called, which waits for a second at most. started is the
// start of the run. Errors of the file are returned by the function; whatever else
// goes wrong is a gap.
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

// answer is what came of asking the database.
type answer struct {
	account *Account
	err     error
}

// run looks until ctx ends. The database is asked by another goroutine, so that one
// that does not answer is waited for by nobody.
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

// take enters what the database has answered since the last look; nil for nothing.
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

// ask answers questions until there are no more.
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
