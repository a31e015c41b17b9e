package tpcb

import (
	"context"
	"time"

	"assay/store"
)

// The statements of a session, in the order of pgbench's transaction.
const (
	updateAccount = iota
	selectAccount
	updateTeller
	updateBranch
	insertHistory
	// changeAccount stands for the first two on databases without SQL.
	changeAccount
)

// Schema returns pgbench's tables with its keys, and with 64 bits for its 32.
func Schema() store.Schema {
	of := store.Schema{Workload: Name, Transactions: true}
	for number, t := range Tables() {
		loaded := number != History
		of.Tables = append(of.Tables, store.Table{Name: t.Name, Columns: append(store.Integers(t.Columns...), t.Also...), Updated: loaded, Loaded: loaded, LateKey: loaded})
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
	history := Tables()[History]
	return []store.Statement{
		updateAccount: add("account", "accounts", "abalance", "aid"),
		selectAccount: {Name: "balance", Verb: store.Read, Table: "accounts", Columns: change.Columns, Where: store.Where("aid")},
		updateTeller:  add("teller", "tellers", "tbalance", "tid"),
		updateBranch:  add("branch", "branches", "bbalance", "bid"),
		insertHistory: {Name: "history", Verb: store.Insert, Table: history.Name, Columns: history.Names()},
		changeAccount: change,
	}
}

// do does the transaction and returns the account's balance after the update and the moment in
// its history row. together sends all statements in as few round trips as possible; otherwise
// each awaits the answer to the one before, as in pgbench.
func (x *Transaction) do(ctx context.Context, session store.Session, together, sql bool) (store.Reply, []int64) {
	values := []int64{0, time.Now().UnixMicro()} // of this attempt, which may go on after the caller has left
	calls := x.calls(sql || !together, values[1], func(row store.Row) error { return row.Scan(&values[0]) })
	var r store.Reply
	if together {
		r = session.Batch(ctx, &store.Batch{Calls: calls})
	} else {
		r = session.Transaction(ctx, true, func(ctx context.Context, t store.Transaction) error {
			for _, call := range calls {
				if _, err := t.Do(ctx, call.Statement, call.Row, call.Parameters...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return r.Inserted(), values
}

func (x *Transaction) calls(pgbench bool, moment int64, balance func(store.Row) error) []store.Call {
	account := []store.Call{{Statement: changeAccount, Parameters: store.OfInts(x.Delta, x.Account), Want: 1, Row: balance}}
	if pgbench {
		account = []store.Call{{Statement: updateAccount, Parameters: store.OfInts(x.Delta, x.Account)},
			{Statement: selectAccount, Parameters: store.OfInts(x.Account), Want: 1, Row: balance}}
	}
	return append(account, store.Call{Statement: updateTeller, Parameters: store.OfInts(x.Delta, x.Teller)},
		store.Call{Statement: updateBranch, Parameters: store.OfInts(x.Delta, x.Branch)},
		store.Call{Statement: insertHistory, Parameters: store.OfInts(append(x.Values(), moment)...)})
}
