package ledger

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"assay/check"
	"assay/history"
	"assay/internal/quantity"
)

// Tally counts what was judged.
type Tally struct {
	// Counts has the transfers by outcome. Unknown includes those with a row and without a record.
	history.Counts
	// UnknownApplied is how many of Unknown have a row.
	UnknownApplied int64
	// Rows is the number of rows read.
	Rows int64
}

// Results judges the input so far: total, accounts, transfers, order and, if audits are judged,
// snapshots. It changes nothing.
func (j *Judge) Results() []check.Result {
	transfers, tally := j.judgeTransfers()
	results := []check.Result{j.judgeTotal(), j.judgeAccounts(), j.transfersResult(transfers, tally)}
	return append(results, j.judgeOrder()...)
}

// Tally counts the input so far.
func (j *Judge) Tally() Tally {
	_, tally := j.judgeTransfers()
	return tally
}

func (j *Judge) loaded() *big.Int {
	sum := new(big.Int)
	for id := int64(1); id <= j.config.Accounts; id++ {
		sum.Add(sum, big.NewInt(j.config.Opening(id)))
	}
	return sum
}

func (j *Judge) judgeTotal() check.Result {
	r := check.Result{Name: "total"}
	found := j.total.Clone()
	loaded := j.loaded()
	// A journal without accounts shows that there were accounts, which are now missing.
	whole := j.incomplete[Accounts] == "" && j.accountsRead+j.rowsRead > 0
	if whole {
		j.findMissing(found)
		j.findSum(found, loaded)
	}
	found.AddTo(&r)
	if r.Verdict == check.Violated {
		r.Detail = fmt.Sprintf("%s accounts were read where %s were loaded with %s in all: %v",
			check.Count(j.accountsRead), check.Count(j.config.Accounts), quantity.Grouped(loaded.String()), found)
		return r
	}
	if j.unproven(&r, Accounts) {
		return r
	}
	r.Verdict = check.Valid
	r.Detail = fmt.Sprintf("%s accounts hold %s, exactly what was loaded, and none is below zero",
		check.Count(j.config.Accounts), quantity.Grouped(loaded.String()))
	return r
}

func (j *Judge) findMissing(found check.Findings) {
	for i, seen := range j.accountRead {
		if seen {
			continue
		}
		found.Add(kindMissingAccount, func() check.Evidence {
			id := int64(i + 1)
			return check.Evidence{
				Text: fmt.Sprintf("account %d, loaded with %d, is gone", id, j.config.Opening(id)),
				Fields: map[string]int64{"account": id, "opening": j.config.Opening(id),
					"journal_rows": j.accounts[i].touched},
			}
		})
	}
}

func (j *Judge) findSum(found check.Findings, loaded *big.Int) {
	held := &j.sum
	off := new(big.Int).Sub(held, loaded)
	if off.Sign() == 0 {
		return
	}
	found.Add(kindSum, func() check.Evidence {
		word := "too much"
		if off.Sign() < 0 {
			word = "too little"
		}
		e := check.Evidence{Text: fmt.Sprintf("the accounts hold %v where %v were loaded: %v %s",
			held, loaded, new(big.Int).Abs(off), word)}
		if held.IsInt64() && loaded.IsInt64() && off.IsInt64() {
			e.Fields = map[string]int64{"held": held.Int64(), "loaded": loaded.Int64(), "off": off.Int64()}
		}
		return e
	})
}

func (j *Judge) judgeAccounts() check.Result {
	r := check.Result{Name: "accounts"}
	found := newFindings(accountKinds)
	var compared int64
	if j.incomplete[Journal] == "" {
		compared = j.compareAccounts(found)
	}
	found.AddTo(&r)
	if r.Verdict == check.Violated {
		r.Detail = fmt.Sprintf("%s compared with %s: %v", check.Counted(compared, "account", "accounts"), journalRows(j.rowsRead), found)
		return r
	}
	if j.unproven(&r, Accounts, Journal) {
		return r
	}
	if compared < j.config.Accounts {
		r.Detail = fmt.Sprintf("%s of %s accounts agree with %s; the others were not there to be compared",
			check.Count(compared), check.Count(j.config.Accounts), journalRows(j.rowsRead))
		return r
	}
	r.Verdict = check.Valid
	r.Detail = fmt.Sprintf("each of %s accounts has the balance and the version that %s it",
		check.Count(compared), check.Counted(j.rowsRead, "journal row gives", "journal rows give"))
	return r
}

