package sqldb

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
	"assay/workload/smallbank"
)

// SmallBankSchema is the Schema of workload smallbank. A savings account below zero is
// what a TransactSaving is refused for.
func SmallBankSchema() Schema {
	of := Schema{Workload: smallbank.Name, Transactions: true, Judged: true}
	for number, t := range smallbank.Tables() {
		table := Table{Name: t.Name, Columns: integers(t.Columns), Loaded: number != smallbank.Journal, LateKey: number != smallbank.Journal,
			Updated: number == smallbank.Saving || number == smallbank.Checking}
		switch number {
		case smallbank.Account:
			table.LateKey = false
			table.Columns = append([]Column{{Name: "name", Type: ASCII, Length: smallbank.NameLength}}, table.Columns...)
		case smallbank.Saving:
			table.Floors = []store.Minimum{{Name: "saving_not_overdrawn", Column: "balance"}}
		}
		of.Tables = append(of.Tables, table)
	}
	return of
}

// The statements of a session.
const (
	findCustomer = iota
	readSaving
	readChecking
	changeSaving
	changeChecking
	emptySaving
	emptyChecking
	writeJournal
	savingLeft
	checkingLeft
)

// smallBankStore is the Store on a Database of SmallBankSchema.
type smallBankStore struct {
	journalStore
	promise string
}

// SmallBank is the Store on a Database of SmallBankSchema.
func SmallBank(db Database) smallbank.Store {
	return &smallBankStore{journalStore{Database: db, tables: smallbank.Tables(), text: map[int]textColumn{
		smallbank.Account: {"name", func(values []int64) string { return smallbank.CustomerName(values[0]) }},
	}}, db.PromiseLevel()}
}

func (s *smallBankStore) Promise() string { return s.promise }

// statements are the paper's. An account whose value is changed keeps who wrote what was
// there before; MySQL assigns from left to right, others by what the row held before, so
// that the order of the assignments suits both.
func (s *smallBankStore) statements() []Statement {
	d := s.Dialect()
	const left = "SELECT balance, previous FROM "
	const with, change, empty = " WHERE customer_id = $1", "balance = balance + $2, previous = writer, writer = $3", "balance = 0, previous = writer, writer = $2"
	saving, checking, returning := d.Table("saving"), d.Table("checking"), ""
	if d.Returning {
		returning = " RETURNING balance, previous"
	}
	of := s.tables[smallbank.Journal]
	return []Statement{
		findCustomer:   {"customer", "SELECT customer_id FROM " + d.Table("account") + " WHERE name = $1"},
		readSaving:     {"saving", "SELECT balance, writer FROM " + saving + with},
		readChecking:   {"checking", "SELECT balance, writer FROM " + checking + with},
		changeSaving:   {"save", "UPDATE " + saving + " SET " + change + with + returning},
		changeChecking: {"check", "UPDATE " + checking + " SET " + change + with + returning},
		emptySaving:    {"empty_saving", "UPDATE " + saving + " SET " + empty + with + returning},
		emptyChecking:  {"empty_checking", "UPDATE " + checking + " SET " + empty + with + returning},
		writeJournal:   {"journal", insertInto(d, of.Name, of.Columns)},
		savingLeft:     {"saving_left", left + saving + with},
		checkingLeft:   {"checking_left", left + checking + with},
	}
}

func (s *smallBankStore) Session(ctx context.Context) (smallbank.Session, error) {
	c, err := s.Connect(ctx, s.statements())
	if err != nil {
		return nil, err
	}
	return &smallBankSession{c, s.Dialect().Returning}, nil
}

type smallBankSession struct {
	connection Connection
	returning  bool
}

func (s *smallBankSession) Close() { s.connection.Close() }

func (s *smallBankSession) Do(ctx context.Context, o smallbank.Operation) smallbank.Reply {
	result := new(smallbank.Result) // of this attempt, which may go on after the caller has left
	r := s.connection.Transaction(ctx, o.Writes(), func(ctx context.Context, t Transaction) error {
		return o.Perform(smallBankSteps{ctx, t, s.returning}, result)
	})
	reply := smallbank.Reply{Reply: refusedBy(r, smallbank.ClassNoFunds)}
	if r.Outcome == history.Committed {
		reply.Result = *result
	} else if !o.Writes() {
		reply.Outcome = history.Failed
	}
	return reply
}

// smallBankSteps are the steps of one transaction. They are smallbank.Accounts.
type smallBankSteps struct {
	ctx context.Context
	t   Transaction
	// returning is whether an update returns what it left.
	returning bool
}

func (s smallBankSteps) Find(name string) (id int64, err error) {
	found := false
	err = s.t.Query(s.ctx, findCustomer, func(row Row) error { found = true; return row.Scan(&id) }, OfText(name))
	if err == nil && !found {
		err = fmt.Errorf("table account has no %s", name)
	}
	return id, err
}

// onTable is a statement on a table: that of savings accounts, or that of checking accounts.
func onTable(table, saving, checking int) int {
	if table == smallbank.Saving {
		return saving
	}
	return checking
}

func (s smallBankSteps) Read(table int, customer int64) (smallbank.State, error) {
	return s.one(onTable(table, readSaving, readChecking), OfInt(customer))
}

func (s smallBankSteps) Add(table int, customer, amount, writer int64) (smallbank.State, error) {
	return s.change(table, onTable(table, changeSaving, changeChecking), ofInts(customer, amount, writer)...)
}

func (s smallBankSteps) Empty(table int, customer, writer int64) (smallbank.State, error) {
	return s.change(table, onTable(table, emptySaving, emptyChecking), ofInts(customer, writer)...)
}

func (s smallBankSteps) Enter(entry smallbank.Entry) error {
	return s.t.Execute(s.ctx, writeJournal, ofInts(entry.Values()...)...)
}

// one reads a balance and a writer.
func (s smallBankSteps) one(statement int, parameters ...Value) (state smallbank.State, err error) {
	found := false
	err = s.t.Query(s.ctx, statement, func(row Row) error {
		found = true
		return row.Scan(&state.Balance, &state.Writer)
	}, parameters...)
	if err == nil && !found {
		err = fmt.Errorf("there is no account of customer %d", parameters[0].Number)
	}
	return state, err
}

// change updates an account and takes what it left, and whose value it has overwritten.
func (s smallBankSteps) change(table, statement int, parameters ...Value) (smallbank.State, error) {
	if s.returning {
		return s.one(statement, parameters...)
	}
	if err := s.t.Execute(s.ctx, statement, parameters...); err != nil {
		return smallbank.State{}, err
	}
	return s.one(onTable(table, savingLeft, checkingLeft), parameters[0])
}
