package visibility

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// LongFork judges single writes, each of a key of its own, and reads of groups
// of keys (jepsen.tests.long-fork): of two reads of a group, one has seen all that
// the other has. Parallel snapshot isolation allows two reads that
// each miss what the other saw, snapshot isolation does not.
type LongFork struct {
	written *writes // by key
	values  map[exchange.Atom]exchange.Atom
	groups  map[string]*group
	order   []*group
	reads   int64
}

// group are the reads of the same keys.
type group struct {
	keys  []exchange.Atom
	reads []groupRead
}

// groupRead is which keys of a group one read saw written.
type groupRead struct {
	by     operation.Operation
	values []exchange.Atom // nil for what it did not see
	n      int
}

func (r *groupRead) saw(key int) bool { return r.values[key].Kind != exchange.Nil }

// NewLongFork returns a judge.
func NewLongFork() *LongFork {
	return &LongFork{written: newWrites(), values: map[exchange.Atom]exchange.Atom{}, groups: map[string]*group{}}
}

// Add takes one operation: a :write of [[:w k v]], or a :read of
// [[:r k nil] ...]. Any other is an error.
func (l *LongFork) Add(o *exchange.Operation) error {
	if o.Word != "write" && o.Word != "read" && o.Word != "txn" {
		return operation.UnknownFunction(o, "write and read")
	}
	value := operation.Value(o)
	if value.Form != exchange.List || len(value.Items) == 0 {
		return operation.Unfit(o, "operations such as [[:w 1 1]] or [[:r 1 nil] [:r 2 nil]]")
	}
	words := 0
	for i := range value.Items {
		step := &value.Items[i]
		if step.Form != exchange.List || len(step.Items) != 3 || step.Items[1].Form != exchange.Scalar || step.Items[2].Form != exchange.Scalar {
			return operation.Unfit(o, "operations such as [:w 1 1] or [:r 1 nil]")
		}
		switch step.Items[0].Word() {
		case "w":
			words++
		case "r":
		default:
			return operation.Unfit(o, "operations such as [:w 1 1] or [:r 1 nil]")
		}
	}
	switch {
	case words == 0:
		if o.Outcome == history.Committed {
			return l.read(o, value.Items)
		}
		return nil
	case len(value.Items) > 1:
		return operation.Unfit(o, "a single write, or reads alone")
	}
	key := value.Items[0].Items[1].Atom
	if l.written.add(key, o) {
		l.values[key] = value.Items[0].Items[2].Atom
	}
	return nil
}

func (l *LongFork) read(o *exchange.Operation, steps []exchange.Value) error {
	steps = slices.Clone(steps)
	slices.SortFunc(steps, func(a, b exchange.Value) int { return compareAtoms(a.Items[1].Atom, b.Items[1].Atom) })
	var name strings.Builder
	read := groupRead{by: operation.Of(o)}
	var keys []exchange.Atom
	var values []exchange.Atom
	for i := range steps {
		key, value := steps[i].Items[1].Atom, steps[i].Items[2].Atom
		if i > 0 && key == keys[i-1] {
			return operation.Unfit(o, "reads of different keys")
		}
		name.WriteString(key.String() + " ")
		keys, values = append(keys, key), append(values, value)
	}
	g := l.groups[name.String()]
	if g == nil {
		g = &group{keys: keys}
		l.groups[name.String()] = g
		l.order = append(l.order, g)
	}
	read.values = values
	for i := range values {
		if read.saw(i) {
			read.n++
		}
	}
	l.reads++
	g.reads = append(g.reads, read)
	return nil
}

func compareAtoms(a, b exchange.Atom) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Int, b.Int), cmp.Compare(a.Text, b.Text))
}

// Result returns the answer over all operations.
//
// The reads of a group form a chain exactly if, in the order of how much they
// saw, each has seen all that the one before it has.
func (l *LongFork) Result(context.Context) check.Result {
	f := operation.NewFindings(kindLongFork, kindUnexpected, kindFailed, kindFuture)
	var compared, saw int64
	for _, g := range l.order {
		for i := range g.reads {
			for k := range g.keys {
				if g.reads[i].saw(k) {
					l.judge(g.keys[k], &g.reads[i], g.reads[i].values[k], f)
				}
			}
			saw += int64(g.reads[i].n)
		}
		slices.SortStableFunc(g.reads, func(a, b groupRead) int { return cmp.Compare(a.n, b.n) })
		for i := 1; i < len(g.reads); i++ {
			compared++
			g.compare(&g.reads[i-1], &g.reads[i], f)
		}
	}
	r := f.Result("long-fork", fmt.Sprintf("%s of one key each, %s of %s of keys",
		operation.Plural(l.written.count, "write"), operation.Plural(l.reads, "read"), operation.Plural(len(l.order), "group")))
	missing := ""
	if l.written.again != nil {
		missing = fmt.Sprintf("the key %s was written more than once, so that its reads do not tell which write they saw", *l.written.again)
	}
	r.Finish(missing, saw == 0, "no read saw a write, so nothing can be said")
	if r.Verdict == check.Valid {
		r.Detail += fmt.Sprintf("; in each group, the reads saw more and more (%s compared)", operation.Plural(compared, "pair"))
	}
	return r
}

// judge judges what a read saw of one key.
func (l *LongFork) judge(key exchange.Atom, read *groupRead, value exchange.Atom, f *operation.Findings) {
	if l.written.seen(key, &read.by, f) && l.written.again == nil && l.values[key] != value {
		f.Add(kindUnexpected, &read.by, "saw %s as the value of %s, to which %s was written", value, key, l.values[key])
	}
}

// compare adds a fork if each read saw what the other did not. less saw no more keys.
func (g *group) compare(less, more *groupRead, f *operation.Findings) {
	for k := range g.keys {
		if !less.saw(k) || more.saw(k) {
			continue
		}
		other := 0 // there is one: more saw no fewer keys than less
		for !more.saw(other) || less.saw(other) {
			other++
		}
		f.Add(kindLongFork, &less.by, "saw the write of %s and not that of %s, but %s saw that of %s and not that of %s",
			g.keys[k], g.keys[other], &more.by, g.keys[other], g.keys[k])
		return
	}
}
