package bulkupdate

import (
	"errors"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// TestUpdate changes all documents of a user, and no others.
func TestUpdate(t *testing.T) {
	db, err := mem.Open(t.Context(), store.Target{Address: "mem://"}, Schema())
	expect.NoError(t, err)
	config := Config{Users: 3, Documents: 40, Workers: "1", Field: FieldRandom, Loaders: 2}
	w, err := config.Open(t.Context(), db, 1, 1)
	if err == nil {
		err = errors.Join(w.Create(t.Context(), store.Marker{}), w.Load(t.Context(), func(int64, int64) {}))
	}
	expect.NoError(t, err)
	session, err := db.Session(t.Context(), statements())
	expect.NoError(t, err)
	defer session.Close()
	const large = 1<<60 + 1 // more than a floating-point number holds
	for _, step := range []struct{ user, generation, changed int64 }{{2, 1, 40}, {2, 2, 40}, {3, large, 40}, {99, 5, 0}} {
		if r := session.Run(t.Context(), update(step.user, step.generation, step.generation == large)); r.Outcome != history.Committed || r.Affected != step.changed {
			t.Errorf("%+v: %+v", step, r)
		}
	}
	n := 0
	check := func(d Document) error {
		want := documents{config, 1}.At(d.ID)
		if n++; d.User == 2 {
			want.Generation, want.Flag = 2, false
		} else if d.User == 3 {
			want.Generation, want.Flag = large, true
		}
		if d != want {
			t.Errorf("%+v, want %+v", d, want)
		}
		return nil
	}
	err = db.View(t.Context(), func(r store.Reader) error { return store.Each(t.Context(), r, table, Columns(), check) })
	if err != nil || n != 120 || w.Promise() != PromiseAtomic {
		t.Errorf("%d documents, %v", n, err)
	}
}
