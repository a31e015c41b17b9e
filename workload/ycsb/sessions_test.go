package ycsb

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// Each wrong run stands beside a valid one that differs in one thing.
func TestSessionCases(t *testing.T) {
	some := store.MonotonicReads + ", " + store.WritesFollowReads
	write := func(client int, seq uint64, start int64, record int64) history.Op {
		return op(client, seq, KindUpdate, start, start+5, record)
	}
	read := func(client int, seq uint64, start, record, v int64) history.Op {
		return op(client, seq, KindRead, start, start+5, record, v)
	}
	// Client 0 writes record 1 and then 2, or has read 1 as client 2 wrote it.
	writes := []history.Op{write(0, 0, 10, 1), write(0, 1, 20, 2)}
	follows := []history.Op{write(2, 0, 10, 1), read(0, 0, 20, 1, by(2, 0)), write(0, 1, 30, 2)}
	with := func(of []history.Op, more ...history.Op) []history.Op { return slices.Concat(of, more) }
	handed := []history.Op{read(1, 0, 40, 2, by(0, 1)), write(1, 1, 50, 0), read(3, 0, 60, 0, by(1, 1))}
	for name, c := range map[string]struct {
		promise      string
		wrong, valid []history.Op
		want         string
	}{
		"own write": {store.Causal, with(writes, read(0, 2, 30, 1, was(1))), with(writes, read(1, 0, 30, 1, was(1))), "sessions violated read your writes"},
		"own write, by another since": {store.Causal, with(writes, write(1, 0, 30, 1), read(0, 2, 40, 1, was(1))), with(writes, write(1, 0, 30, 1), read(0, 2, 40, 1, by(1, 0))),
			"sessions violated read your writes"},
		"own write of unknown outcome": {store.Causal, with(writes, read(0, 2, 30, 1, was(1))), []history.Op{ended(write(0, 0, 10, 1), history.Unknown), read(0, 1, 30, 1, was(1))},
			"sessions violated read your writes"},
		"own write in a session before": {store.Causal, with(writes, read(0, 2, 30, 0, was(0)), read(0, 3, 40, 1, was(1))),
			with(writes, ended(op(0, 2, KindRead, 30, 35, 0), history.Failed), read(0, 3, 40, 1, was(1))), "sessions violated read your writes"},
		"back": {store.Causal, with(writes, read(1, 0, 30, 1, by(0, 0)), read(1, 1, 40, 1, was(1))), with(writes, read(1, 0, 30, 1, was(1)), read(1, 1, 40, 1, by(0, 0))),
			"sessions violated monotonic reads"},
		"write before": {store.Causal, with(writes, read(1, 0, 30, 2, by(0, 1)), read(1, 1, 40, 1, was(1))), with(writes, read(1, 0, 30, 1, was(1)), read(1, 1, 40, 2, by(0, 1))),
			"sessions violated monotonic writes"},
		"read before": {store.Causal, with(follows, read(1, 0, 40, 2, by(0, 1)), read(1, 1, 50, 1, was(1))), with(follows, read(1, 0, 40, 2, was(2)), read(1, 1, 50, 1, was(1))),
			"sessions violated writes follow reads"},
		"from hand to hand": {store.Causal, with(with(writes, handed...), read(3, 1, 70, 1, was(1))), with(with(writes, handed...), read(4, 0, 70, 1, was(1))),
			"sessions violated monotonic writes"},
		"no promise of own writes": {some, with(writes, read(1, 0, 30, 1, by(0, 0)), read(1, 1, 40, 1, was(1))), with(writes, read(0, 2, 30, 1, was(1))), "sessions violated monotonic reads"},
		"no promise of order": {some, with(follows, read(1, 0, 40, 2, by(0, 1)), read(1, 1, 50, 1, was(1))), with(writes, read(1, 0, 30, 2, by(0, 1)), read(1, 1, 40, 1, was(1))),
			"sessions violated writes follow reads"},
		"two at the same time": {store.Causal, with(writes, write(1, 0, 30, 1), read(1, 1, 40, 1, by(0, 0))),
			[]history.Op{write(0, 0, 10, 1), write(0, 1, 20, 2), op(1, 0, KindUpdate, 12, 18, 1), read(1, 1, 40, 1, by(0, 0))}, "sessions violated read your writes"},
	} {
		for i, of := range [][]history.Op{c.wrong, c.valid} {
			results, _, err := run{ops: of, noState: true, promise: c.promise}.judge(t)
			expect.NoError(t, err)
			want := []string{c.want, ""}[i]
			results = slices.DeleteFunc(results, func(r check.Result) bool { return r.Name == CheckLinearizable }) // of which nothing is promised
			if got := strings.TrimPrefix(strings.TrimPrefix(verdicts(results), "records unknown"), "; "); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			for _, e := range results[len(results)-1].Evidence {
				if len(e.Fields) < 10 || !strings.Contains(e.Text, "the write of which began at") {
					t.Errorf("%s: evidence %+v", name, e)
				}
			}
		}
	}
}

