// Package smallbank is the workload of M. Alomari, M. Cahill, A. Fekete and U. Röhm,
// "The Cost of Serializability on Platforms That Use Snapshot Isolation", ICDE 2008:
// customers with a savings and a checking account each, and five small transactions,
// which under snapshot isolation can have a result that no serial order has.
//
// Beside the paper each account says which operation wrote it last and which it has
// overwritten, and each operation that writes leaves a row in a journal. So the
// transactions that each one read from and overwrote are known, and check/cycle decides
// whether there is a serial order.
//
// What an operation does is a pure function of the seed and its id. Amounts are integers
// in minor units.
//
// It must not know any driver.
package smallbank

import (
	"context"
	"fmt"

	"assay/workload"
	"assay/workload/journal"
)

// Store is what a database must offer for this workload: the tables of Tables, and
// sessions.
type Store interface {
	journal.Store[Session]

	// Promise is the consistency model that the isolation level in force promises; see
	// isolation.Store.
	Promise() string
}

// Session is one client's connection.
type Session interface {
	journal.Session

	// Do does an operation in one transaction, with its row in the journal if it
	// writes, and says how it ended. It does not retry. Rejected is said of a
	// TransactSaving that would overdraw the account; Failed only with proof of no
	// effect, and of a Balance that was not committed.
	Do(ctx context.Context, o Operation) Reply
}

// Reply is how one attempt ended. Duplicate means that the journal already held a row of
// this id. Result is given with Committed.
type Reply struct {
	workload.Reply
	Result
}

// The kinds of operations, in the history and in the journal.
const (
	KindBalance         uint8 = 1
	KindDepositChecking uint8 = 2
	KindTransactSaving  uint8 = 3
	KindAmalgamate      uint8 = 4
	KindWriteCheck      uint8 = 5
)

func kindNames() map[uint8]string {
	return map[uint8]string{KindBalance: "Balance", KindDepositChecking: "DepositChecking", KindTransactSaving: "TransactSaving",
		KindAmalgamate: "Amalgamate", KindWriteCheck: "WriteCheck"}
}

// Penalty is what a WriteCheck costs beside its amount if the customer's two accounts
// together hold less than that.
const Penalty = 1

// Operation is one operation, as asked for.
type Operation struct {
	ID   int64
	Kind uint8
	// Customer is whose accounts it reads and writes, by the name that CustomerName gives.
	Customer int64
	// Other is the customer to whose checking account an Amalgamate moves all that
	// Customer has; 0 of others.
	Other int64
	// Amount is added to the checking account (DepositChecking), to the savings account
	// (TransactSaving, where it can be negative), or taken from the checking account
	// (WriteCheck).
	Amount int64
}

// Writes reports whether it writes: all do but a Balance.
func (o *Operation) Writes() bool { return o.Kind != KindBalance }

// CustomerName is the name of a customer, the key of table account.
func CustomerName(customer int64) string { return fmt.Sprintf("customer %010d", customer) }

// NameLength is the length of a CustomerName.
const NameLength = 19

// State is what an account held and who wrote that: the id of an operation, or Nobody.
type State struct{ Balance, Writer int64 }

// Nobody is the writer of what was loaded.
const Nobody int64 = -1

// Result is what a committed operation has read and left.
type Result struct {
	// SavingRead and CheckingRead are both accounts as they were read by Balance,
	// Amalgamate and WriteCheck.
	SavingRead, CheckingRead State
	// Saving, Checking and Other are the accounts that the operation wrote: the balance
	// that it left, and the writer of what it has overwritten.
	Saving, Checking, Other State
}

// Charged is what the operation moves by what it read: the amount, with the penalty of
// a WriteCheck, or all that the customer of an Amalgamate had.
func (o *Operation) Charged(r *Result) int64 {
	total := r.SavingRead.Balance + r.CheckingRead.Balance
	switch {
	case o.Kind == KindAmalgamate:
		return total
	case o.Kind == KindWriteCheck && total < o.Amount:
		return o.Amount + Penalty
	default:
		return o.Amount
	}
}

// The numbers of the tables; see Tables.
const (
	Account = iota
	Saving
	Checking
	Journal
)

// Tables are the tables: account has a column name beside.
func Tables() []journal.Table {
	balance := []string{"customer_id", "balance", "writer", "previous"}
	return []journal.Table{
		Account: {Name: "account", Columns: []string{"customer_id"}},
		Saving:  {Name: "saving", Columns: balance}, Checking: {Name: "checking", Columns: balance},
		Journal: {Name: "journal", Columns: []string{"id", "customer_id", "other_id", "amount", "saving_previous", "checking_previous", "other_previous"}},
	}
}

