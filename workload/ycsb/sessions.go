package ycsb

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/store"
)

// sessions judges clients by the session guarantees (store.SessionGuarantees). After an attempt
// that was not committed, the database may give a client another session, so a new one begins
// here.
//
// Version v is older than w if an operation that wrote or read v ended before the write of w
// began. A session has seen each write that it read, and everything that the writing session had
// seen or done by then. A vector clock holds this. A read breaks
//
//	read your writes     if its version is older than one that its own session wrote,
//	monotonic reads      ... that its own session read,
//	monotonic writes     ... that another session wrote before a write that was seen,
//	writes follow reads  ... that another session read before a write that was seen.
//
// These are Terry's definitions for versions in the order of time, as one primary writes them.
// Versions whose writes overlap have no order, and so break nothing.
type sessions struct {
	*pass
	promised map[string]bool
	all      []*session
	// current is each client's session; reached is how far the client's operations have come.
	current map[int]*session
	reached map[int]int64
	// latest is, by unit, the last begin of a write that was written or read so far.
	latest []int64
	// room is the number of vector clock entries still to keep or look at. At 0, sessions see no
	// more of others.
	room int
}

// session is a client's steps between two attempts that were not committed.
type session struct {
	number int32
	client int
	steps  []step
	// joined counts the steps in the clock; those of one operation enter together.
	joined int32
	// clock is shared with writes and never changed.
	clock    vectorClock
	versions map[int64]*known
}

// step is one operation's write or read of a unit. write is nil for a version before the run.
type step struct {
	write      *write
	unit       int64
	start, end int64
	// at orders all steps: a write's begin, a read's end.
	at    int64
	seq   uint64
	wrote bool
}

// position is a session's number and a step's index.
type position struct{ session, step int32 }

// vectorClock has each other session's last write that was seen, also through third sessions,
// sorted by session.
type vectorClock []position

// origin is the step that wrote a version, with its session's clock then.
type origin struct {
	position
	clock vectorClock
}

// known are a session's steps with a unit, each of a newer version than the one before.
type known struct{ read, wrote []position }

// A client with failing attempts has many sessions, and each clock grows with them. 256 MB.
const maxEntries = 32 << 20

// newSessions is nil if linearizability, which includes all guarantees, is judged.
func newSessions(p *pass) *sessions {
	if p.promised {
		return nil
	}
	s := &sessions{pass: p, promised: map[string]bool{}, current: map[int]*session{}, reached: map[int]int64{}, room: maxEntries}
	for _, g := range p.guarantees() {
		s.promised[g] = true
	}
	return s
}

// guarantees are the promised session guarantees that can be judged.
//
// Read your writes and monotonic reads concern one session. Monotonic writes and writes follow
// reads concern the order in which servers apply writes, which only a reader sees. Example:
// session B reads or writes x, and then writes y. Session A reads y and then x. A may miss B's
// x, unless the database also promises
//
//   - monotonic reads: otherwise A may read x from a server that lags behind the one of y;
//   - writes follow reads: otherwise A, which knows y only through a third session's later write
//     z, may have read z from a server that lacks y.
//
// So monotonic writes and writes follow reads are judged only if both of these are promised.
func (j *judge) guarantees() (all []string) {
	named := strings.Split(j.evidence.Promise, ", ")
	if j.evidence.Promise == store.Causal {
		named = store.SessionGuarantees()
	}
	passes := slices.Contains(named, store.MonotonicReads) && slices.Contains(named, store.WritesFollowReads)
	for _, g := range store.SessionGuarantees() {
		if slices.Contains(named, g) && (passes || g == store.ReadYourWrites || g == store.MonotonicReads) {
			all = append(all, g)
		}
	}
	return all
}

func (s *sessions) endOf(client int) {
	if s != nil {
		delete(s.current, client)
	}
}

func (s *sessions) enter(op *history.Op, unit int64, w *write, start, end int64, wrote bool) {
	if s == nil {
		return
	}
	c := s.current[op.Client]
	if c == nil {
		c = &session{number: int32(len(s.all)), client: op.Client, versions: map[int64]*known{}}
		s.current[op.Client] = c
		s.all = append(s.all, c)
	}
	at := end
	if wrote {
		at = start
	}
	at = max(at, s.reached[op.Client])
	s.reached[op.Client] = at
	c.steps = append(c.steps, step{w, unit, start, end, at, op.Seq, wrote})
}

