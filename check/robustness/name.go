package robustness

// The names of the anomalies (H. Berenson et al., "A Critique of ANSI SQL Isolation Levels",
// SIGMOD 1995; A. Adya, "Weak Consistency", MIT 1999; A. Fekete, E. O'Neil, P. O'Neil, "A
// Read-Only Transaction Anomaly Under Snapshot Isolation", SIGMOD Record 33(3), 2004).
const (
	LostUpdate    = "lost update"
	WriteSkew     = "write skew"
	ReadSkew      = "read skew"
	FuzzyRead     = "non-repeatable read"
	Phantom       = "phantom"
	SingleAnti    = "stale read (G-single)"
	LongerCycle   = "a cycle of several"
	ReadOnlyCycle = "read-only anomaly"
)

func (a *analysis) name(d Danger) string {
	t := &a.set[d.Left]
	read, returned := &t.Operations[d.Read], &t.Operations[d.Returned]
	returning := &a.set[d.Into].Operations[d.Returning]
	sameRow := read.Relation == returned.Relation && read.Key == returned.Key
	anti := returning.plain() && meet(returning.Reads, returned.Writes)
	switch {
	case !d.same && a.level == Snapshot && readsOnly(&a.set[d.Into]):
		return ReadOnlyCycle
	case !d.same:
		return LongerCycle
	}
	return nameOf(sameRow, read.Key != "", returned, anti)
}

func readsOnly(t *Template) bool {
	for i := range t.Operations {
		if len(t.Operations[i].Writes) > 0 {
			return false
		}
	}
	return true
}

// nameOf names a cycle of two transactions. The first reads a row that the second writes. Then
// it writes or reads the same row, or another. anti is true if the second had read what the
// first then writes. A write that adds to the row's value loses nothing.
func nameOf(sameRow, byKey bool, returned *Operation, anti bool) string {
	writes := len(returned.Writes) > 0
	switch {
	case writes && sameRow && byKey && returned.Adds:
		return SingleAnti
	case writes && sameRow && byKey:
		return LostUpdate
	case writes && anti:
		return WriteSkew
	case writes:
		return SingleAnti
	case sameRow && byKey:
		return FuzzyRead
	case sameRow:
		return Phantom
	}
	return ReadSkew
}
