package smallbank

import "fmt"

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
