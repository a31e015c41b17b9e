package cycle_test

import (
	"slices"

	. "assay/check/cycle"
	"assay/history"
)

type relation [][]bool

func newRelation(n int) relation {
	r := make(relation, n)
	for i := range r {
		r[i] = make([]bool, n)
	}
	return r
}

func (r relation) or(others ...relation) relation {
	all := newRelation(len(r))
	for _, o := range append(others, r) {
		for a := range o {
			for b := range o {
				all[a][b] = all[a][b] || o[a][b]
			}
		}
	}
	return all
}

func (r relation) then(o relation) relation {
	all := newRelation(len(r))
	for a := range r {
		for m := range r {
			for b := range r {
				all[a][b] = all[a][b] || r[a][m] && o[m][b]
			}
		}
	}
	return all
}

func (r relation) closure() relation {
	all := r.or()
	for m := range all {
		for a := range all {
			for b := range all {
				all[a][b] = all[a][b] || all[a][m] && all[m][b]
			}
		}
	}
	return all
}

func (r relation) irreflexive() bool {
	for a := range r {
		if r[a][a] {
			return false
		}
	}
	return true
}

func (r relation) acyclic() bool { return r.closure().irreflexive() }

// oracle judges a history by the definitions of the models, for every order of the versions of each
// key.
type oracle struct {
	txns []Txn
	n    int
	// writers are, by key, the transactions that wrote it and may have taken effect.
	writers map[int64][]int
	order   map[int64][]int
	// external are, by transaction, the reads of other transactions' versions: the operation's
	// place, its key and the version's writer, or -1.
	external [][]seenVersion
	// committedReads means that no read breaks G1a or G1b, inside that all reads agree with the
	// transaction itself (INT).
	committedReads, inside bool
	// own means that each transaction reads its own writes.
	own               bool
	process, realtime relation
}

type seenVersion struct {
	op     int
	key    int64
	writer int
	shown  []int // of a list, all that it shows
}

func newOracle(txns []Txn) *oracle {
	o := &oracle{txns: txns, n: len(txns), writers: map[int64][]int{}, committedReads: true, inside: true, own: true}
	o.external = make([][]seenVersion, o.n)
	for t := range txns {
		if txns[t].Outcome == history.Committed {
			o.read(t)
		}
	}
	took := make([]bool, o.n)
	for t := range txns {
		took[t] = took[t] || txns[t].Outcome == history.Committed
		for _, r := range o.external[t] {
			for _, s := range append(r.shown, r.writer) {
				if s >= 0 {
					took[s] = true
				}
			}
		}
	}
	for t := range txns {
		for _, op := range txns[t].Ops {
			if (op.Kind == Append || op.Kind == Write) && took[t] && !slices.Contains(o.writers[op.Key], t) {
				o.writers[op.Key] = append(o.writers[op.Key], t)
			}
		}
	}
	o.process, o.realtime = newRelation(o.n), newRelation(o.n)
	for a := range txns {
		for b := range txns {
			x, y := &txns[a], &txns[b]
			if a == b || x.Outcome != history.Committed || !took[b] {
				continue
			}
			o.process[a][b] = x.Process == y.Process && x.Complete <= y.Invoke
			o.realtime[a][b] = x.Complete < y.Invoke
		}
	}
	return o
}

func (o *oracle) final(t int, key int64) (int64, bool) {
	for i := len(o.txns[t].Ops) - 1; i >= 0; i-- {
		if op := o.txns[t].Ops[i]; op.Key == key && (op.Kind == Append || op.Kind == Write) {
			return op.Value, true
		}
	}
	return 0, false
}

// wrote returns the writer of a value that may be read.
func (o *oracle) wrote(key, value int64) int {
	for t := range o.txns {
		for _, op := range o.txns[t].Ops {
			if possible(&o.txns[t]) && op.Key == key && op.Value == value && (op.Kind == Append || op.Kind == Write) {
				return t
			}
		}
	}
	return -1
}

func (o *oracle) read(t int) {
	now := map[int64][]int64{} // what it saw last and wrote since
	known := map[int64]bool{}
	own := map[int64][]int64{}
	for i, op := range o.txns[t].Ops {
		switch op.Kind {
		case Append:
			now[op.Key] = append(slices.Clone(now[op.Key]), op.Value)
			own[op.Key] = append(own[op.Key], op.Value)
			continue
		case Write:
			now[op.Key], known[op.Key] = []int64{op.Value}, true
			own[op.Key] = now[op.Key]
			continue
		}
		list := seen(&op)
		mine := own[op.Key]
		if known[op.Key] && !slices.Equal(list, now[op.Key]) ||
			len(list) < len(mine) || !slices.Equal(list[len(list)-len(mine):], mine) {
			o.inside = false
		}
		for _, value := range list {
			if len(mine) > 0 && mine[0] == value {
				mine = mine[1:]
			}
		}
		if len(mine) > 0 {
			o.own = false
		}
		known[op.Key], now[op.Key] = true, list
		o.enter(t, i, &op, list)
	}
}

