package agents

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/history"
)

// Member is one agent of a run, in the file of the run's folder.
type Member struct {
	Agent
	Share
	Observers     int `json:"observers"`
	FirstObserver int `json:"first_observer"`
	// Lost says why the agent was given up; empty if it was not.
	Lost string `json:"lost,omitempty"`
}

// Merged is what Merge found.
type Merged struct {
	// Whole means that every agent has delivered all that it recorded.
	Whole  bool
	Agents []MergedAgent
	// Apart counts operations that began so soon after the end of another agent's operation
	// that the clocks cannot tell their order. Operations counts all.
	Apart, Operations int64
}

// MergedAgent is what one agent delivered. The coordinator's clock was ahead of its clock by
// Offset, in nanoseconds.
type MergedAgent struct {
	Member
	Operations    int64
	Offset, Error int64
	Whole         bool
}

// maxSamples bounds the memory for comparisons of clocks: beyond it, every second is dropped.
const maxSamples = 100_000

// neverCompared is the error, in nanoseconds, of a clock that was compared with none, a year: no
// order to another agent's operation is claimed.
const neverCompared = 365 * 24 * int64(time.Hour)

type source struct {
	path   string
	member *MergedAgent // nil of the coordinator's
	// processes is the number of agents.
	processes int

	// Set by the first reading.
	header   history.Header
	samples  []sample
	last     map[int]uint64 // the number behind each client's last operation
	from, to int64          // its first and last moment, by its own clock
	whole    bool

	mapped mapping
	near   int
	start  int64 // of the run, by the coordinator's clock

	// Used by the second reading.
	next func() (record, bool)
	stop func()
	now  record
	err  error
}

type record struct {
	at          int64 // by the coordinator's clock, since the start
	op          *history.Op
	reservation *history.Reservation
	event       *history.Event
}

// Merge merges the histories in the run's folder into one at path. It reads each twice, and its
// memory does not grow with the run except for a number for each client. Operations come nearly
// in the order of their ends, as in a history of one process. An incomplete history has no end,
// and the numbers that its agent had reserved stay reserved.
func Merge(folder, path string) (m Merged, err error) {
	in := filepath.Join(folder, Folder)
	members, err := readMembers(in)
	if err != nil {
		return m, err
	}
	m.Agents = make([]MergedAgent, len(members))
	coordinator := &source{path: filepath.Join(in, fileCoordinator)}
	if err := coordinator.scan(); err != nil {
		return m, err
	}
	sources := []*source{coordinator}
	m.Whole = coordinator.whole
	for i := range members {
		m.Agents[i].Member = members[i]
		s := &source{path: filepath.Join(in, historyFile(members[i].Number)), member: &m.Agents[i], processes: len(members)}
		if err := s.scan(); err != nil {
			return m, err
		}
		if s.whole, err = s.delivered(in); err != nil {
			return m, err
		}
		s.align(coordinator.header.Started)
		m.Whole = m.Whole && s.whole
		sources = append(sources, s)
	}
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return m, err
	}
	if err := m.write(partial, sources); err != nil {
		return m, errors.Join(err, os.Remove(partial))
	}
	return m, os.Rename(partial, path)
}

func (s *source) scan() error {
	s.last = map[int]uint64{}
	ending, err := history.Read(s.path, history.Visitor{
		AsMeasured: true,
		Header: func(h history.Header) error {
			s.header = h
			s.from, s.to = h.Started, h.Started
			return nil
		},
		Op: func(op *history.Op) error {
			s.last[op.Client] = max(s.last[op.Client], op.Seq+1)
			s.to = max(s.to, s.header.Started+op.End)
			if s.member != nil && op.Last && op.Client < s.member.All {
				s.member.Operations++
			}
			return nil
		},
		Event: s.sampled,
	})
	s.whole = ending.Whole
	nothing := errors.Is(err, os.ErrNotExist) || errors.As(err, new(*history.FormatError)) && s.header.Run == ""
	if nothing && s.member != nil {
		return nil // nothing of it was delivered
	}
	return err
}

func (s *source) sampled(e history.Event) error {
	x, is, err := sampleOf(e)
	if err != nil || !is {
		return err
	}
	if s.samples = append(s.samples, x); len(s.samples) > maxSamples {
		half := s.samples[:0]
		for i := 0; i < len(s.samples); i += 2 {
			half = append(half, s.samples[i])
		}
		s.samples = half
	}
	return nil
}

// delivered reports whether the agent's whole history is there.
func (s *source) delivered(folder string) (bool, error) {
	end, err := readEnd(folder, s.member.Number)
	if err != nil || end == nil || !s.whole {
		return s.whole, err
	}
	info, err := os.Stat(s.path)
	return err == nil && info.Size() == end.Size, err
}

func (s *source) align(start int64) {
	slices.SortFunc(s.samples, func(a, b sample) int { return cmp.Compare(a.At, b.At) })
	s.mapped, s.start = newMapping(s.samples), start
	s.member.Whole = s.whole
	s.member.Error = s.mapped.error(s.from, s.to)
	if len(s.samples) == 0 && s.member.Operations > 0 {
		s.member.Error = neverCompared
	}
	mapped, _ := s.mapped.to(s.from, 0)
	s.member.Offset = s.from - mapped
}

