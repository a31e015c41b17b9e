package smallbank

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
)

// Schema returns the tables. A floor on savings refuses a TransactSaving. A customer has two
// rows as in the paper: one row could not show write skew where its writers conflict.
func Schema() store.Schema {
	of := store.Schema{Workload: Name, Transactions: true, Judged: true}
	for number, t := range Tables() {
		loaded := number != Journal
		table := store.Table{Name: t.Name, Columns: store.Integers(t.Columns...), Loaded: loaded, LateKey: loaded,
			Updated: number == Saving || number == Checking}
		switch number {
		case Account:
			table.LateKey = false
			table.Columns = append(t.Also, table.Columns...) // by the name a customer is found
		case Saving:
			table.Floors = []store.Minimum{{Name: "saving_not_overdrawn", Column: "balance"}}
		}
		of.Tables = append(of.Tables, table)
	}
	return of
}

// Statements from onAccounts on are for savings, and perTable later for checking accounts.
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

// Each update of an account also keeps the previous writer.
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

// do does the operation and its journal row in one transaction; values are a commit's.
func (o *Operation) do(ctx context.Context, session store.Session) (store.Reply, []int64) {
	result := new(Result) // of this attempt, which may go on after the caller has left
	r := session.Transaction(ctx, o.Writes(), func(ctx context.Context, t store.Transaction) error {
		return o.perform(steps{ctx, t}, result)
	})
	reply := r.Inserted()
	switch {
	case r.Outcome == history.Committed:
		return reply, result.values()
	case r.Violated == store.Floor:
		reply.Outcome, reply.Class = history.Rejected, ClassNoFunds
	case !o.Writes():
		reply.Outcome = history.Failed
	}
	return reply, nil
}

// perform does all steps before the commit and fills r.
func (o *Operation) perform(s steps, r *Result) error {
	customer, err := s.find(o.Customer)
	if err != nil {
		return err
	}
	for n := 0; n < len(r.Read) && o.Reads(); n++ {
		if r.Read[n], err = s.one(Saving+n, readAccount, customer); err != nil {
			return err
		}
	}
	amount := o.Charged(r)
	switch o.Kind {
	case KindBalance:
		return nil
	case KindDepositChecking:
		r.Left[1], err = s.one(Checking, changeAccount, customer, amount, o.ID)
	case KindTransactSaving:
		r.Left[0], err = s.one(Saving, changeAccount, customer, amount, o.ID)
	case KindWriteCheck:
		r.Left[1], err = s.one(Checking, changeAccount, customer, -amount, o.ID)
	case KindAmalgamate:
		err = o.amalgamate(s, r, customer, amount)
	}
	if err != nil {
		return err
	}
	entry := EntryOf(o, r)
	_, err = s.t.Do(s.ctx, writeJournal, nil, store.OfInts(entry.Values()...)...)
	return err
}

// amalgamate changes the checking account with the lower id first, so that two cannot deadlock.
func (o *Operation) amalgamate(s steps, r *Result, customer, amount int64) error {
	other, err := s.find(o.Other)
	if err != nil {
		return err
	}
	if r.Left[0], err = s.one(Saving, emptyAccount, customer, o.ID); err != nil {
		return err
	}
	for _, own := range []bool{customer < other, customer > other} {
		if own {
			r.Left[1], err = s.one(Checking, emptyAccount, customer, o.ID)
		} else {
			r.Left[2], err = s.one(Checking, changeAccount, other, amount, o.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type steps struct {
	ctx context.Context
	t   store.Transaction
}

func (s steps) find(customer int64) (id int64, err error) {
	name := CustomerName(customer)
	found := false
	_, err = s.t.Do(s.ctx, findCustomer, func(row store.Row) error { found = true; return row.Scan(&id) }, store.OfText(name))
	if err == nil && !found {
		err = fmt.Errorf("table account has no %s", name)
	}
	return id, err
}

// one runs a statement on an account. It returns the balance read or left, and the account's
// writer or overwritten writer.
func (s steps) one(table, statement int, parameters ...int64) (state State, err error) {
	found := false
	_, err = s.t.Do(s.ctx, onAccounts+(table-Saving)*perTable+statement, func(row store.Row) error {
		found = true
		return row.Scan(&state.Balance, &state.Writer)
	}, store.OfInts(parameters...)...)
	if err == nil && !found {
		err = fmt.Errorf("there is no account of customer %d", parameters[0])
	}
	return state, err
}