// TestSessionsAreLeftOut where none of them is promised by itself.
func TestSessionsAreLeftOut(t *testing.T) {
	ops := []history.Op{op(0, 0, KindUpdate, 10, 20, 1), op(0, 1, KindRead, 30, 40, 1, by(0, 0))}
	for promise, want := range map[string]bool{"": false, store.Linearizable: false, store.Causal: true, store.MonotonicWrites: false} {
		results, _, err := run{ops: ops, state: loaded(map[int64]int64{1: by(0, 0)}), weak: true, promise: promise}.judge(t)
		is := slices.ContainsFunc(results, func(r check.Result) bool { return r.Name == CheckSessions && r.Verdict == check.Valid })
		if err != nil || is != want || verdicts(results) != "" {
			t.Errorf("%q: %v, %v, want %v", promise, results, err, want)
		}
	}
}

// event is an operation on one of two records, and writer the number of the one whose version
// it read, or -1.
type event struct {
	op      history.Op
	writer  int
	session int
}

// events are a random history, in the order of ends. A read returns any version whose write
// had begun. If alone is true writes do not overlap.
func events(r *rand.Rand, n int, alone bool) (all []event) {
	var open [3]*event
	var seqs [3]uint64
	writing := func(e *event) bool { return e != nil && e.op.Kind == KindUpdate }
	for now, begun := int64(1), 0; begun < n || slices.ContainsFunc(open[:], func(e *event) bool { return e != nil }); now++ {
		i := r.IntN(len(open))
		switch e := open[i]; {
		case e == nil && begun < n:
			begun++
			kind := []uint8{KindRead, KindUpdate}[r.IntN(2)]
			if alone && slices.ContainsFunc(open[:], writing) {
				kind = KindRead
			}
			open[i] = &event{op: op(i, seqs[i], kind, now, now, r.Int64N(2)), writer: -1}
			seqs[i]++
		case e != nil:
			e.op.End, open[i] = now, nil
			if e.op.Kind == KindUpdate && r.IntN(8) == 0 {
				e.op = ended(e.op, history.Unknown)
			}
			all = append(all, *e)
		}
	}
	for i := range all {
		e := &all[i]
		if e.op.Kind == KindUpdate {
			continue
		}
		v, unit := was(e.op.Values[0]), e.op.Values[0]
		for j, of := range all {
			if of.op.Kind == KindUpdate && of.op.Values[0] == unit && of.op.Start < e.op.End && r.IntN(3) == 0 {
				v, e.writer = by(of.op.Client, of.op.Seq), j
			}
		}
		e.op.Values = []int64{unit, v}
	}
	var sessions [3]int
	for i := range all { // of one client they end in their order
		c := all[i].op.Client
		all[i].session = c + len(sessions)*sessions[c]
		if all[i].op.Outcome != history.Committed {
			sessions[c]++
		}
	}
	return all
}

// TestSessionsByDefinition holds the check against Terry's definitions, tried on all orders of
// the versions that agree with time.
func TestSessionsByDefinition(t *testing.T) {
	promises := []string{store.Causal, store.MonotonicReads + ", " + store.WritesFollowReads, store.MonotonicReads, store.ReadYourWrites,
		store.MonotonicReads + ", " + store.WritesFollowReads + ", " + store.ReadYourWrites,
		store.MonotonicReads + ", " + store.WritesFollowReads + ", " + store.MonotonicWrites}
	counts := map[bool]int{}
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 1))
		promise := promises[seed%uint64(len(promises))]
		all := events(r, 4+r.IntN(9), r.IntN(2) == 0)
		d := &terry{all: all, promised: func(g string) bool { return promise == store.Causal || strings.Contains(promise, g) }}
		ordered, holds := d.holds()
		var ops []history.Op
		for _, e := range all {
			ops = append(ops, e.op)
		}
		results, _, err := run{ops: ops, noState: true, promise: promise, reserved: 20}.judge(t)
		expect.NoError(t, err)
		violated := results[len(results)-1].Verdict == check.Violated
		if violated && holds || !violated && !holds && ordered {
			t.Fatalf("seed %d, %s: violated %v, holds %v by definition\n%+v\n%+v", seed, promise, violated, holds, all, results[len(results)-1].Evidence)
		}
		counts[violated]++
	}
	if counts[true] < 100 || counts[false] < 100 {
		t.Errorf("violated %d, valid %d", counts[true], counts[false])
	}
}

