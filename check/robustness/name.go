package robustness

// The anomalies by their names (H. Berenson et al., "A Critique of ANSI SQL Isolation
// Levels", SIGMOD 1995; A. Adya, "Weak Consistency", MIT 1999; A. Fekete, E. O'Neil,
// P. O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation", SIGMOD Record
// 33(3), 2004).
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

// name is the anomaly of a danger, as what Left reads and where it is entered tell it.
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

// nameOf names a cycle of two transactions: the first reads a row that the second writes,
// and then the same row, or another, which it writes or reads; anti is whether the second
// had read what the first then writes. Nothing is lost by a write that adds to what is there.
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
