package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
)

// unanswered is a transfer with an unanswered attempt: a server may have committed and shown it,
// and the others may not have got it. It is gone if it has no row in the end. If it has a row and
// was repeated, the row may be of another attempt.
type unanswered struct {
	client   int
	seq      uint64
	first    int64
	repeated bool
}

// doubt keeps the transfers with an unanswered attempt, 32 bytes each.
func (j *Judge) doubt(op *history.Op) {
	if !j.audited() || op.Outcome != history.Unknown {
		return
	}
	if last := len(j.unanswered) - 1; last < 0 || j.unanswered[last].client != op.Client || j.unanswered[last].seq != op.Seq {
		j.unanswered = append(j.unanswered, unanswered{op.Client, op.Seq, op.First, !op.Last || op.Attempt > 1})
	}
}

// gone holds the transfers that may have been shown and taken back, each once.
type gone struct {
	j         *Judge
	byAccount map[int64][]unanswered
	// without has, in ascending order, the first starts of the transfers without a row.
	without []int64
}

func newGone(j *Judge) *gone {
	g := &gone{j: j, byAccount: map[int64][]unanswered{}}
	all := slices.Clone(j.unanswered)
	slices.SortFunc(all, func(x, y unanswered) int {
		return cmp.Or(cmp.Compare(x.client, y.client), cmp.Compare(x.seq, y.seq), cmp.Compare(x.first, y.first))
	})
	all = slices.CompactFunc(all, func(x, y unanswered) bool { return x.client == y.client && x.seq == y.seq })
	for _, u := range all {
		b, i := j.ops.find(u.client, u.seq)
		without := b != nil && b.states[i].rows() == 0
		if without {
			g.without = append(g.without, u.first)
		}
		if source, destination, _ := j.config.Expect(j.config.ID(u.client, u.seq)); without || u.repeated {
			g.byAccount[source] = append(g.byAccount[source], u)
			g.byAccount[destination] = append(g.byAccount[destination], u)
		}
	}
	slices.Sort(g.without)
	return g
}

func (g *gone) startedBy(at int64) int64 {
	n, _ := slices.BinarySearchFunc(g.without, at, func(first, at int64) int {
		if first <= at {
			return -1
		}
		return 1
	})
	return int64(n)
}

type state struct {
	version, balance int64
	known, exact     bool // of what is not exact, the lowest 32 bits are known
}

const (
	// pastStates is how many earlier states of an account are kept. It also bounds the
	// transfers that can explain one reading. If an account has more than mostDoubted, any of
	// them may explain it.
	pastStates  = 16
	mostDoubted = 12
)

// past is a ring of the last states of an account, by version.
type past [pastStates]state

func (b *balances) keep(version int64) {
	b.past[version%pastStates] = state{version, b.balance, b.known, b.exact}
}

// explains looks for unanswered transfers that turn an earlier state into the reading: each raises
// the version by one and moves its amount. It returns their names.
func (g *gone) explains(p *past, r *reading, end int64) (names string, ok bool) {
	var doubted []unanswered
	for _, u := range g.byAccount[int64(r.account)] {
		if u.first <= end {
			doubted = append(doubted, u)
		}
	}
	if len(doubted) > mostDoubted {
		return "some of " + check.Count(int64(len(doubted))) + " transfers", true
	}
	for set := 1; set < 1<<len(doubted); set++ {
		base, moved := r.version, int64(0)
		var all []string
		for i, u := range doubted {
			if set>>i&1 == 0 {
				continue
			}
			id := g.j.config.ID(u.client, u.seq)
			_, destination, amount := g.j.config.Expect(id)
			if destination != int64(r.account) {
				amount = -amount
			}
			base, moved, all = base-1, moved+amount, append(all, g.j.transfer(id))
		}
		if base < 0 {
			continue
		}
		was := p[base%pastStates]
		if !was.known || was.version != base {
			continue
		}
		if now := was.balance + moved; now == r.balance || !was.exact && uint32(now) == uint32(r.balance) {
			return strings.Join(all, ", "), true
		}
	}
	return "", false
}

// goneRead convicts the audit of a reading that unanswered transfers explain.
func (b *balances) goneRead(r *reading) bool {
	x := &b.audits.audits.partial[r.audit]
	names, ok := b.audits.gone.explains(&b.past, r, x.end)
	if ok {
		b.audits.convict(r.audit, KindGoneRead, func() check.Evidence {
			e := b.audits.reading(r)
			e.Text = fmt.Sprintf("%s read %d in account %d at version %d, which the journal does not give it, and which it has after %s: no answer had come, and what was shown is gone",
				x.name(), r.balance, r.account, r.version, names)
			return e
		})
	}
	return ok
}
