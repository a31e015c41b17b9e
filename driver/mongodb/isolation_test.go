package mongodb

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	cluster "assay/cluster/mongodb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/isolation"
)

func testIsolationPromise(t *testing.T, set *cluster.ReplicaSet) {
	for options, want := range map[string]string{
		"": "snapshot-isolation", "&readConcernLevel=snapshot&w=majority": "snapshot-isolation",
		"&readConcernLevel=majority": "read-committed", "&readConcernLevel=local": "read-uncommitted",
		"&w=1": "read-uncommitted", "&readConcernLevel=majority&w=1": "read-uncommitted",
	} {
		opened := mustOpenSchema(t, set.Address()+options, isolation.Schema())
		if got := opened.Promises().Model; got != want {
			t.Errorf("%q promises %q, want %q", options, got, want)
		}
		expect.NoError(t, opened.Close())
	}
}

// testUpsertRace has two sessions make one list, both while the other is at it,
// and after the other has committed what one of them cannot see.
func testUpsertRace(t *trial) {
	const appending, listing = 0, 1
	statements := []store.Statement{
		{Verb: store.Append, Table: "list", Columns: []string{"id", "elements"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}},
		{Verb: store.Read, Table: "list", Columns: []string{"elements"}, Where: store.Where("id")},
	}
	t.use(statements...)
	first := t.session
	t.use(statements...)
	second := t.session
	appends := func(session store.Session, list, element int64, before func(context.Context, store.Transaction) error) store.Reply {
		return session.Transaction(t.Context(), true, func(ctx context.Context, x store.Transaction) error {
			err := before(ctx, x)
			_, err2 := x.Do(ctx, appending, nil, store.OfInts(list, element)...)
			return errors.Join(err, err2)
		})
	}
	nothing := func(context.Context, store.Transaction) error { return nil }
	refused := func(r store.Reply, classes ...string) {
		if r.Outcome != history.Failed || !slices.Contains(classes, r.Class) || r.Broken {
			t.Errorf("got %+v, want failed (%v)", r, classes)
		}
	}
	if r := appends(first, 2, 2, func(ctx context.Context, x store.Transaction) error {
		_, err := x.Do(ctx, appending, nil, store.OfInts(2, 1)...)
		refused(appends(second, 2, 3, nothing), store.ClassSerialization)
		return err
	}); r.Outcome != history.Committed {
		t.Errorf("got %+v", r)
	}
	refused(appends(first, 4, 2, func(ctx context.Context, x store.Transaction) error {
		_, err := x.Do(ctx, listing, collect(new(strings.Builder)), store.OfInt(4))
		if r := appends(second, 4, 1, nothing); r.Outcome != history.Committed {
			t.Errorf("after a failure: %+v", r)
		}
		return err
	}), store.ClassSerialization, store.ClassDuplicateKey)
	if r := appends(first, 6, 1, nothing); r.Outcome != history.Committed {
		t.Errorf("after a failure: %+v", r)
	}
	t.stands("[2 [1 2]][4 [1]][6 [1]]", "list")
}
