package script

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{Name: "lost-ack", Check: CheckCounted, Kinds: []string{"lost"},
			Doc: "a transaction is acknowledged and nothing of it is there", Act: bug.Act{Does: bug.Loses}},
		{Name: "failed-but-applied", Check: CheckCounted, Kinds: []string{"surplus"},
			Doc: "failed is answered to a transaction that is done", Act: bug.Act{Does: bug.Denies}},
		{Name: "half-done", Check: CheckInvariants, Kinds: []string{"observed", "end"},
			Doc: "the first change of a transaction is not made, and the others are", Act: bug.Act{Does: bug.Forgets}},
		{Name: "altered-row", Check: CheckExpected, Kinds: []string{"expected"},
			Doc: "a row that a transaction which only reads is answered has other numbers, below zero", Act: bug.Act{Does: bug.Misanswers}},
		bug.Late("transaction done"),
	}
}