// judgeAll takes each read after the write of its version, and keeps each session's order.
func (s *sessions) judgeAll() {
	if s == nil {
		return
	}
	var all []position
	for _, c := range s.all {
		for i := range c.steps {
			all = append(all, position{c.number, int32(i)})
		}
	}
	slices.SortStableFunc(all, func(a, b position) int { return cmp.Compare(s.step(a).at, s.step(b).at) })
	s.latest = make([]int64, len(s.openings))
	for i := range s.latest {
		s.latest[i] = math.MinInt64
	}
	for _, m := range all {
		c, x := s.all[m.session], s.step(m)
		if before := m.step - 1; x.wrote || before >= 0 && c.steps[before].seq != x.seq {
			s.join(c, m.step)
		}
		if x.wrote {
			x.write.origin = &origin{m, c.clock}
			known := c.known(x.unit)
			known.wrote = s.newer(known.wrote, m)
			c.joined = m.step + 1
		} else {
			s.read(c, m)
		}
		if x.write != nil {
			latest := &s.latest[s.place(x.unit)]
			*latest = max(*latest, x.write.start)
		}
	}
	s.forgot = s.forgot || s.room < 0
}

func (s *sessions) step(m position) *step { return &s.all[m.session].steps[m.step] }

func (c *session) known(unit int64) *known {
	k := c.versions[unit]
	if k == nil {
		k = &known{}
		c.versions[unit] = k
	}
	return k
}

func (s *sessions) newer(all []position, m position) []position {
	w := s.step(m).write
	if w == nil || len(all) > 0 && s.step(all[len(all)-1]).write.start >= w.start {
		return all
	}
	return append(all, m)
}

// join enters a session's steps before the given one into its versions and clock.
func (s *sessions) join(c *session, before int32) {
	for ; c.joined < before; c.joined++ {
		x := &c.steps[c.joined]
		k := c.known(x.unit)
		k.read = s.newer(k.read, position{c.number, c.joined})
		if !x.wrote && x.write != nil && x.write.origin != nil {
			s.see(c, x.write.origin)
		}
	}
}

// see merges a write that was read, and its clock, into a session's clock.
func (s *sessions) see(c *session, of *origin) {
	at, there := slices.BinarySearchFunc(c.clock, of.session, compareSessions)
	if of.session == c.number || there && c.clock[at].step >= of.step {
		return // the session had seen the write, and so the clock of it
	}
	if s.room -= len(c.clock) + len(of.clock) + 1; s.room < 0 {
		return
	}
	news := slices.Clone(of.clock)
	if at, there = slices.BinarySearchFunc(news, of.session, compareSessions); there {
		news[at].step = max(news[at].step, of.step)
	} else {
		news = slices.Insert(news, at, of.position)
	}
	old := c.clock
	all := make(vectorClock, 0, len(news)+len(old))
	for len(news) > 0 && len(old) > 0 {
		switch {
		case old[0].session < news[0].session:
			all, old = append(all, old[0]), old[1:]
		case news[0].session < old[0].session:
			all, news = append(all, news[0]), news[1:]
		default:
			all = append(all, position{old[0].session, max(old[0].step, news[0].step)})
			old, news = old[1:], news[1:]
		}
	}
	c.clock = append(append(all, old...), news...)
}

func compareSessions(m position, session int32) int { return cmp.Compare(m.session, session) }

// broken is a read's violation: newer has a newer version. If another session did it, later is
// that session's later write that was seen.
type broken struct {
	guarantee    string
	newer, later position
}

// read judges a read. It counts once, by a promised guarantee if it breaks one.
func (s *sessions) read(c *session, m position) {
	x := s.step(m)
	ended := int64(math.MinInt64)
	if x.write != nil {
		ended = x.write.ends
	}
	if s.latest[s.place(x.unit)] <= ended {
		return
	}
	found := s.breaks(c, m, ended)
	if len(found) == 0 {
		return
	}
	i := slices.IndexFunc(found, func(b broken) bool { return s.promised[b.guarantee] })
	switch {
	case i < 0:
		s.count(found[0].guarantee)
		return
	case len(s.inSessions.Evidence) < check.MaxEvidence:
		s.inSessions.Add(s.sessionEvidence(m, found[i]))
	default:
		s.inSessions.AddUnlisted(found[i].guarantee, 1)
	}
	s.count(found[i].guarantee)
}

