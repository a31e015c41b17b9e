package postgres

import (
	"context"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/script"
)

// BenchmarkScript measures a session's cost of pgbench's five statements, one by one.
func BenchmarkScript(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour) // as an attempt has one
	defer cancel()
	db, err := Open(ctx, store.Target{Address: server.Address(), ConnectTimeout: time.Minute}, script.Schema())
	expect.NoError(b, err)
	defer db.Close()
	expect.NoError(b, db.Create(ctx, store.Marker{Run: "benchmark", Workload: "script", Loaded: true}))
	session, err := script.OpenSession(ctx, db)
	expect.NoError(b, err)
	for _, text := range []string{"CREATE TABLE account (id int PRIMARY KEY, balance int)", "CREATE TABLE teller (id int PRIMARY KEY, balance int)",
		"CREATE TABLE branch (id int PRIMARY KEY, balance int)", "CREATE TABLE entry (account int, teller int, branch int, delta int)",
		"INSERT INTO account SELECT n, 0 FROM generate_series(1, 1000) AS n", "INSERT INTO teller VALUES (1, 0)", "INSERT INTO branch VALUES (1, 0)"} {
		if r := session.Single(ctx, script.Statement{Text: text}); r.Outcome != history.Committed {
			b.Fatal(r)
		}
	}
	recording, _ := store.As[store.Recording](db)
	expect.NoError(b, recording.RecordMade(ctx))
	account := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		account = account%1000 + 1
		r := session.Transaction(ctx, true, func(ctx context.Context, tx script.Transaction) error {
			for _, s := range []script.Statement{
				{Text: "UPDATE account SET balance = balance + $1 WHERE id = $2", Parameters: []any{int64(7), account}},
				{Text: "SELECT balance FROM account WHERE id = $1", Parameters: []any{account}, Reads: true},
				{Text: "UPDATE teller SET balance = balance + $1 WHERE id = $2", Parameters: []any{int64(7), int64(1)}},
				{Text: "UPDATE branch SET balance = balance + $1 WHERE id = $2", Parameters: []any{int64(7), int64(1)}},
				{Text: "INSERT INTO entry (account, teller, branch, delta) VALUES ($1, $2, $3, $4)", Parameters: []any{account, int64(1), int64(1), int64(7)}},
			} {
				if s.Reads {
					if err := tx.Query(ctx, s, nil); err != nil {
						return err
					}
				} else if _, err := tx.Execute(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
		if r.Outcome != history.Committed {
			b.Fatalf("%+v", r)
		}
	}
	session.Close()
	expect.NoError(b, db.Drop(ctx))
}
