package recorded

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"assay/check"
	"assay/history/exchange"
)

const (
	kindTotal    = "total"
	kindNegative = "negative"
	kindMissing  = "missing-balance"
	kindLacking  = "missing-account"
	kindForeign  = "unexpected-account"
)

const (
	// maxTotals bounds the different totals kept; a history with more is wrong in any case.
	maxTotals = 4096
	perTotal  = 3
	maxShown  = 20
)

// Bank holds facts about a bank that its history does not tell.
type Bank struct {
	// Total is the sum of the balances; nil means the total that most reads saw.
	Total *int64
	// NegativeAllowed means that accounts may go below zero.
	NegativeAllowed bool
	// Accounts names all accounts, and every read must show exactly these. Without it, nothing
	// tells whether an account missing from a read existed.
	Accounts []string
}

// Open returns a judge of a bank, whose clients move money between accounts and read all accounts
// at once (jepsen.tests.bank). Each read must show the same total, and no account below zero.
// Memory grows only with the number of accounts. check/ledger checks workload bank far more
// closely, by its journal.
func (o Bank) Open() Judge {
	b := &bank{o: o, totals: map[string]*readsOfTotal{}, accounts: map[string]struct{}{}, sizes: map[int]int64{},
		found: newFindings(kindMissing, kindNegative, kindLacking, kindForeign)}
	for _, id := range o.Accounts {
		b.accounts[id] = struct{}{}
	}
	return b
}

type bank struct {
	o Bank

	transfers, possible int64
	reads, unanswered   int64

	totals map[string]*readsOfTotal
	order  []*readsOfTotal // as they came up
	beyond int64           // reads of totals that were not kept

	found *findings // of the other kinds

	// accounts are the given accounts, or else all that a read or transfer named.
	accounts map[string]struct{}
	// sizes counts the reads by their number of accounts; shortest is a read with the fewest.
	sizes    map[int]int64
	shortest *bankRead
}

type readsOfTotal struct {
	total *big.Int
	reads int64
	first []check.Evidence
}

type bankRead struct {
	by       Operation
	accounts []exchange.Account
}

// NotKeyed is the error of an operation with an independent key in a history that began without.
func NotKeyed(o *exchange.Operation) error {
	return fmt.Errorf("a value of the independent key %s, in a history that began without such keys", o.Key)
}

// Add takes a transfer or a read of all accounts. A read without accounts is only counted.
func (b *bank) Add(o *exchange.Operation) error {
	by := operationOf(o)
	switch {
	case o.Keyed:
		return NotKeyed(o)
	case o.Function == exchange.Transfer:
		b.transfers++
		if by.Possible() {
			b.possible++
		}
		if by.Acknowledged() && len(b.o.Accounts) == 0 {
			b.accounts[o.Movement.From.String()] = struct{}{}
			b.accounts[o.Movement.To.String()] = struct{}{}
		}
	case o.Function == exchange.ReadAccounts && by.Acknowledged():
		b.read(&bankRead{by, o.Accounts})
	default:
		b.unanswered++
	}
	return nil
}

func (b *bank) add(r *bankRead, kind, format string, args ...any) {
	b.found.Add(kind, func() check.Evidence { return r.evidence(kind, format, args...) })
}

func (r *bankRead) evidence(kind, format string, args ...any) check.Evidence {
	e := r.by.evidence(kind, format, args...)
	e.Text = "read by " + e.Text
	return e
}

func (b *bank) read(r *bankRead) {
	b.reads++
	b.compareAccounts(r)
	sum, one := new(big.Int), new(big.Int)
	whole := true
	for _, a := range r.accounts {
		switch {
		case a.Missing:
			whole = false
			continue
		case a.Balance < 0 && !b.o.NegativeAllowed:
			b.add(r, kindNegative, "saw account %s at %s, below zero", a.ID, field{"balance", a.Balance})
		}
		sum.Add(sum, one.SetInt64(a.Balance))
	}
	if !whole {
		b.add(r, kindMissing, "saw no balance of an account that it read: %s", r.list())
		return
	}
	s := b.totals[sum.String()]
	if s == nil {
		if len(b.order) == maxTotals {
			b.beyond++
			return
		}
		s = &readsOfTotal{total: sum}
		b.totals[sum.String()] = s
		b.order = append(b.order, s)
	}
	if s.reads++; s.reads <= perTotal {
		s.first = append(s.first, r.evidence(kindTotal, "saw a total of %s in %s (%s)", field{"total", sum}, plural(len(r.accounts), "account"), r.list()))
	}
}

func (r *bankRead) list() string {
	var parts []string
	for i, a := range r.accounts {
		if i == maxShown {
			parts = append(parts, "...")
			break
		}
		if a.Missing {
			parts = append(parts, a.ID.String()+": none")
		} else {
			parts = append(parts, fmt.Sprintf("%s: %d", a.ID, a.Balance))
		}
	}
	return strings.Join(parts, ", ")
}

