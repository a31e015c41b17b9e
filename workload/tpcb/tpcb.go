// Package tpcb is the workload of TPC-B as pgbench runs it: pgbench's tables, its
// built-in transaction (tpcb-like) with the same statements in the same order, and its
// scale, so that figures can be laid beside pgbench's own (PostgreSQL documentation,
// "pgbench"). As there, account, teller and branch of a transaction are drawn
// independently of one another.
//
// What differs: a row of the history has the operation's id as its primary key, by which
// each acknowledged transaction is accounted for.
//
// What a transaction does is a pure function of the seed and its id.
//
// It must not know any driver.
package tpcb

import (
	"strings"

	"assay/store"
	"assay/workload"
	"assay/workload/journal"
)

// Transaction is one transaction, as asked for, and its row in the history.
type Transaction struct {
	ID                      int64
	Teller, Branch, Account int64
	Delta                   int64
}

// The tellers of one branch, and the greatest delta; pgbench's.
const (
	tellersPerBranch = 10
	maxDelta         = 5000
)

// The numbers of the tables; see Tables.
const (
	Branches = iota
	Tellers
	Accounts
	History
)

// Tables are the tables. A column filler, of spaces, makes rows as long as pgbench's, whose
// type char has that length; mtime is the moment in microseconds since 1970.
func Tables() []journal.Table {
	filler := func(length int) []store.Column {
		return []store.Column{{Name: "filler", Type: store.String, Length: length}}
	}
	return []journal.Table{
		Branches: {Name: "branches", Columns: []string{"bid", "bbalance"}, Also: filler(88)},
		Tellers:  {Name: "tellers", Columns: []string{"tid", "bid", "tbalance"}, Also: filler(84)},
		Accounts: {Name: "accounts", Columns: []string{"aid", "bid", "abalance"}, Also: filler(84)},
		History:  {Name: "history", Columns: []string{"id", "tid", "bid", "aid", "delta"}, Also: store.Integers("mtime")},
	}
}

// filler is what a table's column filler holds.
func filler(table int) string { return strings.Repeat(" ", Tables()[table].Also[0].Length) }

// Values are the columns of the transaction's row in the history.
func (x *Transaction) Values() []int64 {
	return []int64{x.ID, x.Teller, x.Branch, x.Account, x.Delta}
}

// Transactions is the pure function from an id to its transaction. It is safe for
// concurrent use.
type Transactions struct {
	config Config
	seed   uint64
}

// NewTransactions returns the transactions of a run with this configuration and seed. It
// returns Config.Validate's error.
func NewTransactions(c Config, seed uint64) (*Transactions, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Transactions{c, seed}, nil
}

// At returns the transaction of this id.
func (t *Transactions) At(id int64) Transaction {
	r := workload.NewRandom(t.seed, uint64(id))
	draw := func(n int64) int64 { return 1 + int64(r.Below(uint64(n))) }
	return Transaction{ID: id, Account: draw(t.rows(Accounts)), Branch: draw(t.rows(Branches)), Teller: draw(t.rows(Tellers)),
		Delta: draw(2*maxDelta+1) - maxDelta - 1}
}

// rows is how many rows a table begins with.
func (t *Transactions) rows(table int) int64 { return t.config.Scale * t.perBranch(table) }

func (t *Transactions) perBranch(table int) int64 {
	return [...]int64{Branches: 1, Tellers: tellersPerBranch, Accounts: t.config.Accounts, History: 0}[table]
}

// opening is row number i of a table, from 1.
func (t *Transactions) opening(table int, i int64) []int64 {
	if table == Branches {
		return []int64{i, 0}
	}
	return []int64{i, (i-1)/t.perBranch(table) + 1, 0}
}
