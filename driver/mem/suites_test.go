package mem

import (
	"context"
	"testing"

	"assay/driver/drivertest"
	"assay/store"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// onOne opens Databases that all serve one database, each with a lease of its own, as the
// suites want it.
func onOne(t *testing.T, address string, schema store.Schema) (store.Opener, *database) {
	t.Helper()
	db, err := Open(t.Context(), workload.Target{Address: address}, schema)
	if err != nil {
		t.Fatal(err)
	}
	one := db.(*Database)
	return func(context.Context, workload.Target, store.Schema) (store.Database, error) {
		return &Database{baseStore{one.d, new(workload.Taken)}, one.schema, one.relations}, nil
	}, one.d
}

// opening opens Stores of a workload.
func opening[S any](open func(context.Context, workload.Target) (S, error)) func(*testing.T) S {
	return func(t *testing.T) S {
		t.Helper()
		s, err := open(t.Context(), workload.Target{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestBankX(t *testing.T) {
	open, d := onOne(t, "mem://", bank.Schema())
	suite := drivertest.Bank{Open: opening(bank.Opener(open)), MakeForeign: foreign(d), ForeignIntact: untouched(d)}
	drivertest.RunBank(t, suite)
	drivertest.RunAudits(t, suite)
}

// TestBankWithLatency has contexts end while a transfer waits.
func TestBankWithLatencyX(t *testing.T) {
	open, _ := onOne(t, "mem://?latency=200us", bank.Schema())
	drivertest.RunBank(t, drivertest.Bank{Open: opening(bank.Opener(open))})
}

func TestSmallBankX(t *testing.T) {
	open, d := onOne(t, "mem://", smallbank.Schema())
	drivertest.RunSmallBank(t, drivertest.SmallBank{Open: opening(smallbank.Opener(open)), MakeForeign: foreign(d), ForeignIntact: untouched(d)})
}

func TestTPCBX(t *testing.T) {
	open, d := onOne(t, "mem://", tpcb.Schema())
	drivertest.RunTPCB(t, drivertest.TPCB{Open: opening(tpcb.Opener(open)), MakeForeign: foreign(d), ForeignIntact: untouched(d)})
}
