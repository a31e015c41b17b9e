package agents

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/measure"
)

// recorded is a run's folder with histories of agents whose clocks are ahead of the coordinator's.
type recorded struct {
	t      *testing.T
	folder string
	all    []Member
	ahead  []int64
	stalls map[int]history.Stall // by agent
	said   history.FirstError    // by every agent; empty for nothing
	alone  bool                  // no agent compares its clock
}

func newRecorded(t *testing.T, ahead ...int64) *recorded {
	t.Helper()
	r := &recorded{t: t, folder: t.TempDir(), ahead: ahead}
	expect.NoError(t, os.Mkdir(filepath.Join(r.folder, Folder), 0o755))
	for _, s := range shared(len(ahead), len(ahead)) {
		r.all = append(r.all, Member{Agent: Agent{ID: "a", Host: "here"}, Share: s})
	}
	expect.NoError(t, writeMembers(filepath.Join(r.folder, Folder), r.all))
	return r
}

const zero = 1_700_000_000_000_000_000

func (r *recorded) create(path string, started int64) *history.Writer {
	r.t.Helper()
	w, err := history.Create(path, history.Header{Run: "r", Workload: "w", Version: "v", Started: started})
	expect.NoError(r.t, err)
	return w
}

func (r *recorded) coordinator(events ...history.Event) {
	r.t.Helper()
	w := r.create(CoordinatorFile(r.folder), zero)
	for i := range r.all {
		expect.NoError(r.t, w.Reserve(history.Reservation{Client: i, UpTo: granted}))
	}
	for _, e := range events {
		expect.NoError(r.t, w.Mark(e))
	}
	expect.NoError(r.t, w.Close())
}

// agent writes the history of an agent with one client; times are by the run's clock.
func (r *recorded) agent(n int, whole bool, spans ...[2]int64) {
	r.t.Helper()
	path := filepath.Join(r.folder, Folder, historyFile(n))
	w := r.create(path, zero+r.ahead[n])
	for at := int64(0); at <= 10e9 && !r.alone; at += 200e6 {
		e, err := clockEvent(at, sample{At: zero + r.ahead[n] + at, Offset: -r.ahead[n], Error: 50_000})
		expect.NoError(r.t, err)
		expect.NoError(r.t, w.Mark(e))
	}
	if s, is := r.stalls[n]; is {
		e, err := s.Event()
		expect.NoError(r.t, errors.Join(err, (&Recorder{Writer: w}).Mark(e)))
	}
	if r.said.Text != "" {
		expect.NoError(r.t, (&Recorder{Writer: w}).Mark(r.said.Event(1e9)))
	}
	expect.NoError(r.t, w.Reserve(history.Reservation{Client: n, UpTo: 1024}))
	for i, s := range spans {
		expect.NoError(r.t, w.Record(&history.Op{Client: n, Seq: uint64(i), Attempt: 1, Last: true, Outcome: history.Committed, Final: history.Committed,
			Due: s[0], First: s[0], Start: s[0], End: s[1]}))
	}
	if !whole {
		expect.NoError(r.t, w.CloseCut())
		return
	}
	expect.NoError(r.t, w.Close())
	size, sum, err := digest(path)
	expect.NoError(r.t, err)
	text, err := json.Marshal(End{Size: size, Digest: sum})
	expect.NoError(r.t, err)
	expect.NoError(r.t, os.WriteFile(filepath.Join(r.folder, Folder, endFile(n)), text, 0o600))
}

type merged struct {
	Merged
	ops, widened []history.Op
	reserved     map[int]uint64
	events       []string
	said         map[string]string
	stalls       []history.Stall
	ending       history.Ending
}

func (r *recorded) merge() (m merged) {
	r.t.Helper()
	path := filepath.Join(r.folder, "history.bin")
	var err error
	m.Merged, err = Merge(r.folder, path)
	expect.NoError(r.t, err)
	m.reserved, m.said = map[int]uint64{}, map[string]string{}
	m.ending, err = history.Read(path, history.Visitor{AsMeasured: true,
		Op: func(op *history.Op) error { m.ops = append(m.ops, *op); return nil },
		Reservation: func(x history.Reservation) error {
			m.reserved[x.Client] = max(m.reserved[x.Client], x.UpTo)
			return nil
		},
		Event: func(e history.Event) error {
			m.events = append(m.events, e.Name)
			maps.Copy(m.said, history.FirstErrors([]history.Event{e}))
			s, is, err := history.StallOf(e)
			if is {
				m.stalls = append(m.stalls, s)
			}
			return err
		},
	})
	expect.NoError(r.t, err)
	_, err = history.Read(path, history.Visitor{Op: func(op *history.Op) error { m.widened = append(m.widened, *op); return nil }})
	expect.NoError(r.t, err)
	return m
}

