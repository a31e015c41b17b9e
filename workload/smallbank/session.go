package smallbank

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

// Schema are the tables. A savings account below zero is what a TransactSaving is refused
// for. A customer's two accounts are two rows, as in the paper: in one they could not show
// write skew where two transactions that write the same row conflict.
func Schema() store.Schema {
	of := store.Schema{Workload: Name, Transactions: true, Judged: true}
	for number, t := range Tables() {
		loaded := number != Journal
		table := store.Table{Name: t.Name, Columns: store.Integers(t.Columns...), Loaded: loaded, LateKey: loaded,
			Updated: number == Saving || number == Checking}
		switch number {
		case Account:
			table.LateKey = false
			table.Columns = append([]store.Column{{Name: "name", Type: store.ASCII, Length: NameLength}}, table.Columns...)
		case Saving:
			table.Floors = []store.Minimum{{Name: "saving_not_overdrawn", Column: "balance"}}
		}
		of.Tables = append(of.Tables, table)
	}
	return of
}

// The statements of a session. Those from onAccounts on are of savings accounts, and
// perTable later of checking accounts.
const (
	findCustomer = iota
	writeJournal
	onAccounts
)

const (
	readAccount = iota
	changeAccount
	emptyAccount
	perTable
)

// statements are the paper's. An account whose value is changed keeps who wrote what was
// there before.
func statements() []store.Statement {
	journal := Tables()[Journal]
	all := []store.Statement{
		findCustomer: {Name: "customer", Verb: store.Read, Table: "account", Columns: []string{"customer_id"}, Where: store.Where("name")},
		writeJournal: {Name: "journal", Verb: store.Insert, Table: journal.Name, Columns: journal.Columns},
	}
	for _, table := range []string{"saving", "checking"} {
		change := store.Statement{Name: "change_" + table, Verb: store.Update, Table: table, Columns: []string{"balance", "previous"},
			Where: store.Where("customer_id"), Set: []store.Assignment{store.Add("balance", store.Parameter(2)),
				store.Set("previous", store.Old("writer")), store.Set("writer", store.Parameter(3))}}
		empty := change
		empty.Name = "empty_" + table
		empty.Set = []store.Assignment{store.Set("balance", store.Number(0)), store.Set("previous", store.Old("writer")), store.Set("writer", store.Parameter(2))}
		all = append(all, store.Statement{Name: table, Verb: store.Read, Table: table, Columns: []string{"balance", "writer"}, Where: store.Where("customer_id")},
			change, empty)
	}
	return all
}

// Opener opens the Store by a driver's Opener.
func Opener(open store.Opener) func(context.Context, workload.Target) (Store, error) {
	return definition.Opening(definition.Fixed(Schema), open, Over)
}

// On is the support of the workload by a driver.
func On(open store.Opener, lacks store.Lacks) definition.Support {
	return definition.On(Definition(), open, lacks, Opener)
}

// Over is the Store on a database of the workload's schema.
func Over(db store.Database) Store {
	return &database{journal.Database[Session]{Database: db, Tables: Tables(), Statements: statements(),
		Texts: map[int]journal.Text{Account: {Name: "name", Of: func(values []int64) string { return CustomerName(values[0]) }}},
		Open:  func(s store.Session) Session { return session{s} },
	}}
}

type database struct{ journal.Database[Session] }

func (d *database) Promise() string { return d.Promises().Model }

// session is a Session over that of a database.
type session struct{ store.Session }

func (s session) Do(ctx context.Context, o Operation) Reply {
	result := new(Result) // of this attempt, which may go on after the caller has left
	r := s.Transaction(ctx, o.Writes(), func(ctx context.Context, t store.Transaction) error {
		return o.Perform(steps{ctx, t}, result)
	})
	reply := Reply{Reply: r.Inserted()}
	switch {
	case r.Outcome == history.Committed:
		reply.Result = *result
	case r.Violated == store.Floor:
		reply.Outcome, reply.Class = history.Rejected, ClassNoFunds
	case !o.Writes():
		reply.Outcome = history.Failed
	}
	return reply
}

// steps are the steps of one transaction. They are Accounts.
type steps struct {
	ctx context.Context
	t   store.Transaction
}

func (s steps) Find(name string) (id int64, err error) {
	found := false
	_, err = s.t.Do(s.ctx, findCustomer, func(row store.Row) error { found = true; return row.Scan(&id) }, store.OfText(name))
	if err == nil && !found {
		err = fmt.Errorf("table account has no %s", name)
	}
	return id, err
}

func (s steps) Read(table int, customer int64) (State, error) {
	return s.one(table, readAccount, store.OfInt(customer))
}

func (s steps) Add(table int, customer, amount, writer int64) (State, error) {
	return s.one(table, changeAccount, store.OfInts(customer, amount, writer)...)
}

func (s steps) Empty(table int, customer, writer int64) (State, error) {
	return s.one(table, emptyAccount, store.OfInts(customer, writer)...)
}

func (s steps) Enter(entry Entry) error {
	_, err := s.t.Do(s.ctx, writeJournal, nil, store.OfInts(entry.Values()...)...)
	return err
}

// one does a statement that gives a balance and a writer.
func (s steps) one(table, statement int, parameters ...store.Value) (state State, err error) {
	found := false
	_, err = s.t.Do(s.ctx, onAccounts+(table-Saving)*perTable+statement, func(row store.Row) error {
		found = true
		return row.Scan(&state.Balance, &state.Writer)
	}, parameters...)
	if err == nil && !found {
		err = fmt.Errorf("there is no account of customer %d", parameters[0].Number)
	}
	return state, err
}
