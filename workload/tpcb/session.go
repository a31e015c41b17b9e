package tpcb

import (
	"context"
	"strings"
	"time"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

// The statements of a session, in the order of a transaction of pgbench's.
const (
	updateAccount = iota
	selectAccount
	updateTeller
	updateBranch
	insertHistory
	// changeAccount is both of the first two, of databases that are not asked in SQL.
	changeAccount
)

// Schema are pgbench's tables, with 64 bits where pgbench has 32, and keys as it makes
// them.
func Schema() store.Schema {
	of := store.Schema{Workload: Name, Transactions: true}
	for number, t := range Tables() {
		loaded := number != History
		table := store.Table{Name: t.Name, Columns: store.Integers(t.Columns...), Updated: loaded, Loaded: loaded, LateKey: loaded}
		if length := FillerLength(number); length > 0 {
			table.Columns = append(table.Columns, store.Column{Name: "filler", Type: store.String, Length: length})
		} else {
			table.Columns = append(table.Columns, store.Column{Name: "mtime"})
		}
		of.Tables = append(of.Tables, table)
	}
	return of
}

func statements() []store.Statement {
	add := func(name, table, balance, key string) store.Statement {
		return store.Statement{Name: name, Verb: store.Update, Table: table, Set: []store.Assignment{store.Add(balance, store.Parameter(1))},
			Where: []store.Condition{{Column: key, Value: store.Parameter(2)}}}
	}
	change := add("change", "accounts", "abalance", "aid")
	change.Columns = []string{"abalance"}
	return []store.Statement{
		updateAccount: add("account", "accounts", "abalance", "aid"),
		selectAccount: {Name: "balance", Verb: store.Read, Table: "accounts", Columns: change.Columns, Where: store.Where("aid")},
		updateTeller:  add("teller", "tellers", "tbalance", "tid"),
		updateBranch:  add("branch", "branches", "bbalance", "bid"),
		insertHistory: {Name: "history", Verb: store.Insert, Table: "history", Columns: append(Tables()[History].Columns, "mtime")},
		changeAccount: change,
	}
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
	d := &journal.Database[Session]{Database: db, Tables: Tables(), Texts: map[int]journal.Text{}, Statements: statements()}
	for table := range d.Tables {
		if filler := strings.Repeat(" ", FillerLength(table)); filler != "" {
			d.Texts[table] = journal.Text{Name: "filler", Of: func([]int64) string { return filler }}
		}
	}
	d.Open = func(s store.Session) Session { return &session{Session: s, sql: db.Lacks()[store.SQL] == ""} }
	return d
}

// session is a Session over that of a database.
type session struct {
	store.Session
	sql bool
}

func (s *session) Do(ctx context.Context, x Transaction, together bool) Reply {
	balance := new(int64) // of this attempt, which may go on after the caller has left
	calls := s.calls(&x, together, func(row store.Row) error { return row.Scan(balance) })
	var r store.Reply
	if together {
		r = s.Batch(ctx, &store.Batch{Calls: calls})
	} else {
		r = s.Transaction(ctx, true, func(ctx context.Context, t store.Transaction) error {
			for _, call := range calls {
				if _, err := t.Do(ctx, call.Statement, call.Row, call.Parameters...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	reply := Reply{Reply: r.Inserted()}
	if r.Outcome == history.Committed {
		reply.Balance = *balance
	}
	return reply
}

// calls are the statements of a transaction: pgbench's, one by one or in SQL.
func (s *session) calls(x *Transaction, together bool, balance func(store.Row) error) []store.Call {
	calls := make([]store.Call, 0, 5)
	if s.sql || !together {
		calls = append(calls, store.Call{Statement: updateAccount, Parameters: store.OfInts(x.Delta, x.Account)},
			store.Call{Statement: selectAccount, Parameters: store.OfInts(x.Account), Want: 1, Row: balance})
	} else {
		calls = append(calls, store.Call{Statement: changeAccount, Parameters: store.OfInts(x.Delta, x.Account), Want: 1, Row: balance})
	}
	return append(calls, store.Call{Statement: updateTeller, Parameters: store.OfInts(x.Delta, x.Teller)},
		store.Call{Statement: updateBranch, Parameters: store.OfInts(x.Delta, x.Branch)},
		store.Call{Statement: insertHistory, Parameters: store.OfInts(append(x.Values(), time.Now().UnixMicro())...)})
}
