package bulkupdate_test

import (
	"errors"
	"testing"

	"assay/driver/mem"
	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// TestUpdate changes all documents of a user, and no others.
func TestUpdate(t *testing.T) {
	s, err := bulkupdate.Opener(mem.Open)(t.Context(), workload.Target{Address: "mem://"})
	if err != nil {
		t.Fatal(err)
	}
	config := bulkupdate.Config{Users: 3, Documents: 40, Field: bulkupdate.FieldRandom, Loaders: 2}
	documents := bulkupdate.NewDocuments(config, 1)
	if err := errors.Join(s.Create(t.Context(), workload.Marker{}), bulkupdate.Open(t.Context(), s, config, 1, func(int64, int64) {})); err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	const large = 1<<60 + 1 // more than a floating-point number holds
	for _, step := range []struct{ user, generation, changed int64 }{{2, 1, 40}, {2, 2, 40}, {3, large, 40}, {99, 5, 0}} {
		if r := session.Update(t.Context(), step.user, step.generation, step.generation == large); r.Outcome != history.Committed || r.Changed != step.changed {
			t.Errorf("%+v: %+v", step, r)
		}
	}
	n := 0
	err = s.Read(t.Context(), func(d bulkupdate.Document) error {
		want := documents.At(d.ID)
		if n++; d.User == 2 {
			want.Generation, want.Flag = 2, false
		} else if d.User == 3 {
			want.Generation, want.Flag = large, true
		}
		if d != want {
			t.Errorf("%+v, want %+v", d, want)
		}
		return nil
	})
	if err != nil || n != 120 || !s.Atomic() {
		t.Errorf("%d documents, %v", n, err)
	}
}
