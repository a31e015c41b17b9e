package mysql

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/candles"
)

func TestCandles(t *testing.T) {
	drivertest.RunCandles(t, drivertest.Candles{
		Open: func(t *testing.T) candles.Store {
			store, err := candles.Opener(Driver().Open)(context.Background(), target())
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
		MakeForeign:   func(t *testing.T) { makeForeign(t, "assay_candles", "candle") },
		ForeignIntact: func(t *testing.T) { foreignIntact(t, "assay_candles", "candle") },
	})
}
