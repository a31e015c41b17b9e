package postgres

import (
	"net/url"
	"testing"

	"assay/driver/drivertest"
	"assay/workload"
	"assay/workload/candles"
)

func TestCandles(t *testing.T) {
	for name, changes := range map[string][]func(*url.URL){
		"prepared":                    nil,
		"without prepared statements": {parameter("default_query_exec_mode", "exec")},
	} {
		t.Run(name, func(t *testing.T) { drivertest.RunCandles(t, candlesHarness(changes...)) })
	}
}

func candlesHarness(changes ...func(*url.URL)) drivertest.Candles {
	return drivertest.Candles{
		Open: func(t *testing.T) candles.Store { return openCandles(t, target(t, changes...)) },
		MakeForeign: func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE SCHEMA assay_candles`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_candles CASCADE`) })
			exec(t, conn, `CREATE TABLE assay_candles.candle AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM assay_candles.candle`).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
	}
}

func openCandles(t *testing.T, target workload.Target) candles.Store {
	t.Helper()
	store, err := candles.Opener(Driver().Open)(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