func (o *oracle) enter(t, i int, op *Op, list []int64) {
	v := seenVersion{op: i, key: op.Key, writer: -1}
	for at, value := range list {
		w := o.wrote(op.Key, value)
		if w < 0 || slices.Contains(list[:at], value) {
			o.committedReads = false
			return
		}
		last, _ := o.final(w, op.Key)
		if w != t && value != last && (op.Kind == ReadValue || !slices.Contains(list, last) || at == len(list)-1) {
			o.committedReads = false // intermediate
		}
		if w == t {
			for j := i; j < len(o.txns[t].Ops); j++ {
				if later := o.txns[t].Ops[j]; later.Key == op.Key && later.Value == value && (later.Kind == Append || later.Kind == Write) {
					o.committedReads = false // from the future
				}
			}
			if op.Kind == ReadValue {
				return
			}
			continue
		}
		v.writer = w
		if !slices.Contains(v.shown, w) {
			v.shown = append(v.shown, w)
		}
	}
	if len(list) > 0 && op.Kind == ReadList && v.writer < 0 {
		return // its own alone
	}
	o.external[t] = append(o.external[t], v)
}

func (o *oracle) fits(key int64, order []int) bool {
	var all []int64
	for _, t := range order {
		for _, op := range o.txns[t].Ops {
			if op.Kind == Append && op.Key == key {
				all = append(all, op.Value)
			}
		}
	}
	for t := range o.txns {
		if o.txns[t].Outcome != history.Committed {
			continue
		}
		for i, op := range o.txns[t].Ops {
			if op.Kind != ReadList || op.Key != key || len(op.List) == 0 {
				continue
			}
			if len(op.List) > len(all) || !slices.Equal(op.List, all[:len(op.List)]) {
				return false
			}
			_ = i
		}
	}
	return true
}

// facts are the relations that follow from one order of the versions.
type facts struct {
	o          *oracle
	ww, wr, rw relation
	sees       relation // wr, of lists to all whom they show
}