// breaks are the guarantees broken by a read whose version's first known end is ended.
func (s *sessions) breaks(c *session, m position, ended int64) (found []broken) {
	x := s.step(m)
	look := func(guarantee string, all []position, before, later position) {
		i, _ := slices.BinarySearchFunc(all, before.step, func(m position, step int32) int { return cmp.Compare(m.step, step) })
		if i > 0 && s.step(all[i-1]).write.start > ended {
			found = append(found, broken{guarantee, all[i-1], later})
		}
	}
	if k := c.versions[x.unit]; k != nil {
		look(store.ReadYourWrites, k.wrote, m, m)
		look(store.MonotonicReads, k.read, m, m)
	}
	if s.room -= len(c.clock); s.room < 0 {
		return found
	}
	for _, later := range c.clock {
		if k := s.all[later.session].versions[x.unit]; k != nil {
			look(store.MonotonicWrites, k.wrote, later, later)
			look(store.WritesFollowReads, k.read, later, later)
		}
	}
	return found
}

func (s *sessions) count(guarantee string) {
	f := &s.figures
	switch guarantee {
	case store.ReadYourWrites:
		f.OwnWrites++
	case store.MonotonicReads:
		f.Monotonic++
	default:
		f.Causes++
	}
}

func (s *sessions) sessionEvidence(m position, b broken) check.Evidence {
	x, newer, client := s.step(m), s.step(b.newer), s.all[m.session].client
	by := s.all[b.newer.session].client
	was, did := s.initial(x.unit), "read"
	older := "the one from before the run"
	if x.write != nil {
		was = x.write.version
		older = fmt.Sprintf("which was there at %.6f s", seconds(x.write.ends))
	}
	if newer.wrote {
		did = "wrote"
	}
	text := fmt.Sprintf("at %.6f s operation %d of client %d read %s, %s; but operation %d of client %d %s %s, the write of which began at %.6f s, from %.6f s to %.6f s",
		seconds(x.start), x.seq, client, was, older, newer.seq, by, did, newer.write.version, seconds(newer.write.start), seconds(newer.start), seconds(newer.end))
	fields := map[string]int64{"client": int64(client), "seq": int64(x.seq), "start_ns": x.start, "end_ns": x.end,
		"newer_client": int64(by), "newer_seq": int64(newer.seq), "newer_start_ns": newer.start, "newer_end_ns": newer.end}
	if b.later != m {
		later, through := s.step(b.later), s.through(m, b.later)
		text += fmt.Sprintf(", before its operation %d wrote %s of %s at %.6f s, which client %d had seen: ", later.seq, later.write.version, s.recordName(later.unit), seconds(later.start), client)
		if through.write == later.write {
			text += fmt.Sprintf("its operation %d read it", through.seq)
		} else {
			text += fmt.Sprintf("its operation %d read %s of %s, whose writer had seen it", through.seq, through.write.version, s.recordName(through.unit))
		}
		text += fmt.Sprintf(" from %.6f s to %.6f s", seconds(through.start), seconds(through.end))
		fields["later_client"], fields["later_seq"], fields["later_start_ns"] = int64(by), int64(later.seq), later.start
		fields["seen_seq"], fields["seen_start_ns"], fields["seen_end_ns"] = int64(through.seq), through.start, through.end
	}
	e := s.recordEvidence(b.guarantee, x.unit, text)
	maps.Copy(e.Fields, fields)
	return e
}

// through is the first read by which a step's session saw another session's write.
func (s *sessions) through(m, later position) *step {
	c := s.all[m.session]
	for i := range c.steps[:m.step] {
		x := &c.steps[i]
		if x.wrote || x.write == nil || x.write.origin == nil {
			continue
		}
		of := x.write.origin
		if of.position == later || slices.ContainsFunc(of.clock, func(seen position) bool { return seen.session == later.session && seen.step >= later.step }) {
			return x
		}
	}
	return s.step(later)
}