// An agent's pause is in the merged history, by the run's clock, as a pause of its clients.
func TestAnAgentsStallIsMerged(t *testing.T) {
	r := newRecorded(t, 0, 3600e9)
	stall := history.Stall{From: 2e9, To: 3.5e9}
	r.stalls = map[int]history.Stall{1: stall}
	r.coordinator(history.Event{At: 0, Name: history.EventMeasureStart}, history.Event{At: 4e9, Name: history.EventMeasureEnd})
	r.agent(0, true, [2]int64{1e9, 2e9})
	r.agent(1, true, [2]int64{1e9, 1.5e9}, [2]int64{1.9e9, 3.6e9})
	stall.Processes, stall.Clients = 2, []history.ClientNumbers{{First: 1, Count: 1}}
	if m := r.merge(); len(m.stalls) != 1 || !reflect.DeepEqual(m.stalls[0], stall) {
		t.Errorf("merged %+v, want %+v", m.stalls, stall)
	}
}

// TestWhatAgentsSayOfErrorsIsMerged: each class keeps its first error's text.
func TestWhatAgentsSayOfErrorsIsMerged(t *testing.T) {
	r := newRecorded(t, 0, 3600e9)
	r.said = history.FirstError{Class: "42501", Text: "permission denied"}
	r.coordinator(history.Event{At: 0, Name: history.EventMeasureStart}, history.Event{At: 4e9, Name: history.EventMeasureEnd})
	r.agent(0, true, [2]int64{1e9, 2e9})
	r.agent(1, true, [2]int64{1e9, 1.5e9})
	if m := r.merge(); len(m.said) != 1 || m.said[r.said.Class] != r.said.Text {
		t.Errorf("merged %v, want %v", m.said, r.said)
	}
}

// TestMergedOnOneClock: operations of agents with clocks hours apart are in the coordinator's
// order. Figures are as measured, and judged times are as wide as the clocks' error.
func TestMergedOnOneClock(t *testing.T) {
	r := newRecorded(t, 0, 3600e9, -7200e9)
	r.coordinator(history.Event{At: 0, Name: history.EventMeasureStart}, history.Event{At: 4e9, Name: history.EventMeasureEnd})
	r.agent(0, true, [2]int64{1e9, 2e9})
	r.agent(1, true, [2]int64{1e9, 1.5e9}, [2]int64{2e9 + 1000, 3e9})
	r.agent(2, true, [2]int64{1.5e9 + 1e6, 4e9})
	m := r.merge()
	var ends []int64
	for i, op := range m.ops {
		ends = append(ends, (op.End+5e5)/1e6)
		w := m.widened[i]
		if w.Widened < 50_000 || w.Start != op.Start-w.Widened || w.End != op.End+w.Widened || w.Latency() != op.Latency() || w.ServiceTime() != op.ServiceTime() {
			t.Errorf("%+v is judged as %+v", op, w)
		}
	}
	if want := []int64{1500, 2000, 3000, 4000}; !slices.Equal(ends, want) {
		t.Errorf("the operations end at %v ms, want %v", ends, want)
	}
	if !m.Whole || !m.ending.Whole || m.Operations != 4 || m.Apart != 1 {
		t.Errorf("merged %+v, %+v; want all, and the one pair left out that is 1 µs apart", m.Merged, m.ending)
	}
	if m.Agents[1].Offset != 3600e9 || m.Agents[2].Offset != -7200e9 || m.Agents[1].Operations != 2 {
		t.Errorf("agents %+v", m.Agents)
	}
	if m.reserved[1] != 2 || m.reserved[2] != 1 {
		t.Errorf("reserved %v, though nothing more was begun", m.reserved)
	}
	if want := []string{history.EventMeasureStart, history.EventMeasureEnd}; !slices.Equal(m.events, want) {
		t.Errorf("events %v", m.events)
	}
}

// TestAClockThatWasNeverComparedTellsNoOrder.
func TestAClockThatWasNeverComparedTellsNoOrder(t *testing.T) {
	r := newRecorded(t, 0, 3600e9)
	r.alone = true
	r.coordinator()
	r.agent(0, true, [2]int64{1e9, 2e9})
	r.agent(1, true, [2]int64{5e9, 6e9})
	m := r.merge()
	if a, b := m.widened[0], m.widened[1]; m.Apart != 1 || a.End < b.Start || b.End < a.Start {
		t.Errorf("%d left out; judged as %+v and %+v", m.Apart, a, b)
	}
}