// terry is a history and the guarantees that are promised.
type terry struct {
	all      []event
	promised func(guarantee string) bool
}

// holds reports whether there is an order of the versions of each record, and whether all
// orders are known by time.
func (d *terry) holds() (ordered, holds bool) {
	ordered, holds = true, true
	for unit := range int64(2) {
		var versions []int
		for i, e := range d.all {
			if e.op.Kind == KindUpdate && e.op.Values[0] == unit && d.ends(i) != never {
				versions = append(versions, i)
			}
		}
		for _, a := range versions {
			for _, b := range versions {
				ordered = ordered && (a == b || d.before(a, b) || d.before(b, a))
			}
		}
		holds = holds && d.try(unit, nil, versions)
	}
	return ordered, holds
}

// ends is when a version was first known to be there.
func (d *terry) ends(version int) int64 {
	at := int64(never)
	for i, e := range d.all {
		if e.writer == version || i == version && e.op.Outcome == history.Committed {
			at = min(at, e.op.End)
		}
	}
	return at
}

func (d *terry) before(a, b int) bool { return d.ends(a) < d.all[b].op.Start }

// try goes on with an order of versions in all ways.
func (d *terry) try(unit int64, order, left []int) bool {
	if len(left) == 0 {
		return d.fits(unit, order)
	}
	for i, v := range left {
		rest := slices.Delete(slices.Clone(left), i, i+1)
		if !slices.ContainsFunc(rest, func(other int) bool { return d.before(other, v) }) && d.try(unit, append(slices.Clone(order), v), rest) {
			return true
		}
	}
	return false
}

// fits reports whether each read of a record returned no version before one that it had to see.
func (d *terry) fits(unit int64, order []int) bool {
	for i, e := range d.all {
		if e.op.Kind != KindRead || e.op.Values[0] != unit {
			continue
		}
		at := slices.Index(order, e.writer)
		for v := range d.visible(i) {
			if slices.Index(order, v) > at {
				return false
			}
		}
	}
	return true
}

// visible are the writes that the database which answers a read must have.
func (d *terry) visible(read int) map[int]bool {
	in := map[int]bool{}
	add := func(by int, reads, writes string) (more bool) {
		for i, e := range d.all {
			v := e.writer
			switch {
			case i == by || e.session != d.all[by].session || e.op.Seq >= d.all[by].op.Seq:
				continue
			case e.op.Kind == KindUpdate && e.op.Outcome == history.Committed && d.promised(writes):
				v = i
			case e.op.Kind == KindUpdate || !d.promised(reads):
				continue
			}
			more = more || v >= 0 && !in[v]
			in[v] = in[v] || v >= 0
		}
		return more
	}
	add(read, store.MonotonicReads, store.ReadYourWrites)
	if v := d.all[read].writer; v >= 0 {
		in[v] = true
	}
	for more := true; more; {
		more = false
		for v, is := range in {
			if is && d.all[v].op.Outcome == history.Committed {
				more = add(v, store.WritesFollowReads, store.MonotonicWrites) || more
			}
		}
	}
	delete(in, -1)
	return in
}

// TestWhatSessionsHaveSeenIsBounded: without room a session sees nothing more, and says so.
func TestWhatSessionsHaveSeenIsBounded(t *testing.T) {
	s, c := &sessions{room: 1}, &session{number: 0}
	for _, of := range []origin{{position: position{0, 3}}, {position: position{1, 5}}, {position: position{1, 4}}} {
		s.see(c, &of)
	}
	if !slices.Equal(c.clock, []position{{1, 5}}) || s.room != 0 {
		t.Errorf("%v, room for %d", c.clock, s.room)
	}
	s.see(c, &origin{position: position{2, 0}})
	if !slices.Equal(c.clock, []position{{1, 5}}) || s.room >= 0 {
		t.Errorf("without room: %v, room for %d", c.clock, s.room)
	}
	if j := (judge{forgot: true}); !strings.Contains(j.outOfOrder(), "too much to keep") {
		t.Errorf("not said: %s", j.outOfOrder())
	}
}
