// Package tpcb is the workload of TPC-B as pgbench runs it: the tables, scale and built-in
// transaction (tpcb-like) of pgbench (PostgreSQL documentation, "pgbench"), for comparable
// figures. As in pgbench, a transaction's account, teller and branch are drawn independently.
//
// Unlike in pgbench, a history row has the operation's id as its primary key, by which each
// acknowledged transaction is accounted for. Seed and id decide what a transaction does.
//
// It must not know any driver.
package tpcb

import (
	"strings"

	"assay/store"
	"assay/workload"
	"assay/workload/journal"
)

// Transaction is a transaction as asked for, and its history row.
type Transaction struct {
	ID                      int64
	Teller, Branch, Account int64
	Delta                   int64
}

// As in pgbench.
const (
	tellersPerBranch = 10
	maxDelta         = 5000
)

// Indexes into Tables.
const (
	Branches = iota
	Tellers
	Accounts
	History
)

// Tables returns the tables. Column filler, of spaces, makes rows as long as pgbench's char
// columns do. mtime is in microseconds since 1970.
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

func filler(table int) string { return strings.Repeat(" ", Tables()[table].Also[0].Length) }

// Values are the columns of the history row.
func (x *Transaction) Values() []int64 {
	return []int64{x.ID, x.Teller, x.Branch, x.Account, x.Delta}
}

// Transactions computes the transaction of an id. It is safe for concurrent use.
type Transactions struct {
	config Config
	seed   uint64
}

// At returns the transaction of an id.
func (t *Transactions) At(id int64) Transaction {
	r := workload.NewRandom(t.seed, uint64(id))
	draw := func(n int64) int64 { return 1 + int64(r.Below(uint64(n))) }
	return Transaction{ID: id, Account: draw(t.rows(Accounts)), Branch: draw(t.rows(Branches)), Teller: draw(t.rows(Tellers)),
		Delta: draw(2*maxDelta+1) - maxDelta - 1}
}

func (t *Transactions) rows(table int) int64 { return t.config.Scale * t.perBranch(table) }

func (t *Transactions) perBranch(table int) int64 {
	return [...]int64{Branches: 1, Tellers: tellersPerBranch, Accounts: t.config.Accounts, History: 0}[table]
}

// opening is row i of a table, from 1.
func (t *Transactions) opening(table int, i int64) []int64 {
	if table == Branches {
		return []int64{i, 0}
	}
	return []int64{i, (i-1)/t.perBranch(table) + 1, 0}
}
