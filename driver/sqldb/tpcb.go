package sqldb

import (
	"context"
	"strings"
	"time"

	"assay/history"
	"assay/workload/tpcb"
)

// TPCBSchema is the Schema of workload tpcb: pgbench's tables, with 64 bits where pgbench
// has 32, and keys as it makes them.
func TPCBSchema() Schema {
	of := Schema{Workload: tpcb.Name, Transactions: true}
	for number, t := range tpcb.Tables() {
		table := Table{Name: t.Name, Columns: integers(t.Columns), Updated: number != tpcb.History,
			Loaded: number != tpcb.History, LateKey: number != tpcb.History}
		if length := tpcb.FillerLength(number); length > 0 {
			table.Columns = append(table.Columns, Column{Name: "filler", Type: String, Length: length})
		} else {
			table.Columns = append(table.Columns, Column{Name: "mtime"})
		}
		of.Tables = append(of.Tables, table)
	}
	return of
}

// The statements of a session, in the order of a transaction.
const (
	updateAccount = iota
	selectAccount
	updateTeller
	updateBranch
	insertHistory
)

// tpcbStore is the Store on a Database of TPCBSchema.
type tpcbStore struct{ journalStore }

// TPCB is the Store on a Database of TPCBSchema.
func TPCB(db Database) tpcb.Store {
	s := &tpcbStore{journalStore{Database: db, tables: tpcb.Tables(), text: map[int]textColumn{}}}
	for table := range s.tables {
		if filler := strings.Repeat(" ", tpcb.FillerLength(table)); filler != "" {
			s.text[table] = textColumn{"filler", func([]int64) string { return filler }}
		}
	}
	return s
}

func (s *tpcbStore) Session(ctx context.Context) (tpcb.Session, error) {
	d := s.Dialect()
	of := s.tables[tpcb.History]
	c, err := s.Connect(ctx, []Statement{
		updateAccount: {"account", "UPDATE " + d.Table("accounts") + " SET abalance = abalance + $1 WHERE aid = $2"},
		selectAccount: {"balance", "SELECT abalance FROM " + d.Table("accounts") + " WHERE aid = $1"},
		updateTeller:  {"teller", "UPDATE " + d.Table("tellers") + " SET tbalance = tbalance + $1 WHERE tid = $2"},
		updateBranch:  {"branch", "UPDATE " + d.Table("branches") + " SET bbalance = bbalance + $1 WHERE bid = $2"},
		insertHistory: {"history", insertInto(d, of.Name, append(of.Columns, "mtime"))},
	})
	if err != nil {
		return nil, err
	}
	return &tpcbSession{c}, nil
}

type tpcbSession struct{ connection Connection }

func (s *tpcbSession) Close() { s.connection.Close() }

func (s *tpcbSession) Do(ctx context.Context, x tpcb.Transaction, together bool) tpcb.Reply {
	balance := new(int64) // of this attempt, which may go on after the caller has left
	calls := []Call{
		{Statement: updateAccount, Parameters: ofInts(x.Delta, x.Account)},
		{Statement: selectAccount, Parameters: ofInts(x.Account), Want: 1, Row: func(row Row) error { return row.Scan(balance) }},
		{Statement: updateTeller, Parameters: ofInts(x.Delta, x.Teller)},
		{Statement: updateBranch, Parameters: ofInts(x.Delta, x.Branch)},
		{Statement: insertHistory, Parameters: ofInts(append(x.Values(), time.Now().UnixMicro())...)},
	}
	var r Reply
	if together {
		r = s.connection.Batch(ctx, &Batch{Calls: calls})
	} else {
		r = s.connection.Transaction(ctx, true, func(ctx context.Context, t Transaction) error {
			for _, call := range calls {
				var err error
				if call.Row == nil {
					err = t.Execute(ctx, call.Statement, call.Parameters...)
				} else {
					err = t.Query(ctx, call.Statement, call.Row, call.Parameters...)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	reply := tpcb.Reply{Reply: r.Inserted()}
	if r.Outcome == history.Committed {
		reply.Balance = *balance
	}
	return reply
}
