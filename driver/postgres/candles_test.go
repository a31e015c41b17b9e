package postgres

import (
	"testing"

	"assay/workload"
	"assay/workload/candles"
)

func openCandles(t *testing.T, target workload.Target) candles.Store {
	t.Helper()
	store, err := candles.Opener(Driver().Open)(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
