package mem

import (
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
	"assay/workload/keyvalue"
)

// TestTheNullStoreKeepsNothing: every call is acknowledged, and nothing is there.
func TestTheNullStoreKeepsNothing(t *testing.T) {
	ctx := t.Context()
	for _, address := range []string{"null", "mem://", "null://host", "null://?latency=1ms"} {
		if _, err := OpenNullBank(ctx, workload.Target{Address: address}); err == nil {
			t.Errorf("%q was opened", address)
		}
	}
	store, err := OpenNullBank(ctx, workload.Target{Address: "null://"})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Create(ctx, workload.Marker{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	session, err := store.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if r := session.Transfer(ctx, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 3}); r.Outcome != history.Committed {
		t.Errorf("%+v", r)
	}
	err = store.Read(ctx, func(a bank.Account) error {
		t.Errorf("account %+v", a)
		return nil
	}, func(e bank.Entry) error {
		t.Errorf("transfer %+v", e)
		return nil
	})
	found, left := store.Find(ctx)
	if err != nil || left != nil || found != nil {
		t.Errorf("read %v; found %+v, %v", err, found, left)
	}
	records, err := OpenNullKeyValue(ctx, workload.Target{Address: "null://"}, keyvalue.Table{Workload: "w", Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := records.Create(ctx, workload.Marker{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	client, err := records.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	inserted, read := client.Insert(ctx, keyvalue.Record{Key: int64(1)}), client.Get(ctx, int64(1))
	if inserted.Outcome != history.Committed || read.Outcome != history.Committed || read.Found {
		t.Errorf("%+v, %+v", inserted, read)
	}
}
