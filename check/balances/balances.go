// Package balances judges histories of a bank in which clients move money
// between accounts and read all of them at once, as in Jepsen's bank workload:
// whether each read shows the same total, and no account below zero. It is for
// histories that others recorded. check/ledger checks workload bank far more
// closely, by its journal.
//
// It does not depend on where histories come from, nor on any database.
package balances

import (
	"fmt"
	"math/big"
	"math/bits"
	"strings"

	"assay/check"
	"assay/history"
)

// NoTime is a time that is not known.
const NoTime = -1

// Account is what a read saw of one account.
type Account struct {
	// ID is the account's name as it is to be shown.
	ID      string
	Balance int64
	// Missing means that the read had no balance for the account.
	Missing bool
}

// Read is one read of all accounts that was answered.
type Read struct {
	// ID is how the reader of a report finds the read again.
	ID      int64
	Process int64
	// Invoke and Complete are nanoseconds since the history began, or NoTime.
	Invoke, Complete int64
	// Accounts are all that were seen; none are a total of 0.
	Accounts []Account
}

// Options describes what a history itself does not tell.
type Options struct {
	// Total is what the balances must add up to. Without TotalKnown, it is the
	// total that most reads saw.
	Total      int64
	TotalKnown bool
	// NegativeAllowed means that accounts may go below zero.
	NegativeAllowed bool
	// Accounts are the names of all accounts, each of which a read must show,
	// and no other. Without them, nobody knows whether an account that a read
	// lacks was there.
	Accounts []string
}

// The kinds of evidence.
const (
	kindTotal    = "total"
	kindNegative = "negative"
	kindMissing  = "missing-balance"
	kindLacking  = "missing-account"
	kindForeign  = "unexpected-account"
)

const (
	// maxTotals bounds the different totals that are kept; a history with more
	// is wrong whatever they are.
	maxTotals = 4096
	// perTotal bounds the reads that are listed of each.
	perTotal = 3
	// maxShown bounds the accounts that are listed of a read.
	maxShown = 20
)

// total is a sum of balances, of 128 bits.
type total struct {
	high int64
	low  uint64
}

func (t total) plus(v int64) total {
	low, carry := bits.Add64(t.low, uint64(v), 0)
	return total{high: t.high + v>>63 + int64(carry), low: low}
}

func (t total) big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(t.high), 64)
	return v.Add(v, new(big.Int).SetUint64(t.low))
}

// readsOfTotal is what is kept of the reads that saw one total.
type readsOfTotal struct {
	total total
	reads int64
	first []example
}

// example is a read in words.
type example struct {
	text   string
	fields map[string]int64
}

// Judge judges one history. What it keeps grows with the number of accounts
// only. It is not safe for concurrent use.
type Judge struct {
	o Options

	transfers, possible int64
	reads, unanswered   int64
	without             int64 // reads that missed a balance

	totals map[total]*readsOfTotal
	order  []*readsOfTotal // as they came up
	beyond int64           // reads of totals that were not kept

	negative, missing []check.Evidence
	negatives         int64

	accounts knownAccounts
}

// New returns a judge.
func New(o Options) *Judge {
	return &Judge{o: o, totals: map[total]*readsOfTotal{}, accounts: newKnownAccounts(o.Accounts)}
}

// Account takes note that there is an account, because a transfer that took
// effect names it.
func (j *Judge) Account(id string) { j.accounts.add(id) }

// Transfer takes note of a transfer.
func (j *Judge) Transfer(outcome history.Outcome) {
	j.transfers++
	if outcome == history.Committed || outcome == history.Unknown {
		j.possible++
	}
}

// Unanswered takes note of a read of which the history has no accounts.
func (j *Judge) Unanswered() { j.unanswered++ }

// Read judges one read. Nothing of it is kept but words.
func (j *Judge) Read(r *Read) {
	j.reads++
	j.accounts.read(r)
	var sum total
	whole := true
	for _, a := range r.Accounts {
		if a.Missing {
			whole = false
			continue
		}
		sum = sum.plus(a.Balance)
		if a.Balance < 0 && !j.o.NegativeAllowed {
			j.negatives++
			if len(j.negative) < check.MaxEvidence {
				e := check.Evidence{Kind: kindNegative, Fields: r.fields(),
					Text: fmt.Sprintf("%s saw account %s at %d, below zero", r, a.ID, a.Balance)}
				e.Fields["balance"] = a.Balance
				j.negative = append(j.negative, e)
			}
		}
	}
	if !whole {
		j.without++
		if len(j.missing) < check.MaxEvidence {
			j.missing = append(j.missing, check.Evidence{Kind: kindMissing, Fields: r.fields(),
				Text: fmt.Sprintf("%s saw no balance of an account that it read: %s", r, r.list())})
		}
		return
	}
	j.addTotal(r, sum)
}

// addTotal counts the total of a read.
func (j *Judge) addTotal(r *Read, sum total) {
	s := j.totals[sum]
	if s == nil {
		if len(j.order) == maxTotals {
			j.beyond++
			return
		}
		s = &readsOfTotal{total: sum}
		j.totals[sum] = s
		j.order = append(j.order, s)
	}
	if s.reads++; s.reads <= perTotal {
		s.first = append(s.first, example{
			text:   fmt.Sprintf("%s saw a total of %s in %s (%s)", r, sum.big(), plural(int64(len(r.Accounts)), "account"), r.list()),
			fields: r.fields(),
		})
	}
}

func (r *Read) fields() map[string]int64 {
	f := map[string]int64{"operation": r.ID, "process": r.Process}
	if r.Invoke != NoTime {
		f["invoke_ns"] = r.Invoke
	}
	if r.Complete != NoTime {
		f["complete_ns"] = r.Complete
	}
	return f
}

// String identifies the read.
func (r *Read) String() string {
	when := ""
	if r.Invoke != NoTime && r.Complete != NoTime {
		when = fmt.Sprintf(", %.6f s to %.6f s", float64(r.Invoke)/1e9, float64(r.Complete)/1e9)
	}
	return fmt.Sprintf("read by process %d (operation %d%s)", r.Process, r.ID, when)
}

func (r *Read) list() string {
	var parts []string
	for i, a := range r.Accounts {
		if i == maxShown {
			parts = append(parts, "...")
			break
		}
		if a.Missing {
			parts = append(parts, a.ID+": none")
		} else {
			parts = append(parts, fmt.Sprintf("%s: %d", a.ID, a.Balance))
		}
	}
	return strings.Join(parts, ", ")
}