func (j *Judge) compareAccounts(found check.Findings) (compared int64) {
	for i, a := range j.accounts {
		if !j.accountRead[i] {
			continue
		}
		compared++
		id := int64(i + 1)
		opening := j.config.Opening(id)
		if want := opening + a.effect; a.balance != want {
			found.Add(kindBalance, func() check.Evidence {
				return check.Evidence{
					Text: fmt.Sprintf("account %d holds %d; opening %d and %s make it %d: off by %d",
						id, a.balance, opening, journalRows(a.touched), want, a.balance-want),
					Fields: map[string]int64{"account": id, "balance": a.balance, "expected": want,
						"off": a.balance - want, "journal_rows": a.touched},
				}
			})
		}
		if a.version != a.touched {
			found.Add(kindVersion, func() check.Evidence {
				return check.Evidence{
					Text:   fmt.Sprintf("account %d has version %d, but %s it", id, a.version, check.Counted(a.touched, "journal row touches", "journal rows touch")),
					Fields: map[string]int64{"account": id, "version": a.version, "journal_rows": a.touched},
				}
			})
		}
	}
	return compared
}

func (j *Judge) judgeTransfers() (check.Findings, Tally) {
	found := j.transfers.Clone()
	// An absence is a violation only if there was something to read and it was read to the end.
	absence := j.incomplete[Journal] == "" && j.rowsRead+j.accountsRead > 0
	lost := absence && !j.config.Earlier
	var counts [1 << 8]int64
	var kinds [1 << 8]string
	for m := range kinds {
		kinds[m] = violationKind(opState(m))
	}
	for _, b := range j.ops.sorted() {
		for i, m := range b.states[:] {
			counts[m]++
			kind := kinds[m]
			if kind == "" {
				continue
			}
			if kind == kindLost && !lost {
				continue
			}
			found.Add(kind, func() check.Evidence { return j.transferEvidence(m, b.key.client(), b.key.seq(i)) })
		}
	}
	if absence {
		j.findOtherVersions(found, &kinds)
	}
	return found, j.tally(&counts)
}

// violationKind returns the kind of an operation's violation, or "". Operations that are no
// transfers have neither an outcome nor rows.
func violationKind(m opState) string {
	switch outcome, rows := m.outcome(), m.rows(); {
	case outcome == history.Committed && rows == 0:
		return kindLost
	case outcome == history.Failed && rows > 0:
		return kindAppliedFailed
	case outcome == history.Rejected && rows > 0:
		return kindAppliedRejected
	case rows > 1:
		return kindDoubled
	default:
		return ""
	}
}

func (j *Judge) transferEvidence(m opState, client int, seq uint64) check.Evidence {
	id := j.config.ID(client, seq)
	source, destination, amount := j.config.Expect(id)
	var what string
	switch {
	case m.rows() == 0:
		what = "was acknowledged as committed and has no journal row"
	case m.rows() == 1:
		what = fmt.Sprintf("ended as %v and has a journal row", m.outcome())
	case m.rows() == 2:
		what = fmt.Sprintf("ended as %v and has two journal rows", m.outcome())
	default:
		what = fmt.Sprintf("ended as %v and has more than two journal rows", m.outcome())
	}
	return check.Evidence{
		Text: fmt.Sprintf("transfer %d (client %d, operation %d: %d from account %d to %d) %s",
			id, client, seq, amount, source, destination, what),
		Fields: map[string]int64{"id": id, "client": int64(client), "operation": int64(seq), "source": source,
			"destination": destination, "amount": amount, "rows": int64(m.rows())},
	}
}

