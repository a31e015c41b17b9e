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

// sessions judges what each client saw by the session guarantees (store.SessionGuarantees). A
// session is what a client did from one attempt that was not committed to the next, after which
// it may have another of the database's.
//
// A version is older than another one if it had been written, or read by somebody, before the
// write of that began. A session has seen what it read, and what was seen by then by those who
// wrote that. A read breaks
//
//	read your writes     if its version is older than one that its session wrote,
//	monotonic reads      ... that it read,
//	monotonic writes     ... that another session wrote before it wrote what was seen,
//	writes follow reads  ... that another session read before it wrote what was seen.
//
// These are Terry's definitions for versions in the order of time, in which one primary writes
// them. Versions that were written at the same time are in no order, and no read breaks anything
// by them.
type sessions struct {
	*pass
	promised map[string]bool
	chains   []*chain
	// current is the session of each client, and clock how far its operations have come.
	current map[int]*chain
	clock   map[int]int64
	// latest is when the last of the writes of each unit began that was written or read so far.
	latest []int64
	// room is how many marks may still be kept, or looked at for a read that is old. Without any,
	// sessions are taken to have seen nothing more of others.
	room int
}

// chain is one session.
type chain struct {
	number int32
	client int
	steps  []step
	// joined is how many of its steps count as seen; those of one operation do together.
	joined int32
	// seen is how far it has seen others, sorted by chain. It is shared, and never changed.
	seen []mark
	// of is by unit.
	of map[int64]*known
}

// step is what one operation did with one unit: it wrote a version, or read it; nil is the one
// from before the run.
type step struct {
	write      *write
	unit       int64
	start, end int64
	// at is the place in the order of all steps: a write's beginning, a read's end.
	at    int64
	seq   uint64
	wrote bool
}

// mark is a step of a chain.
type mark struct{ chain, step int32 }

// origin is who wrote a version, and what the session had seen by then.
type origin struct {
	mark
	seen []mark
}

// known are the versions of a unit that a session read or wrote, each newer than the one before.
type known struct{ read, wrote []mark }

// maxSeen is how many marks are kept of what sessions had seen, 256 MB, or looked at. A client
// whose attempts fail has many sessions, and what each has seen grows with their number.
const maxSeen = 32 << 20

// newSessions is nil if linearizability is judged, which includes all guarantees.
func newSessions(p *pass) *sessions {
	if p.promised {
		return nil
	}
	s := &sessions{pass: p, promised: map[string]bool{}, current: map[int]*chain{}, clock: map[int]int64{}, room: maxSeen}
	for _, g := range p.guarantees() {
		s.promised[g] = true
	}
	return s
}

// guarantees are those of sessions that the database promises and that are judged: what another
// session did before it wrote something has to be seen by who has seen that only if reads are
// monotonic and writes follow reads.
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

// endOf ends the session of a client.
func (s *sessions) endOf(client int) {
	if s != nil {
		delete(s.current, client)
	}
}

// enter enters what an operation did with a unit.
func (s *sessions) enter(op *history.Op, unit int64, w *write, start, end int64, wrote bool) {
	if s == nil {
		return
	}
	c := s.current[op.Client]
	if c == nil {
		c = &chain{number: int32(len(s.chains)), client: op.Client, of: map[int64]*known{}}
		s.current[op.Client] = c
		s.chains = append(s.chains, c)
	}
	at := end
	if wrote {
		at = start
	}
	at = max(at, s.clock[op.Client])
	s.clock[op.Client] = at
	c.steps = append(c.steps, step{w, unit, start, end, at, op.Seq, wrote})
}

