package drivertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/store"
)

// Other is something that somebody else makes in a schema of assay's, or on a part of it.
type Other struct {
	// Name must appear in the error.
	Name string
	// Make and Remove make and remove it; the schema exists then. Intact fails the test if it has
	// changed.
	Make, Intact, Remove func(t *testing.T)
}

// testOthers checks that each of Store.Others keeps Drop from changing a full schema, and the first
// also Create, which looks for them by the same question. Before the end of loading it tries the
// first, and on a user's tables the first four.
func (f *fixture) testOthers() {
	second := f.open()
	for _, loaded := range []bool{false, true} {
		marker := f.marker("run-1")
		marker.Loaded = marker.Loaded && loaded
		f.must("Create", f.create(f.store, marker))
		if loaded {
			f.load(f.store)
			f.write(f.store, 0)
			f.check()
		}
		f.wantNoError("Removable of what is ours alone", f.store.Removable(f.ctx))
		for n, other := range f.suite.Others(f.schema.Workload) {
			if n > 0 && !loaded || n > 3 && f.schema.Open {
				break
			}
			other.Make(f.t)
			_, before := f.size()
			f.refused(second, other, n == 0)
			if _, after := f.size(); after != before {
				f.t.Errorf("%d rows are left of %d beside %s", after, before, other.Name)
			}
			other.Remove(f.t)
		}
		f.wantNoError("Removable when it is removed", second.Removable(f.ctx))
		f.mustCreate(second, "run-2")
		f.wantMarker(f.store, "run-2")
		f.drop()
	}
}

func (f *fixture) refused(by store.Database, other Other, also bool) {
	f.t.Helper()
	attempts := map[string]func() error{"Drop": func() error { return by.Drop(f.ctx) }}
	if also {
		attempts["Removable"] = func() error { return by.Removable(f.ctx) }
		attempts["Create"] = func() error { return f.create(by, f.marker("run-2")) }
	}
	for name, attempt := range attempts {
		err := attempt()
		var foreign *store.ForeignError
		if !errors.As(err, &foreign) {
			f.t.Fatalf("%s beside %s: %v; want *store.ForeignError", name, other.Name, err)
		}
		if foreign.Name == "" || foreign.Hint == "" || !slices.ContainsFunc(foreign.Others, func(o string) bool { return strings.Contains(o, other.Name) }) {
			f.t.Errorf("%s: %+v does not tell of %s", name, foreign, other.Name)
		}
		other.Intact(f.t)
		f.wantMarker(by, "run-1")
	}
}
