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
	"fmt"

	"assay/store"
	"assay/workload"
	"assay/workload/journal"
)

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

// Reads reports whether it reads the customer's two accounts.
func (o *Operation) Reads() bool {
	return o.Kind == KindBalance || o.Kind == KindAmalgamate || o.Kind == KindWriteCheck
}

// accounts are those that an operation may deal with: the customer's savings and checking
// account, and the other's checking account.
func (o *Operation) accounts() [3]int64 {
	return [3]int64{account(Saving, o.Customer), account(Checking, o.Customer), account(Checking, o.Other)}
}

// written are the places of the accounts that it writes, among its accounts.
func (o *Operation) written() []int {
	switch all := []int{0, 1, 2}; o.Kind {
	case KindBalance:
		return nil
	case KindTransactSaving:
		return all[:1]
	case KindAmalgamate:
		return all
	default:
		return all[1:2]
	}
}

// account numbers the accounts of all customers.
func account(table int, customer int64) int64 { return 2*customer + int64(table-Saving) }

func accountName(account int64) string {
	return fmt.Sprintf("%s of customer %d", [2]string{"saving", "checking"}[account&1], account>>1)
}

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
	// Read are both accounts as they were read, if it Reads.
	Read [2]State
	// Left are the accounts that the operation wrote, in their places: the balance that it
	// left, and the writer of what it has overwritten.
	Left [3]State
}

// Charged is what the operation moves by what it read: the amount, with the penalty of
// a WriteCheck, or all that the customer of an Amalgamate had.
func (o *Operation) Charged(r *Result) int64 {
	total := r.Read[0].Balance + r.Read[1].Balance
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

// Tables are the tables.
func Tables() []journal.Table {
	balance := []string{"customer_id", "balance", "writer", "previous"}
	return []journal.Table{
		Account: {Name: "account", Columns: []string{"customer_id"}, Also: []store.Column{{Name: "name", Type: store.ASCII, Length: NameLength}}},
		Saving:  {Name: "saving", Columns: balance}, Checking: {Name: "checking", Columns: balance},
		Journal: {Name: "journal", Columns: []string{"id", "customer_id", "other_id", "amount", "saving_previous", "checking_previous", "other_previous"}},
	}
}

// Entry is a row of the journal.
type Entry struct {
	ID, Customer, Other int64
	// Amount is what Operation.Charged gives.
	Amount int64
	// Previous is whose values the operation has overwritten in each of its accounts;
	// Nobody of one that it did not write.
	Previous [3]int64
}

// EntryOf is the row of an operation with this result.
func EntryOf(o *Operation, r *Result) Entry {
	e := Entry{ID: o.ID, Customer: o.Customer, Other: o.Other, Amount: o.Charged(r), Previous: [3]int64{Nobody, Nobody, Nobody}}
	for _, n := range o.written() {
		e.Previous[n] = r.Left[n].Writer
	}
	return e
}

// Values are the row's columns.
func (e *Entry) Values() []int64 {
	return append([]int64{e.ID, e.Customer, e.Other, e.Amount}, e.Previous[:]...)
}

func entryFrom(v []int64) Entry { return Entry{v[0], v[1], v[2], v[3], [3]int64(v[4:])} }

// values are the result as it stands in history.Op.Values.
func (r *Result) values() []int64 {
	v := make([]int64, 0, resultValues)
	for _, s := range append(r.Read[:], r.Left[:]...) {
		v = append(v, s.Balance, s.Writer)
	}
	return v
}

const resultValues = 10

func resultFrom(v []int64) Result {
	state := func(i int) State { return State{v[2*i], v[2*i+1]} }
	return Result{[2]State{state(0), state(1)}, [3]State{state(2), state(3), state(4)}}
}

// ClassNoFunds is the class of a TransactSaving that would overdraw the account.
const ClassNoFunds = "no funds"

// Operations is the pure function from an id to its operation, and knows the opening
// balances. It is safe for concurrent use.
type Operations struct {
	config Config
	seed   uint64
}

// NewOperations returns the operations of a run with this configuration and seed. It
// returns Config.Validate's error.
func NewOperations(c Config, seed uint64) (*Operations, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Operations{c, seed}, nil
}

// The amounts, in minor units: 0.01 to 100.00, and opening balances of 0 to 100.00, so
// that penalties and rejections are frequent.
const (
	maxAmount  = 100_00
	maxOpening = 100_00
)

// At returns the operation of this id.
func (s *Operations) At(id int64) Operation {
	r := workload.NewRandom(s.seed, uint64(id))
	o := Operation{ID: id, Kind: KindBalance}
	if r.Float() >= s.config.BalanceShare {
		o.Kind = []uint8{KindDepositChecking, KindTransactSaving, KindAmalgamate, KindWriteCheck}[r.Below(4)]
	}
	o.Customer = s.customer(&r)
	amount := 1 + int64(r.Below(maxAmount))
	switch o.Kind {
	case KindAmalgamate:
		if o.Other = s.customer(&r); o.Other == o.Customer {
			o.Other = o.Customer%s.config.Customers + 1
		}
	case KindTransactSaving:
		if o.Amount = amount; r.Coin() {
			o.Amount = -amount
		}
	case KindDepositChecking, KindWriteCheck:
		o.Amount = amount
	}
	return o
}

// customer draws one, in the hotspot or elsewhere.
func (s *Operations) customer(r *workload.Random) int64 {
	hot := s.config.hotspot()
	if r.Float() < s.config.HotspotShare || hot == s.config.Customers {
		return 1 + int64(r.Below(uint64(hot)))
	}
	return 1 + hot + int64(r.Below(uint64(s.config.Customers-hot)))
}

// Opening is what a customer's savings or checking account (Saving, Checking) was loaded
// with.
func (s *Operations) Opening(table int, customer int64) int64 {
	return int64(workload.Mix(workload.Mix(s.seed+uint64(table))^uint64(customer)) % (maxOpening + 1))
}