// findOtherVersions reports the transfers acknowledged with other versions than their row has,
// unless another violation of theirs is reported already.
func (j *Judge) findOtherVersions(found check.Findings, reported *[1 << 8]string) {
	inOrder := func(a, b operationAt) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.i, b.i)) }
	for _, o := range slices.SortedFunc(slices.Values(j.otherVersions), inOrder) {
		if reported[o.states[o.i]] != "" {
			continue
		}
		found.Add(kindAcknowledged, func() check.Evidence {
			client, seq := o.key.client(), o.key.seq(o.i)
			id := j.config.ID(client, seq)
			source, destination, _ := j.config.Expect(id)
			return check.Evidence{
				Text: fmt.Sprintf("%s was acknowledged with other versions of accounts %d and %d than its journal row has",
					j.transfer(id), source, destination),
				Fields: map[string]int64{"id": id, "client": int64(client), "operation": int64(seq),
					"source": source, "destination": destination},
			}
		})
	}
}

func (j *Judge) tally(counts *[1 << 8]int64) Tally {
	t := Tally{Rows: j.rowsRead}
	for i, n := range counts {
		m := opState(i)
		if m.has(other) || n == 0 || m.outcome() == history.Unknown && !m.has(recorded) && m.rows() == 0 {
			continue
		}
		t.Add(m.outcome(), n)
		if m.outcome() == history.Unknown && m.rows() > 0 {
			t.UnknownApplied += n
		}
	}
	return t
}

func (j *Judge) transfersResult(found check.Findings, t Tally) check.Result {
	r := check.Result{Name: "transfers"}
	found.AddTo(&r)
	if r.Verdict == check.Violated {
		r.Detail = fmt.Sprintf("%s committed, %s rejected, %s failed and %s unknown transfers compared with %s: %v",
			check.Count(t.Committed), check.Count(t.Rejected), check.Count(t.Failed), check.Count(t.Unknown), journalRows(t.Rows), found)
		return r
	}
	if j.unproven(&r, History, Journal) {
		return r
	}
	r.Verdict = check.Valid
	r.Detail = check.Counted(t.Committed, "committed transfer has", "committed transfers have") + " exactly one journal row each"
	if t.Rejected+t.Failed > 0 {
		r.Detail += fmt.Sprintf(", %s rejected and %s failed ones have none", check.Count(t.Rejected), check.Count(t.Failed))
	}
	if t.Unknown > 0 {
		r.Detail += fmt.Sprintf(", %s of %s unknown ones took effect", check.Count(t.UnknownApplied), check.Count(t.Unknown))
	}
	if t.Rejected+t.Failed+t.Unknown == 0 {
		r.Detail += ", and none ended otherwise"
	}
	return r
}

func journalRows(n int64) string { return check.Counted(n, "journal row", "journal rows") }

// unproven sets the detail and returns true if the absence of errors proves nothing: nothing was
// done or read, or a needed part is not whole.
func (j *Judge) unproven(r *check.Result, needs ...Part) bool {
	switch {
	case j.rowsRead+j.accountsRead == 0:
		r.Detail = fmt.Sprintf("nothing was read back, though %s committed", check.Counted(j.committed, "transfer was", "transfers were"))
		return true
	case j.accountsRead == 0:
		r.Detail = fmt.Sprintf("no account was read back, only %s", journalRows(j.rowsRead))
		return true
	}
	for _, part := range needs {
		if j.incomplete[part] != "" {
			r.Detail = fmt.Sprintf("the %v is incomplete (%s), with %s, %s and %s",
				part, j.incomplete[part], check.Counted(j.committed, "committed transfer", "committed transfers"), journalRows(j.rowsRead),
				check.Counted(j.accountsRead, "account", "accounts"))
			return true
		}
	}
	if j.committed == 0 {
		r.Detail = "nothing was committed, so that nothing was put to the test"
		return true
	}
	return false
}
