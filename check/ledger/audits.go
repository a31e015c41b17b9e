package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"assay/history"
)

// audits are the audits that committed according to the history.
type audits struct {
	partial  []audit
	readings []reading
	full     []fullAudit
	// malformed is why an audit could not be understood.
	malformed string
}

// audit is one of some accounts: readings from to from+count.
type audit struct {
	seq        uint64
	first, end int64
	client     int32
	from       uint32
	count      uint32
}

func (a *audit) name() string { return fmt.Sprintf("audit %d of client %d", a.seq, a.client) }

// reading is what an audit read of one account.
type reading struct {
	balance, version int64
	account, audit   uint32
}

type fullAudit struct {
	seq                     uint64
	first, end              int64
	count, balance, version int64
	client                  int32
}

// maxReadings keeps their numbers, and those of audits, within 32 bits beside
// those of entries.
const maxReadings = 1 << 30

// audit takes an operation that ended and is not a transfer.
func (j *Judge) audit(op *history.Op) {
	a := &j.audits
	switch {
	case op.Kind == 0 || op.Final != history.Committed:
	case op.Kind == j.config.AuditKind:
		accounts := j.config.Audited(op.Client, op.Seq)
		if !j.readable(accounts, len(op.Values)) {
			if a.malformed == "" {
				a.malformed = fmt.Sprintf("audit %d of client %d has %d values for %d accounts", op.Seq, op.Client, len(op.Values), len(accounts))
			}
			return
		}
		n := uint32(len(a.partial))
		a.partial = append(a.partial, audit{seq: op.Seq, client: int32(op.Client), first: op.First, end: lasting(op),
			from: uint32(len(a.readings)), count: uint32(len(accounts))})
		for i, id := range accounts {
			a.readings = append(a.readings, reading{balance: op.Values[2*i], version: op.Values[2*i+1], account: uint32(id), audit: n})
		}
	case op.Kind == j.config.FullAuditKind:
		if len(op.Values) != 3 {
			if a.malformed == "" {
				a.malformed = fmt.Sprintf("full audit %d of client %d has %d values instead of 3", op.Seq, op.Client, len(op.Values))
			}
			return
		}
		a.full = append(a.full, fullAudit{seq: op.Seq, client: int32(op.Client), first: op.First, end: lasting(op),
			count: op.Values[0], balance: op.Values[1], version: op.Values[2]})
	}
}

// lasting is the end of an operation, or the end of time if it makes no sense.
func lasting(op *history.Op) int64 {
	if op.End < op.First {
		return math.MaxInt64
	}
	return op.End
}

// readable is true if the accounts are there and distinct, and a balance and a
// version was given for each.
func (j *Judge) readable(accounts []int64, values int) bool {
	if len(accounts) == 0 || values != 2*len(accounts) || len(j.audits.readings)+len(accounts) > maxReadings {
		return false
	}
	for i, id := range accounts {
		if j.account(id) == nil || slices.Contains(accounts[:i], id) {
			return false
		}
	}
	return true
}

// of returns the readings of an audit.
func (a *audits) of(n uint32) []reading {
	from := a.partial[n].from
	return a.readings[from : from+a.partial[n].count]
}

// byAccount sorts the numbers of the readings by account and version. start is
// where those of each account begin, by id-1; those of the last end where one
// more would begin.
func (a *audits) byAccount(accounts int) (index, start []uint32) {
	start = make([]uint32, accounts+2)
	for _, r := range a.readings {
		start[r.account]++
	}
	for i := range accounts + 1 {
		start[i+1] += start[i]
	}
	// Now start[id] is where id ends, and filling from the end moves it to
	// where id begins.
	index = make([]uint32, len(a.readings))
	for n := len(a.readings) - 1; n >= 0; n-- {
		id := a.readings[n].account
		start[id]--
		index[start[id]] = uint32(n)
	}
	start = start[1:]
	for i := range accounts {
		slices.SortFunc(index[start[i]:start[i+1]], func(x, y uint32) int {
			return cmp.Or(cmp.Compare(a.readings[x].version, a.readings[y].version), cmp.Compare(x, y))
		})
	}
	return index, start
}