// compareAccounts judges the accounts of a read by the given accounts, or notes them.
func (b *bank) compareAccounts(r *bankRead) {
	if len(b.o.Accounts) == 0 {
		for i := range r.accounts {
			b.accounts[r.accounts[i].ID.String()] = struct{}{}
		}
		b.sizes[len(r.accounts)]++
		if b.shortest == nil || len(r.accounts) < len(b.shortest.accounts) {
			b.shortest = &bankRead{r.by, slices.Clone(r.accounts)}
		}
		return
	}
	found, other := 0, ""
	for i := range r.accounts {
		id := r.accounts[i].ID.String()
		if _, known := b.accounts[id]; known {
			found++
		} else {
			other = id
		}
	}
	if found < len(b.accounts) {
		b.add(r, kindLacking, "has no account %s", b.absent(r))
	}
	if found < len(r.accounts) {
		b.add(r, kindForeign, "has account %s, which is none of the bank's", other)
	}
}

func (b *bank) absent(r *bankRead) string {
	lacks := maps.Clone(b.accounts)
	for i := range r.accounts {
		delete(lacks, r.accounts[i].ID.String())
	}
	out := slices.Sorted(maps.Keys(lacks))
	if len(out) > maxShown {
		out = append(out[:maxShown], "...")
	}
	return strings.Join(out, ", ")
}

// undecided describes the reads that lack an account of other reads, if no accounts were given;
// it is empty if there are none.
func (b *bank) undecided() string {
	short := int64(0)
	for size, reads := range b.sizes {
		if size < len(b.accounts) {
			short += reads
		}
	}
	if short == 0 {
		return ""
	}
	return fmt.Sprintf("%s an account that other reads or transfers name (read by %s has no account %s), so nothing can be said; name the bank's accounts",
		check.Counted(short, "read lacks", "reads lack"), &b.shortest.by, b.absent(b.shortest))
}

// Result returns the answer over all operations so far.
func (b *bank) Result(context.Context) check.Result {
	r := check.Result{Name: "balances"}
	should := b.should()
	wrong := b.wrong(&r, should)
	b.found.AddTo(&r)
	r.Detail = fmt.Sprintf("%s of all accounts, %s (%s that may have taken effect); ",
		plural(b.reads, "read"), plural(b.transfers, "transfer"), check.CountOrNone(b.possible))
	switch {
	case r.Verdict == check.Violated:
		r.Detail += b.violationDetail(should, wrong)
	case b.reads == 0:
		r.Detail += "no read was answered, so nothing can be said"
	case b.reads == 1 && b.o.Total == nil:
		r.Detail += "one read alone does not show whether its total is right; give the total, or read more often"
	case b.possible == 0:
		r.Detail += "no money was moved, so nothing was put to the test"
	case b.undecided() != "":
		r.Detail += b.undecided()
	default:
		r.Verdict = check.Valid
		r.Detail += fmt.Sprintf("each read saw a total of %s", should)
		if !b.o.NegativeAllowed {
			r.Detail += " and no account below zero"
		}
	}
	if b.unanswered > 0 {
		r.Detail += fmt.Sprintf("; %s without accounts in the history", plural(b.unanswered, "more read"))
	}
	return r
}

// should returns the given total, or else the most frequent one, and among equals the first.
func (b *bank) should() *big.Int {
	most := readsOfTotal{total: new(big.Int)}
	for _, s := range b.order {
		if s.reads > most.reads {
			most = *s
		}
	}
	if b.o.Total != nil {
		return big.NewInt(*b.o.Total)
	}
	return most.total
}

// wrong adds the reads of a wrong total, one of each total first, and returns their number.
func (b *bank) wrong(r *check.Result, should *big.Int) int64 {
	wrong := b.beyond
	for depth := range perTotal {
		for _, s := range b.order {
			if s.total.Cmp(should) == 0 {
				continue
			}
			if depth == 0 {
				wrong += s.reads
			}
			if depth < len(s.first) {
				e := s.first[depth]
				e.Text += ", " + b.compare(s.total, should)
				if should.IsInt64() {
					e.Fields["expected"] = should.Int64()
				}
				r.Add(e)
			}
		}
	}
	r.AddUnlisted(kindTotal, wrong-r.Found)
	return wrong
}

func (b *bank) compare(is, should *big.Int) string {
	off := new(big.Int).Sub(is, should)
	word := "more"
	if off.Sign() < 0 {
		word = "less"
	}
	from := "there are"
	if b.o.Total == nil {
		from = plural(b.totals[should.String()].reads, "read") + " saw"
	}
	return fmt.Sprintf("%s %s than the %s that %s", off.Abs(off), word, should, from)
}

func (b *bank) violationDetail(should *big.Int, wrong int64) string {
	var parts []string
	tell := func(n int64, format string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, append([]any{check.Count(n)}, args...)...))
		}
	}
	tell(wrong, "%s saw another total than %s", should)
	tell(b.found.Count(kindMissing), "%s missed a balance")
	tell(b.found.Count(kindLacking), "%s lacked an account")
	tell(b.found.Count(kindForeign), "%s saw an account that is none of the bank's")
	if n := b.found.Count(kindNegative); n > 0 {
		parts = append(parts, plural(n, "time")+" an account was below zero")
	}
	return strings.Join(parts, ", ")
}
