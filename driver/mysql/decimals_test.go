package mysql

import (
	"context"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

// TestPreparedDecimals: decimals that a user's prepared text sends arrive digit by digit.
func TestPreparedDecimals(t *testing.T) {
	db, err := Open(t.Context(), target(), store.Schema{Workload: drivertest.ConformanceOpen, Transactions: true, Open: true})
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "decimals", Workload: drivertest.ConformanceOpen, Created: time.Now()}))
	defer func() { expect.NoError(t, db.Drop(context.Background())) }()
	session, err := db.Session(t.Context(), nil)
	expect.NoError(t, err)
	defer session.Close()
	r := session.(store.Verbatim).Verbatim(t.Context(), true, func(ctx context.Context, s store.Sender) error {
		_, err := s.Send(ctx, store.UserText{Text: "CREATE TEMPORARY TABLE amount (a DECIMAL(40,10), b DECIMAL(65,0), c VARCHAR(40))", Kind: store.Defines, Protocol: store.Simple})
		if err != nil {
			return err
		}
		for _, text := range []string{"12345678901234567.89", "-0.1000000001", "99999999999999999999.5", "2.50"} {
			const insert = "INSERT INTO amount (a, c) VALUES ($1, $2)"
			if _, err := s.Send(ctx, store.UserText{Text: insert, At: []int{34, 38}, Parameters: []*string{&text, &text}, Kind: store.Writes, Protocol: store.Prepared}); err != nil {
				return err
			}
			results, err := s.Send(ctx, store.UserText{Text: "SELECT count(*), max(c) FROM amount WHERE a = " + text, Kind: store.NoEffect, Protocol: store.Simple, Keep: true})
			if err != nil {
				return err
			}
			if row := results[0].Last; *row[0] != "1" || row[1] == nil || *row[1] != text {
				t.Errorf("%s: %s rows, as text %v", text, *row[0], row[1])
			}
		}
		return nil
	})
	expect.NoError(t, r.Err)
}
