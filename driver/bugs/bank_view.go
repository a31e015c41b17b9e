package bugs

import (
	"context"
	"slices"
	"sort"

	"assay/workload/bank"
)

// view is how what is shown of a bank differs from what the database holds.
type view struct {
	accounts map[int64]*difference
	// rows has, by the ids that the database holds, what is shown in place of
	// rows of the journal.
	rows map[int64]replacement
	// added are shown beside.
	added []bank.Entry
	// sum is that of all differences.
	sum bank.State
}

// replacement gives the rows that are shown in place of one.
type replacement func(bank.Entry) []bank.Entry

func hidden(bank.Entry) []bank.Entry { return nil }

// difference is added to an account's state.
type difference struct {
	bank.State
	// shifts are added to the versions that rows of the journal gave the
	// account, ascending by from.
	shifts []shift
}

// shift is added to versions, as the database holds them, from one on, up to the
// next shift.
type shift struct{ from, by int64 }

func newView() *view {
	return &view{accounts: map[int64]*difference{}, rows: map[int64]replacement{}}
}

// change changes an account as it is shown. If its version changes, so do those
// of rows that gave it the version from or a later one; 0 stands for no row.
func (v *view) change(id, balance, version, from int64) {
	d := v.accounts[id]
	if d == nil {
		d = &difference{}
		v.accounts[id] = d
	}
	d.Balance += balance
	d.Version += version
	v.sum.Balance += balance
	v.sum.Version += version
	if version != 0 && from > 0 {
		d.shifts = append(d.shifts, shift{from, d.shift(from) + version})
	}
}

func (d *difference) shift(version int64) int64 {
	i := sort.Search(len(d.shifts), func(i int) bool { return d.shifts[i].from > version })
	if i == 0 {
		return 0
	}
	return d.shifts[i-1].by
}

// state is an account's state as it is shown.
func (v *view) state(id int64, s bank.State) bank.State {
	if d := v.accounts[id]; d != nil {
		return bank.State{Balance: s.Balance + d.Balance, Version: s.Version + d.Version}
	}
	return s
}

// entries are the rows that are shown in place of one of the journal.
func (v *view) entries(e bank.Entry) []bank.Entry {
	replace := v.rows[e.ID]
	if d := v.accounts[e.Source]; d != nil {
		e.SourceVersion += d.shift(e.SourceVersion)
	}
	if d := v.accounts[e.Destination]; d != nil {
		e.DestinationVersion += d.shift(e.DestinationVersion)
	}
	if replace == nil {
		return []bank.Entry{e}
	}
	return replace(e)
}

// reader is bank.Store.Read.
type reader = func(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error

// read gives what a reader reads, as it is shown.
func (v *view) read(from reader, ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	err := from(ctx, func(a bank.Account) error {
		s := v.state(a.ID, bank.State{Balance: a.Balance, Version: a.Version})
		return account(bank.Account{ID: a.ID, Balance: s.Balance, Version: s.Version})
	}, func(e bank.Entry) error { return each(v.entries(e), entry) })
	if err != nil {
		return err
	}
	return each(v.added, entry)
}

// each gives rows until there is an error.
func each[R any](rows []R, give func(R) error) error {
	for _, row := range rows {
		if err := give(row); err != nil {
			return err
		}
	}
	return nil
}

// The members of a database that has but one, as a split brain shows them.
const (
	firstMember  = "member 1"
	secondMember = "member 2"
)

// Replicas implements bank.Replicated. A database that has no second member is
// shown with one if a bug is to part it from the first.
func (s *bankStore) Replicas(ctx context.Context) (members []bank.Replica, unreachable map[string]error, err error) {
	if r, ok := s.inner.(bank.Replicated); ok {
		members, unreachable, err = r.Replicas(ctx)
	}
	if err == nil && len(members) < 2 && len(unreachable) == 0 && s.splits() {
		members = []bank.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}
	}
	return members, unreachable, err
}

func (s *bankStore) splits() bool {
	return slices.ContainsFunc(s.active, func(b *active[bankActions]) bool { return b.Check == checkReplicas })
}

func (s *bankStore) CatchUp(ctx context.Context, member bank.Replica) error {
	if r, ok := s.inner.(bank.Replicated); ok && member.Name != firstMember && member.Name != secondMember {
		return r.CatchUp(ctx, member)
	}
	return ctx.Err()
}

func (s *bankStore) ReadReplica(ctx context.Context, member bank.Replica, account func(bank.Account) error, entry func(bank.Entry) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	from := s.inner.Read
	if r, ok := s.inner.(bank.Replicated); ok && member.Name != firstMember && member.Name != secondMember {
		from = func(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
			return r.ReadReplica(ctx, member, account, entry)
		}
	}
	shown := s.other
	if member.Primary {
		shown = s.primary
	}
	return shown.read(from, ctx, account, entry)
}

