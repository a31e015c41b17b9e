package drivertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/workload"
)

// Other is something that another maker makes in a schema of ours, or on what is in it.
type Other struct {
	// Name is what an error is to tell of it.
	Name string
	// Make makes it beside a schema that is there, and Remove removes it. Intact fails the
	// test unless it is as it was made.
	Make, Intact, Remove func(t *testing.T)
}

// testOthers has each of Harness.Others keep Create and Drop from changing anything, in a
// schema whose loading has not ended and in one that is full.
func (l *lifecycle[S]) testOthers() {
	second := l.open()
	for _, loaded := range []bool{false, true} {
		marker := l.marker("run-1")
		marker.Loaded = marker.Loaded && loaded
		l.must("Create", l.schema.create(l.store, marker))
		if loaded {
			l.schema.load(l.store)
			l.schema.write(l.store, 0)
			l.schema.check()
		}
		l.wantNoError("Removable of what is ours alone", l.store.Removable(l.ctx))
		for _, other := range l.harness.Others {
			other.Make(l.t)
			_, before := l.size()
			l.refused(second, other)
			if _, after := l.size(); after != before {
				l.t.Errorf("%d rows are left of %d beside %s", after, before, other.Name)
			}
			other.Remove(l.t)
		}
		l.wantNoError("Removable when it is removed", second.Removable(l.ctx))
		l.create(second, "run-2")
		l.wantMarker(l.store, "run-2")
		l.drop()
	}
}

// refused wants each attempt on run-1's schema refused for what is there.
func (l *lifecycle[S]) refused(by S, other Other) {
	l.t.Helper()
	for name, attempt := range map[string]func(S) error{
		"Removable": func(s S) error { return s.Removable(l.ctx) },
		"Create":    func(s S) error { return l.schema.create(s, l.marker("run-2")) },
		"Drop":      func(s S) error { return s.Drop(l.ctx) },
	} {
		err := attempt(by)
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			l.t.Fatalf("%s beside %s: %v; want *workload.ForeignError", name, other.Name, err)
		}
		if foreign.Name == "" || foreign.Hint == "" || !slices.ContainsFunc(foreign.Others, func(o string) bool { return strings.Contains(o, other.Name) }) {
			l.t.Errorf("%s: %+v does not tell of %s", name, foreign, other.Name)
		}
		other.Intact(l.t)
		l.wantMarker(by, "run-1")
	}
}
