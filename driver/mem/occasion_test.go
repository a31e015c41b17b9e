package mem

import (
	"slices"
	"testing"

	"assay/workload"
	"assay/workload/isolation"
)

// clients opens sessions on a new database on which a bug always strikes.
func clients(t *testing.T, bug string, n int) (d *Multiversion, sessions []*versionSession) {
	t.Helper()
	d = mustIsolation(t, Options{Seed: 1, Inject: []Injection{{bug, 1}}})
	s := d.Isolation()
	if err := s.Create(t.Context(), workload.Marker{}); err != nil {
		t.Fatal(err)
	}
	for range n {
		session, err := s.Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session.(*versionSession))
	}
	return d, sessions
}

// TestStaleReadMissesOnlyWhatWasAnswered: what was answered only while the
// reader was at work might rightly be missed, so that it is no occasion.
func TestStaleReadMissesOnlyWhatWasAnswered(t *testing.T) {
	d, c := clients(t, "stale-read", 2)
	writer, reader := c[0], c[1]
	look := func() []int64 {
		ops := []isolation.Op{{Kind: isolation.ReadList, Key: 1}}
		reader.Do(t.Context(), ops)
		return ops[0].List
	}
	write := func(element int64) {
		writer.Do(t.Context(), []isolation.Op{{Kind: isolation.Append, Key: 1, Value: element}})
	}
	meanwhile := func(do func()) {
		x := d.begin(reader, []isolation.Op{{Kind: isolation.ReadList, Key: 2}})
		x.operate()
		do()
		d.finish(x)
	}
	meanwhile(func() { write(5) })
	if got := look(); !slices.Equal(got, []int64{5}) || d.armed[0].strikes != 0 {
		t.Errorf("read %v after %d strikes, though the answer to the write may have come after the reader began", got, d.armed[0].strikes)
	}
	meanwhile(func() { write(6); writer.Do(t.Context(), []isolation.Op{{Kind: isolation.ReadList, Key: 3}}) })
	if got := look(); !slices.Equal(got, []int64{5}) || d.armed[0].strikes != 1 {
		t.Errorf("read %v after %d strikes, want the list without what was answered before", got, d.armed[0].strikes)
	}
}

// TestLostUpdateOverwritesAnUpdate: who read only what it had written itself has
// updated nothing that could be lost.
func TestLostUpdateOverwritesAnUpdate(t *testing.T) {
	for name, want := range map[string]int64{"read first": 1, "written first": 0} {
		d, c := clients(t, "lost-update", 2)
		first := []isolation.Op{{Kind: isolation.ReadValue, Key: 1}, {Kind: isolation.Write, Key: 1, Value: 7}}
		if name == "written first" {
			slices.Reverse(first)
		}
		c[0].Do(t.Context(), first)
		second := []isolation.Op{{Kind: isolation.ReadValue, Key: 1}, {Kind: isolation.Write, Key: 1, Value: 8}}
		c[1].Do(t.Context(), second)
		if got := d.armed[0].strikes; got != want || second[0].Found != (want == 0) {
			t.Errorf("%s: %d strikes, read %d (%v); want %d", name, got, second[0].Value, second[0].Found, want)
		}
	}
}