// Entry is a row of the journal.
type Entry struct {
	ID, Customer, Other int64
	// Amount is what Operation.Charged gives.
	Amount int64
	// SavingPrevious, CheckingPrevious and OtherPrevious are whose values the operation
	// has overwritten in each account; Nobody of an account that it did not write.
	SavingPrevious, CheckingPrevious, OtherPrevious int64
}

// EntryOf is the row of an operation with this result.
func EntryOf(o *Operation, r *Result) Entry {
	e := Entry{ID: o.ID, Customer: o.Customer, Other: o.Other, Amount: o.Charged(r),
		SavingPrevious: Nobody, CheckingPrevious: Nobody, OtherPrevious: Nobody}
	if o.Kind == KindTransactSaving || o.Kind == KindAmalgamate {
		e.SavingPrevious = r.Saving.Writer
	}
	if o.Kind != KindTransactSaving {
		e.CheckingPrevious = r.Checking.Writer
	}
	if o.Kind == KindAmalgamate {
		e.OtherPrevious = r.Other.Writer
	}
	return e
}

// Values are the row's columns.
func (e *Entry) Values() []int64 {
	return []int64{e.ID, e.Customer, e.Other, e.Amount, e.SavingPrevious, e.CheckingPrevious, e.OtherPrevious}
}

func entryFrom(v []int64) Entry { return Entry{v[0], v[1], v[2], v[3], v[4], v[5], v[6]} }

// values are the result as it stands in history.Op.Values.
func (r *Result) values() []int64 {
	v := make([]int64, 0, resultValues)
	for _, s := range []State{r.SavingRead, r.CheckingRead, r.Saving, r.Checking, r.Other} {
		v = append(v, s.Balance, s.Writer)
	}
	return v
}

const resultValues = 10

func resultFrom(v []int64) Result {
	state := func(i int) State { return State{v[2*i], v[2*i+1]} }
	return Result{state(0), state(1), state(2), state(3), state(4)}
}

// ClassNoFunds is the class of a TransactSaving that would overdraw the account.
const ClassNoFunds = "no funds"

// Accounts is what a database does in the transaction of an operation. An account that is
// not there is an error.
type Accounts interface {
	// Find looks a customer up by the name.
	Find(name string) (customer int64, err error)
	// Read is what an account (Saving, Checking) of a customer holds.
	Read(table int, customer int64) (State, error)
	// Add and Empty change an account and enter its writer; they return the balance
	// that they left, and whose value they have overwritten. Add refuses what would
	// overdraw a savings account.
	Add(table int, customer, amount, writer int64) (State, error)
	Empty(table int, customer, writer int64) (State, error)
	// Enter writes a row of the journal.
	Enter(Entry) error
}

// Perform does an operation, step by step, up to the commit, and enters what it has read
// and left into r. Of two checking accounts it changes that of the lower id first, as a
// careful application does.
func (o *Operation) Perform(a Accounts, r *Result) error {
	customer, err := a.Find(CustomerName(o.Customer))
	if err != nil {
		return err
	}
	if o.Kind == KindBalance || o.Kind == KindAmalgamate || o.Kind == KindWriteCheck {
		if r.SavingRead, err = a.Read(Saving, customer); err != nil {
			return err
		}
		if r.CheckingRead, err = a.Read(Checking, customer); err != nil {
			return err
		}
	}
	amount := o.Charged(r)
	switch o.Kind {
	case KindBalance:
		return nil
	case KindDepositChecking:
		r.Checking, err = a.Add(Checking, customer, amount, o.ID)
	case KindTransactSaving:
		r.Saving, err = a.Add(Saving, customer, amount, o.ID)
	case KindWriteCheck:
		r.Checking, err = a.Add(Checking, customer, -amount, o.ID)
	case KindAmalgamate:
		err = o.amalgamate(a, r, customer, amount)
	default:
		err = fmt.Errorf("no operation has the kind %d", o.Kind)
	}
	if err != nil {
		return err
	}
	return a.Enter(EntryOf(o, r))
}

func (o *Operation) amalgamate(a Accounts, r *Result, customer, amount int64) error {
	other, err := a.Find(CustomerName(o.Other))
	if err != nil {
		return err
	}
	if r.Saving, err = a.Empty(Saving, customer, o.ID); err != nil {
		return err
	}
	empty := func() (err error) { r.Checking, err = a.Empty(Checking, customer, o.ID); return err }
	fill := func() (err error) { r.Other, err = a.Add(Checking, other, amount, o.ID); return err }
	first, second := empty, fill
	if other < customer {
		first, second = fill, empty
	}
	if err := first(); err != nil {
		return err
	}
	return second()
}