// judgeAll judges all reads, once everything is entered. Steps come in an order in which who
// reads a version comes after who wrote it, and a session's own are in theirs.
func (s *sessions) judgeAll() {
	if s == nil {
		return
	}
	var all []mark
	for _, c := range s.chains {
		for i := range c.steps {
			all = append(all, mark{c.number, int32(i)})
		}
	}
	slices.SortStableFunc(all, func(a, b mark) int { return cmp.Compare(s.step(a).at, s.step(b).at) })
	s.latest = make([]int64, len(s.openings))
	for i := range s.latest {
		s.latest[i] = math.MinInt64
	}
	for _, m := range all {
		c, x := s.chains[m.chain], s.step(m)
		if before := m.step - 1; x.wrote || before >= 0 && c.steps[before].seq != x.seq {
			s.join(c, m.step)
		}
		if x.wrote {
			x.write.origin = &origin{m, c.seen}
			c.know(x.unit).wrote = s.newer(c.know(x.unit).wrote, m)
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

func (s *sessions) step(m mark) *step { return &s.chains[m.chain].steps[m.step] }

func (c *chain) know(unit int64) *known {
	k := c.of[unit]
	if k == nil {
		k = &known{}
		c.of[unit] = k
	}
	return k
}

// newer adds a step if its version is newer than the last.
func (s *sessions) newer(all []mark, m mark) []mark {
	w := s.step(m).write
	if w == nil || len(all) > 0 && s.step(all[len(all)-1]).write.start >= w.start {
		return all
	}
	return append(all, m)
}

// join has a session know what it read in its steps before one.
func (s *sessions) join(c *chain, before int32) {
	for ; c.joined < before; c.joined++ {
		x := &c.steps[c.joined]
		k := c.know(x.unit)
		k.read = s.newer(k.read, mark{c.number, c.joined})
		if !x.wrote && x.write != nil && x.write.origin != nil {
			s.see(c, x.write.origin)
		}
	}
}

// see has a session see what it read, and all that its writer had seen.
func (s *sessions) see(c *chain, of *origin) {
	at, there := slices.BinarySearchFunc(c.seen, of.chain, compareChains)
	if of.chain == c.number || there && c.seen[at].step >= of.step {
		return // and so what its writer had seen
	}
	if s.room -= len(c.seen) + len(of.seen) + 1; s.room < 0 {
		return
	}
	news := slices.Clone(of.seen)
	if at, there = slices.BinarySearchFunc(news, of.chain, compareChains); there {
		news[at].step = max(news[at].step, of.step)
	} else {
		news = slices.Insert(news, at, of.mark)
	}
	old := c.seen
	all := make([]mark, 0, len(news)+len(old))
	for len(news) > 0 && len(old) > 0 {
		switch {
		case old[0].chain < news[0].chain:
			all, old = append(all, old[0]), old[1:]
		case news[0].chain < old[0].chain:
			all, news = append(all, news[0]), news[1:]
		default:
			all = append(all, mark{old[0].chain, max(old[0].step, news[0].step)})
			old, news = old[1:], news[1:]
		}
	}
	c.seen = append(append(all, old...), news...)
}

func compareChains(m mark, chain int32) int { return cmp.Compare(m.chain, chain) }

// broken is what shows that a read broke a guarantee: a step of somebody with a newer version
// and, of another session's, the write before which it was and which was seen.
type broken struct {
	guarantee    string
	newer, later mark
}

// read judges a read. It is counted once, as what breaks something that is promised, if it does.
func (s *sessions) read(c *chain, m mark) {
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

// breaks is what a read breaks whose version was there when something ended.
func (s *sessions) breaks(c *chain, m mark, ended int64) (found []broken) {
	x := s.step(m)
	look := func(guarantee string, all []mark, before, later mark) {
		i, _ := slices.BinarySearchFunc(all, before.step, func(m mark, step int32) int { return cmp.Compare(m.step, step) })
		if i > 0 && s.step(all[i-1]).write.start > ended {
			found = append(found, broken{guarantee, all[i-1], later})
		}
	}
	if k := c.of[x.unit]; k != nil {
		look(store.ReadYourWrites, k.wrote, m, m)
		look(store.MonotonicReads, k.read, m, m)
	}
	if s.room -= len(c.seen); s.room < 0 {
		return found
	}
	for _, later := range c.seen {
		if k := s.chains[later.chain].of[x.unit]; k != nil {
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

// sessionEvidence is that of a read that broke a guarantee.
func (s *sessions) sessionEvidence(m mark, b broken) check.Evidence {
	x, newer, client := s.step(m), s.step(b.newer), s.chains[m.chain].client
	by := s.chains[b.newer.chain].client
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

// through is the first read by which the session of a step had seen a write of another one.
func (s *sessions) through(m, later mark) *step {
	c := s.chains[m.chain]
	for i := range c.steps[:m.step] {
		x := &c.steps[i]
		if x.wrote || x.write == nil || x.write.origin == nil {
			continue
		}
		of := x.write.origin
		if of.mark == later || slices.ContainsFunc(of.seen, func(seen mark) bool { return seen.chain == later.chain && seen.step >= later.step }) {
			return x
		}
	}
	return s.step(later)
}
