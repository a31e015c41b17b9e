package bugs

import (
	"context"
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
