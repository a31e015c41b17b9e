// Package smallbank is the workload of M. Alomari, M. Cahill, A. Fekete and U. Röhm, "The Cost
// of Serializability on Platforms That Use Snapshot Isolation", ICDE 2008. Customers have a
// savings and a checking account each. Five small transactions can have a result under snapshot
// isolation that no serial order has.
//
// Beyond the paper, each account names its writer and the writer that it overwrote, and each
// writing operation leaves a journal row. From these check/cycle decides whether there is a
// serial order.
//
// The seed and an operation's id decide what it does. Amounts are integers in minor units.
//
// It must not know any driver.
package smallbank

import (
	"fmt"

	"assay/store"
	"assay/workload"
	"assay/workload/journal"
)

// The kinds of operations.
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

// Penalty is charged by a WriteCheck beyond its amount if both accounts hold less together.
const Penalty = 1

// Operation is an operation as asked for.
type Operation struct {
	ID   int64
	Kind uint8
	// Customer is a number; CustomerName gives the name.
	Customer int64
	// Other receives the money of an Amalgamate; 0 for other kinds.
	Other int64
	// Amount is added to checking (DepositChecking) or savings (TransactSaving, may be
	// negative), or taken from checking (WriteCheck).
	Amount int64
}

// Writes is false for a Balance alone.
func (o *Operation) Writes() bool { return o.Kind != KindBalance }

// Reads reports whether the operation reads both accounts of the customer.
func (o *Operation) Reads() bool {
	return o.Kind == KindBalance || o.Kind == KindAmalgamate || o.Kind == KindWriteCheck
}

// accounts are the customer's savings and checking account and the other's checking account.
func (o *Operation) accounts() [3]int64 {
	return [3]int64{account(Saving, o.Customer), account(Checking, o.Customer), account(Checking, o.Other)}
}

// written are the indexes of accounts that the operation writes.
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

func account(table int, customer int64) int64 { return 2*customer + int64(table-Saving) }

func accountName(account int64) string {
	return fmt.Sprintf("%s of customer %d", [2]string{"saving", "checking"}[account&1], account>>1)
}

// CustomerName is a customer's key in table account.
func CustomerName(customer int64) string { return fmt.Sprintf("customer %010d", customer) }

// NameLength is the length of a CustomerName.
const NameLength = 19

// State is an account's balance and the id of the operation that wrote it, or Nobody.
type State struct{ Balance, Writer int64 }

// Nobody is the writer of loaded values.
const Nobody int64 = -1

// Result is what a committed operation read and left.
type Result struct {
	// Read are the customer's accounts, if the operation Reads.
	Read [2]State
	// Left are the balances left and the writers overwritten, by index of accounts.
	Left [3]State
}

// Charged is the amount moved, with a WriteCheck's penalty or by an Amalgamate's reads.
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

// Indexes into Tables.
const (
	Account = iota
	Saving
	Checking
	Journal
)

// Tables returns the tables.
func Tables() []journal.Table {
	balance := []string{"customer_id", "balance", "writer", "previous"}
	return []journal.Table{
		Account: {Name: "account", Columns: []string{"customer_id"}, Also: []store.Column{{Name: "name", Type: store.ASCII, Length: NameLength}}},
		Saving:  {Name: "saving", Columns: balance}, Checking: {Name: "checking", Columns: balance},
		Journal: {Name: "journal", Columns: []string{"id", "customer_id", "other_id", "amount", "saving_previous", "checking_previous", "other_previous"}},
	}
}

// Entry is a journal row.
type Entry struct {
	ID, Customer, Other int64
	// Amount is the amount charged, not the amount asked for.
	Amount int64
	// Previous are the overwritten writers by index of accounts; Nobody if not written.
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

// Values are the row's columns in order.
func (e *Entry) Values() []int64 {
	return append([]int64{e.ID, e.Customer, e.Other, e.Amount}, e.Previous[:]...)
}

func entryFrom(v []int64) Entry { return Entry{v[0], v[1], v[2], v[3], [3]int64(v[4:])} }

// values are the history.Op.Values of a result.
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

// Operations computes an id's operation. It is safe for concurrent use.
type Operations struct {
	config Config
	seed   uint64
}

// In minor units. Balances are small, so that penalties and rejections are frequent.
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

func (s *Operations) customer(r *workload.Random) int64 {
	hot := s.config.hotspot()
	if r.Float() < s.config.HotspotShare || hot == s.config.Customers {
		return 1 + int64(r.Below(uint64(hot)))
	}
	return 1 + hot + int64(r.Below(uint64(s.config.Customers-hot)))
}

// Opening is the loaded balance of a customer in table Saving or Checking.
func (s *Operations) Opening(table int, customer int64) int64 {
	return int64(workload.Mix(workload.Mix(s.seed+uint64(table))^uint64(customer)) % (maxOpening + 1))
}
