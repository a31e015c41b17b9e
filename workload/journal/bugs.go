package journal

import "assay/store/bug"

// Bugs are the faults of any journal, which CheckOperations must find. operation, such as "a
// transaction", and journal are the words for an operation and for the table. Column is one that the
// operation says. A lost acknowledgement is also found by the check lost; empty for none.
func Bugs(operation, journal, column, lost string) []bug.Bug {
	return []bug.Bug{
		{Name: "lost-ack", Check: CheckOperations, Kinds: []string{KindLost}, Or: lost,
			Doc: operation + " is acknowledged and nothing of it is there", Act: bug.Act{Does: bug.Loses}},
		{Name: "failed-but-applied", Check: CheckOperations, Kinds: []string{KindFailed},
			Doc: "failed is answered to " + operation + " that is done", Act: bug.Act{Does: bug.Denies}},
		{Name: "altered-row", Check: CheckOperations, Kinds: []string{KindAltered},
			Doc: "a " + journal + " row has another amount than was asked for", Act: bug.Act{Does: bug.Alters, Columns: []string{column}}},
		{Name: "duplicate-row", Check: CheckOperations, Kinds: []string{KindDoubled},
			Doc: operation + " has two " + journal + " rows", Act: bug.Act{Does: bug.Repeats}},
		{Name: "extra-row", Check: CheckOperations, Kinds: []string{KindForeign},
			Doc: "there is a " + journal + " row of nobody's beside that of " + operation, Act: bug.Act{Does: bug.Adds}},
	}
}