// clocks bound the errors of the times of each agent's clients.
func (m *Merged) clocks() (all []history.Clock) {
	for _, a := range m.Agents {
		for _, s := range a.spans() {
			if s.Clients > 0 {
				all = append(all, history.Clock{First: s.First, Clients: s.Clients, Error: a.Error})
			}
		}
	}
	return all
}

func (m *Merged) write(path string, sources []*source) error {
	header := sources[0].header
	header.Clocks = m.clocks()
	out, err := history.Create(path, header)
	if err != nil {
		return err
	}
	w := merging{out: out, merged: m, owners: map[int]*source{}, uncertain: newUncertainOrder(m)}
	for _, s := range sources {
		if s.header.Run == "" {
			continue
		}
		s.next, s.stop = iter.Pull(s.records)
		defer s.stop()
		w.own(s)
		if s.advance() {
			w.queue = append(w.queue, s)
		}
	}
	heap.Init(&w.queue)
	for err == nil && len(w.queue) > 0 {
		s := w.queue[0]
		if err = w.put(s); err != nil {
			break
		}
		if s.advance() {
			heap.Fix(&w.queue, 0)
		} else {
			heap.Pop(&w.queue)
		}
	}
	for _, s := range sources {
		err = errors.Join(err, s.err)
	}
	if err == nil && !m.Whole {
		err = out.Mark(history.Event{At: w.latest, Name: history.EventCut, Detail: m.missing()})
		return errors.Join(err, out.CloseCut())
	}
	return errors.Join(err, out.Close())
}

func (m *Merged) missing() string {
	text := "the coordinator did not come to its end"
	for _, a := range m.Agents {
		if !a.Whole {
			text = fmt.Sprintf("agent %d on %s has not delivered all that it recorded", a.Number+1, a.Host)
			if a.Lost != "" {
				text = fmt.Sprintf("agent %d on %s was lost: %s, and it has not delivered all that it recorded", a.Number+1, a.Host, a.Lost)
			}
			break
		}
	}
	return text
}

func (s *source) records(yield func(record) bool) {
	stopped := errors.New("stopped")
	give := func(r record) error {
		if !yield(r) {
			return stopped
		}
		return nil
	}
	_, err := history.Read(s.path, history.Visitor{
		AsMeasured: true,
		Op: func(op *history.Op) error {
			at := s.at(op.End)
			shift := at - op.End
			op.Due, op.First, op.Start, op.End = op.Due+shift, op.First+shift, op.Start+shift, at
			return give(record{at: at, op: op})
		},
		Reservation: func(r history.Reservation) error { return give(record{at: s.now.at, reservation: &r}) },
		Event: func(e history.Event) error {
			if s.member == nil {
				return give(record{at: e.At, event: &e})
			}
			if e.Name == history.EventFirstError {
				e.At = s.at(e.At)
				return give(record{at: e.At, event: &e})
			}
			stall, is, err := history.StallOf(e) // the run's other events are the coordinator's
			if err != nil || !is {
				return err
			}
			stall.Processes, stall.Clients = s.processes, s.member.numbers()
			stall.To = s.at(stall.To)
			stall.From = min(s.at(stall.From), stall.To)
			if e, err = stall.Event(); err != nil {
				return err
			}
			return give(record{at: stall.To, event: &e})
		},
	})
	if !errors.Is(err, stopped) {
		s.err = err
	}
}

func (s *source) at(t int64) int64 {
	if s.member == nil {
		return t
	}
	var mapped int64
	mapped, s.near = s.mapped.to(s.header.Started+t, s.near)
	return mapped - s.start
}

func (s *source) advance() (more bool) {
	s.now, more = s.next()
	return more
}

// queue is a heap: the source with the earliest record is first.
type queue []*source

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].now.at < q[j].now.at }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*source)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}

type merging struct {
	out       *history.Writer
	merged    *Merged
	queue     queue
	owners    map[int]*source // by client
	uncertain *uncertainOrder
	latest    int64
}

func (w *merging) own(s *source) {
	if s.member == nil {
		return
	}
	for client := range s.member.clients() {
		w.owners[client] = s
	}
}

func (w *merging) put(s *source) error {
	r := s.now
	w.latest = max(w.latest, r.at)
	switch {
	case r.op != nil:
		if s.member != nil && r.op.Last {
			w.merged.Operations++
			if w.uncertain.ofUnknownOrder(s.member.Number, r.op) {
				w.merged.Apart++
			}
		}
		return w.out.Record(r.op)
	case r.event != nil:
		return w.out.Mark(*r.event)
	}
	upTo := r.reservation.UpTo
	if owner := w.owners[r.reservation.Client]; owner != nil && owner.whole {
		// A whole history shows that nothing beyond its last operation was begun.
		upTo = min(upTo, owner.last[r.reservation.Client])
	}
	if upTo == 0 {
		return nil
	}
	return w.out.Reserve(history.Reservation{Client: r.reservation.Client, UpTo: upTo})
}