// TestAnAgentsClockIsInItsHistory: what was compared before the work is there from the start.
func TestAnAgentsClockIsInItsHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.history")
	w, err := history.Create(path, history.Header{Run: "r", Workload: "w", Version: "v", Started: zero})
	expect.NoError(t, err)
	p := &agentRun{known: true, best: sample{At: zero - 1, Offset: 5, Error: 7}}
	p.record(w, func() int64 { return 0 }, func() {})
	expect.NoError(t, w.Close())
	s := &source{path: path}
	expect.NoError(t, s.scan())
	if len(s.samples) != 1 || s.samples[0] != p.best {
		t.Errorf("it has %+v", s.samples)
	}
}

// TestLostAgentStaysReserved: an agent without full delivery may have begun all that was granted;
// other agents may not.
func TestLostAgentStaysReserved(t *testing.T) {
	r := newRecorded(t, 0, 5e9)
	r.coordinator()
	r.agent(0, true, [2]int64{1e9, 2e9})
	r.agent(1, false, [2]int64{1e9, 2e9})
	m := r.merge()
	if m.Whole || m.ending.Whole || m.Agents[1].Whole || !m.Agents[0].Whole || m.reserved[0] != 1 || m.reserved[1] != granted {
		t.Errorf("merged %+v, reserved %v", m.Merged, m.reserved)
	}
	if !slices.Contains(m.events, history.EventCut) {
		t.Errorf("events %v do not say that it was cut", m.events)
	}
	// It comes late.
	expect.NoError(t, os.Remove(filepath.Join(r.folder, Folder, historyFile(1))))
	r.agent(1, true, [2]int64{1e9, 2e9}, [2]int64{2e9, 3e9})
	if m = r.merge(); !m.Whole || m.reserved[1] != 2 || len(m.ops) != 3 {
		t.Errorf("after it came late %+v, reserved %v", m.Merged, m.reserved)
	}
	// Nothing came of it.
	expect.NoError(t, os.Remove(filepath.Join(r.folder, Folder, historyFile(1))))
	if m = r.merge(); m.Whole || m.reserved[1] != granted || len(m.ops) != 1 {
		t.Errorf("without it %+v, reserved %v", m.Merged, m.reserved)
	}
}

// TestFiguresOfAHundredAgents merges 10^9 operations: the percentiles are of all, not means of
// percentiles.
func TestFiguresOfAHundredAgents(t *testing.T) {
	const agents, each = 100, 10_000_000
	all, stats := measure.NewLive(1), load.Stats{}
	for n := range agents {
		micros := int64(1000)
		if n == 0 {
			micros = 500_000 // one slow machine of a hundred
		}
		d := delta(t, micros, each)
		expect.NoError(t, all.Merge(d))
		stats = Joined(stats, statsOf(t, micros, each))
	}
	s := all.Snapshot()
	if s.Outcomes.Committed != agents*each || s.Attempts != agents*each || s.Latency.Count != agents*each {
		t.Errorf("counted %+v", s)
	}
	if s.Latency.P50 > 1.002 || s.Latency.P95 > 1.002 || s.Latency.P999 < 499 || s.Latency.Max != 500 {
		t.Errorf("response times %+v; want those of 99 agents at 1 ms and one at 500 ms", s.Latency)
	}
	if stats.Late.TotalCount() != agents*each || stats.Late.ValueAtPercentile(98.9) > 1010 || stats.Late.ValueAtPercentile(99.5) < 490_000 || stats.Hung != agents {
		t.Errorf("lateness of %d, 98.9 %% %d, 99.5 %% %d", stats.Late.TotalCount(), stats.Late.ValueAtPercentile(98.9), stats.Late.ValueAtPercentile(99.5))
	}
}

// TestRoundsOfAHundredAgents: the shares of each round are its clients, also of fewer clients than
// agents.
func TestRoundsOfAHundredAgents(t *testing.T) {
	rounds := []int{1, 30, 100, 512}
	owner := map[int]int{}
	for n, s := range sharedRounds(rounds, 100) {
		if s.Number != n || s.All != 643 || s.Clients > 6 || len(s.Rounds) != len(rounds) {
			t.Fatalf("share %+v", s)
		}
		m := Member{Share: s}
		for client := range m.clients() {
			if _, twice := owner[client]; twice || !m.owns(client) {
				t.Errorf("client %d of agent %d is agent %d's", client, n, owner[client])
			}
			owner[client] = n
		}
	}
	if len(owner) != 643 {
		t.Errorf("%d of 643 clients", len(owner))
	}
}

func TestSharesAreContiguous(t *testing.T) {
	next := 0
	for _, s := range shared(10, 4) {
		if s.First != next || s.Clients < 2 || s.Clients > 3 || s.All != 10 || s.Of != 4 {
			t.Errorf("share %+v begins not at %d", s, next)
		}
		next += s.Clients
	}
	if next != 10 {
		t.Errorf("%d of 10 clients", next)
	}
}
