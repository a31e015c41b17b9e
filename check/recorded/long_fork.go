package recorded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/history/exchange"
)

const kindLongFork = "long-fork"

// forks judges single writes, each of its own key, and reads of groups of keys
// (jepsen.tests.long-fork). Of two reads of a group, one must have seen everything that the other
// saw. Parallel snapshot isolation allows two reads that each miss a write seen by the other;
// snapshot isolation does not.
type forks struct {
	elements // the keys that were written
	values   map[exchange.Atom]exchange.Atom
	groups   map[string]*group
	order    []*group
	reads    int64
}

type group struct {
	keys  []exchange.Atom
	reads []groupRead
}

type groupRead struct {
	by     Operation
	values []exchange.Atom // nil for what it did not see
	n      int
}

func (r *groupRead) saw(key int) bool { return r.values[key].Kind != exchange.Nil }

// newLongFork judges a :write of [[:w k v]], and a :read of [[:r k nil] ...].
func newLongFork() *judge {
	l := &forks{elements: newElements(writeWords()), values: map[exchange.Atom]exchange.Atom{}, groups: map[string]*group{}}
	return &judge{functions: []function{{word: "write", take: l.take}, {word: "read", take: l.take}, {word: "txn", take: l.take, hidden: true}}, result: l.result}
}

type keyed struct{ key, value exchange.Atom }

func (l *forks) take(o *exchange.Operation, by Operation) error {
	did := value(o)
	if did.Form != exchange.List || len(did.Items) == 0 {
		return unfit("operations such as [[:w 1 1]] or [[:r 1 nil] [:r 2 nil]]")
	}
	var writes, reads []keyed
	for i := range did.Items {
		word, key, value, err := stepOf(&did.Items[i], "operations such as [:w 1 1] or [:r 1 nil]")
		switch {
		case err != nil:
			return err
		case word == "w":
			writes = append(writes, keyed{key, value})
		case word == "r":
			reads = append(reads, keyed{key, value})
		default:
			return unfit("operations such as [:w 1 1] or [:r 1 nil]")
		}
	}
	switch {
	case len(writes) == 0 && by.Acknowledged():
		return l.read(by, reads)
	case len(writes) == 0:
		return nil
	case len(did.Items) > 1:
		return unfit("a single write, or reads alone")
	}
	if writes[0].value.Kind == exchange.Nil {
		return unfit("a write of another value than nil, which stands for a key without one")
	}
	if of, known := l.index.numberOf(writes[0].key); !known || l.of[of].possible == 0 {
		l.values[writes[0].key] = writes[0].value
	}
	return l.add(o, by, writes[0].key)
}

func (l *forks) read(by Operation, steps []keyed) error {
	slices.SortFunc(steps, func(a, b keyed) int { return compareAtoms(a.key, b.key) })
	var name strings.Builder
	read, keys := groupRead{by: by}, []exchange.Atom(nil)
	for i, s := range steps {
		if i > 0 && s.key == keys[i-1] {
			return unfit("reads of different keys")
		}
		name.WriteString(s.key.String() + " ")
		keys, read.values = append(keys, s.key), append(read.values, s.value)
		if read.saw(i) {
			read.n++
		}
	}
	g := l.groups[name.String()]
	if g == nil {
		g = &group{keys: keys}
		l.groups[name.String()] = g
		l.order = append(l.order, g)
	}
	l.reads++
	g.reads = append(g.reads, read)
	return nil
}

func compareAtoms(a, b exchange.Atom) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Int, b.Int), cmp.Compare(a.Text, b.Text))
}

// result sorts the reads of a group by how much they saw. They form a chain exactly if each has
// seen everything that the one before saw.
func (l *forks) result(context.Context) check.Result {
	f := newFindings(append([]string{kindLongFork}, l.words.kinds()...)...)
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
	detail, missing := fmt.Sprintf("%s of one key each, %s of %s of keys", plural(l.tally.all(), "write"), plural(l.reads, "read"), plural(len(l.order), "group")), ""
	if l.again != nil {
		missing = fmt.Sprintf("the key %s was written more than once, so that its reads do not tell which write they saw", *l.again)
	}
	r := f.result("long-fork", detail, missing, saw == 0, "no read saw a write, so nothing can be said")
	if r.Verdict == check.Valid {
		r.Detail += fmt.Sprintf("; in each group, the reads saw more and more (%s compared)", plural(compared, "pair"))
	}
	return r
}

func (l *forks) judge(key exchange.Atom, read *groupRead, value exchange.Atom, f *findings) {
	if l.judgeSeen(key, &read.by, "saw", f) && l.again == nil && l.values[key] != value {
		f.add(kindUnexpected, &read.by, "saw %s as the value of %s, to which %s was written", value, key, l.values[key])
	}
}

// compare adds a fork if each read saw a key that the other did not. less saw no more keys.
func (g *group) compare(less, more *groupRead, f *findings) {
	for k := range g.keys {
		if !less.saw(k) || more.saw(k) {
			continue
		}
		other := 0 // there is one: more saw no fewer keys than less
		for !more.saw(other) || less.saw(other) {
			other++
		}
		f.add(kindLongFork, &less.by, "saw the write of %s and not that of %s, but %s saw that of %s and not that of %s",
			g.keys[k], g.keys[other], &more.by, g.keys[other], g.keys[k])
		return
	}
}