// each calls visit for each order of the versions, until it returns true.
func (o *oracle) each(visit func(*facts) bool) bool {
	var keys []int64
	for k := range o.writers {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	o.order = map[int64][]int{}
	var next func(i int) bool
	next = func(i int) bool {
		if i == len(keys) {
			return visit(o.facts())
		}
		return permute(o.writers[keys[i]], func(order []int) bool {
			if !o.fits(keys[i], order) {
				return false
			}
			o.order[keys[i]] = order
			return next(i + 1)
		})
	}
	return next(0)
}

func permute(of []int, visit func([]int) bool) bool {
	var order []int
	var extend func() bool
	extend = func() bool {
		if len(order) == len(of) {
			return visit(order)
		}
		for _, t := range of {
			if slices.Contains(order, t) {
				continue
			}
			order = append(order, t)
			if extend() {
				return true
			}
			order = order[:len(order)-1]
		}
		return false
	}
	return extend()
}

func (o *oracle) facts() *facts {
	f := &facts{o: o, ww: newRelation(o.n), wr: newRelation(o.n), rw: newRelation(o.n), sees: newRelation(o.n)}
	for _, order := range o.order {
		for i, a := range order {
			for _, b := range order[i+1:] {
				f.ww[a][b] = true
			}
		}
	}
	for t := range o.external {
		for _, r := range o.external[t] {
			if r.writer >= 0 {
				f.wr[r.writer][t], f.sees[r.writer][t] = true, true
			}
			for _, s := range r.shown {
				f.sees[s][t] = true
			}
			for _, later := range f.later(r) {
				if later != t {
					f.rw[t][later] = true
				}
			}
		}
	}
	return f
}

// later are the writers of versions after the one that was read.
func (f *facts) later(r seenVersion) []int {
	order := f.o.order[r.key]
	return order[slices.Index(order, r.writer)+1:]
}

func (f *facts) allowed(m Model) bool {
	o := f.o
	d := f.ww.or(f.wr)
	if !o.own {
		return false
	}
	if m == ReadUncommitted || m == SessionReadUncommitted || m == StrongReadUncommitted {
		return f.extra(m, f.ww).acyclic()
	}
	if !o.committedReads || !d.acyclic() {
		return false
	}
	single := func(seen relation) bool { return f.rw.then(seen).irreflexive() }
	switch m {
	case ReadCommitted:
		return true
	case SessionReadCommitted, StrongReadCommitted:
		return f.extra(m, d).acyclic()
	case MonotonicView:
		return f.monotonic(d.closure(), true)
	case MonotonicAtomicView:
		return f.monotonic(nil, false)
	case MonotonicSnapshotRead:
		return f.statements(false)
	case CursorStability:
		return f.cursor()
	case ConsistentView, ForwardConsistentView:
		return single(d.closure())
	case RepeatableRead:
		return d.or(f.rw).acyclic()
	case UpdateSerializable:
		return f.updates(d)
	}
	if !o.inside {
		return false
	}
	switch m {
	case ReadAtomic:
		return single(f.sees)
	case UpdateAtomic:
		return single(f.sees.or(f.ww))
	case Causal:
		hb := f.sees.or(o.process).closure()
		return hb.or(f.ww).acyclic() && single(hb)
	case ParallelSnapshotIsolation:
		return single(d.closure())
	case Prefix:
		return f.ww.or(f.sees, f.sees.then(f.rw)).acyclic()
	case SnapshotIsolation, SessionSnapshotIsolation, StrongSnapshotIsolation:
		before := f.extra(m, d)
		return before.or(before.then(f.rw)).acyclic()
	default:
		return f.extra(m, d).or(f.rw).acyclic()
	}
}

func (f *facts) extra(m Model, r relation) relation {
	switch m {
	case SessionReadUncommitted, SessionReadCommitted, SessionSnapshotIsolation, SessionSerializable:
		return r.or(f.o.process)
	case StrongReadUncommitted, StrongReadCommitted, StrongSnapshotIsolation, StrictSerializable:
		return r.or(f.o.process, f.o.realtime)
	default:
		return r
	}
}

// statements reports whether there is one order of commits and of operations' moments. A read sees
// the data committed at its moment, which comes after the previous operation's and before the
// commit of its transaction. With writes, an overwritten version was committed at the moment of the
// transaction's first write there.
func (f *facts) statements(writes bool) bool {
	o := f.o
	first := make([]int, o.n)
	nodes := o.n
	for t := range o.txns {
		first[t] = nodes
		nodes += len(o.txns[t].Ops)
	}
	before := newRelation(nodes)
	for t := range o.txns {
		for i := range o.txns[t].Ops {
			if next := first[t] + i + 1; i+1 < len(o.txns[t].Ops) {
				before[next-1][next] = true
			} else {
				before[next-1][t] = true
			}
		}
		for _, r := range o.external[t] {
			if r.writer >= 0 {
				before[r.writer][first[t]+r.op] = true
			}
			for _, later := range f.later(r) {
				if later != t {
					before[first[t]+r.op][later] = true
				}
			}
		}
	}
	for key, order := range o.order {
		for i, a := range order {
			for _, b := range order[i+1:] {
				before[a][b] = true
				at := slices.IndexFunc(o.txns[b].Ops, func(op Op) bool { return op.Key == key && (op.Kind == Append || op.Kind == Write) })
				before[a][first[b]+at] = before[a][first[b]+at] || writes
			}
		}
	}
	return before.acyclic()
}

// monotonic reports whether no read misses what the transaction had seen before it. With all, this
// includes everything that led to it.
func (f *facts) monotonic(reach relation, all bool) bool {
	o := f.o
	for t := range o.external {
		for _, r := range o.external[t] {
			for _, n := range f.later(r) {
				if n == t {
					continue
				}
				for _, before := range o.external[t] {
					if !all && before.op < r.op && slices.Contains(before.shown, n) ||
						all && before.op <= r.op && before.writer >= 0 && (before.writer == n || reach[n][before.writer]) {
						return false
					}
				}
				if all && f.overwritten(t, n, r.op, reach) {
					return false
				}
			}
		}
	}
	return true
}

// overwritten reports whether t overwrote, before an operation, something that n led to.
func (f *facts) overwritten(t, n, op int, reach relation) bool {
	for key, order := range f.o.order {
		at := slices.Index(order, t)
		if at < 0 {
			continue
		}
		for i := len(f.o.txns[t].Ops) - 1; i >= 0; i-- {
			w := f.o.txns[t].Ops[i]
			if w.Key != key || w.Kind != Append && w.Kind != Write {
				continue
			}
			for _, s := range order[:at] {
				if i < op && (s == n || reach[n][s]) {
					return true
				}
			}
			break
		}
	}
	return false
}

func (f *facts) cursor() bool {
	for t := range f.o.external {
		for _, r := range f.o.external[t] {
			order := f.o.order[r.key]
			mine := slices.Index(order, t)
			if mine > slices.Index(order, r.writer)+1 {
				return false
			}
		}
	}
	return true
}

// updates reports whether the writing transactions, with each one that only reads, have no cycle.
func (f *facts) updates(d relation) bool {
	all := d.or(f.rw)
	for t := range f.o.txns {
		some := newRelation(f.o.n)
		for a := range some {
			for b := range some {
				some[a][b] = all[a][b] && (a == t || f.writes(a)) && (b == t || f.writes(b))
			}
		}
		if !some.acyclic() {
			return false
		}
	}
	return true
}

func (f *facts) writes(t int) bool {
	for _, order := range f.o.order {
		if slices.Contains(order, t) {
			return true
		}
	}
	return false
}