// Names of the checks, as in a result.
const (
	checkTotal     = "total"
	checkAccounts  = "accounts"
	checkTransfers = "transfers"
	checkOrder     = "order"
	checkSnapshots = "snapshots"
	checkReplicas  = "replicas"
)

// bankBugs are all bugs of the bank: first those in what is done, then those in
// what is answered, in rows and in reading, and in keeping transactions apart.
func bankBugs() []bugOf[bankActions] {
	return []bugOf[bankActions]{
		{Bug{Name: "torn-transfer", Check: checkTotal,
			Doc: "the credit is lost, the debit and the row stay"}, bankActions{after: tearTransfer}},
		{Bug{Name: "partial-rollback", Check: checkAccounts,
			Doc: "a transfer that is rejected for lack of funds, or made to fail, leaves the debit, the credit or the row behind"},
			bankActions{after: rollBackPartially, refused: true}},
		{Bug{Name: "duplicate-apply", Check: checkTransfers,
			Doc: "a transfer is done twice, or its row is entered twice: two rows of one id"}, bankActions{after: applyTwice}},
		{Bug{Name: "moved-twice", Check: checkAccounts,
			Doc: "a transfer has one row and changes both balances twice"}, bankActions{after: moveTwice, occasion: canMoveTwice}},
		{Bug{Name: "lost-update", Check: checkOrder, Kinds: []string{"lost-update"},
			Doc: "the last update of one of the two accounts is overwritten by one that did not see it: its version is given again"},
			bankActions{after: overwrite, occasion: canOverwrite}},
		{Bug{Name: "negative-balance", Check: checkTotal, Passing: true,
			Doc: "the debit is done without looking at the funds; it shows if an account that ran dry is still below zero at the end"},
			bankActions{after: overdraw, refused: true, onlyRefused: true}},
		{Bug{Name: "lost-ack", Check: checkTransfers,
			Doc: "a committed transfer is there until the next call and then lost as a whole, row and both balances"}, bankActions{after: loseNext}},
		{Bug{Name: "reported-never-applied", Check: checkTransfers,
			Doc: "committed is answered and nothing stays"}, bankActions{after: loseNow}},
		{Bug{Name: "failed-but-applied", Check: checkTransfers,
			Doc: "a transfer is applied and answered as failed"}, bankActions{after: denyApplied}},
		{late("transfer applied"), bankActions{instead: applyLater}},
		{Bug{Name: "altered-row", Check: checkTransfers,
			Doc: "the row has another amount or another destination than the transfer"}, bankActions{after: alterRow}},
		{Bug{Name: "extra-row", Check: checkTransfers,
			Doc: "a transfer that nobody asked for is done beside, with balances to match"}, bankActions{after: addTransfer}},
		{Bug{Name: "truncated-read", Check: checkTotal, Or: checkTransfers,
			Doc: "a read ends early and without an error: the tail of the accounts (found by total) or of the journal (found by transfers) is missing"},
			bankActions{truncates: true}},
		{Bug{Name: "dirty-read", Check: checkSnapshots, Kinds: []string{"dirty-read", "read-skew", "audit-sum"},
			Doc: "an audit sees a transfer in the middle: the debit and not the credit, or of the source the new balance and not yet the new version"},
			bankActions{audit: auditInTheMiddle, total: totalInTheMiddle}},
		{Bug{Name: "aborted-read", Check: checkSnapshots, Kinds: []string{"dirty-read", "no-such-version", "read-skew", "audit-sum"},
			Doc: "a transfer is made to fail after its debit, and an audit sees the debit all the same"},
			bankActions{instead: abort, audit: auditOfAborted, total: totalOfAborted}},
		{Bug{Name: "read-skew", Check: checkSnapshots, Kinds: []string{"read-skew", "audit-sum"},
			Doc: "an audit reads some accounts before a transfer and some after it"},
			bankActions{audit: auditWithoutSnapshot, total: totalWithoutSnapshot}},
		{Bug{Name: "long-fork", Check: checkSnapshots, Kinds: []string{"long-fork"},
			Doc: "an audit sees a transfer that the audit before did not see, and does not see one that the audit before saw"},
			bankActions{audit: auditOfAFork}},
		{Bug{Name: "stale-read", Check: checkSnapshots, Kinds: []string{"stale-read"},
			Doc: "an audit of some accounts sees an earlier state, in which a transfer is missing that had been acknowledged before it began"},
			bankActions{audit: auditOfThePast}},
		{Bug{Name: "split-brain", Check: checkReplicas,
			Doc: "a committed transfer is on the primary only or on the other members only; if it is not on the primary, it is lost as well (found by transfers)"},
			bankActions{after: splitMembers}},
	}
}
