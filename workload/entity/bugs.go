package entity

import (
	"assay/store/bug"
	"assay/workload/keyvalue"
)

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	altered := []string{"altered"}
	return keyvalue.Bugs(
		bug.Bug{Name: "altered-field", Check: keyvalue.CheckAcknowledged, Kinds: altered,
			Doc: "one of the fields is written otherwise than was asked (found in all checks that see it)", Act: bug.Act{Does: bug.Alters}},
		bug.Bug{Name: "altered-read", Check: keyvalue.CheckReads, Kinds: altered,
			Doc: "a read returns a field otherwise than it was written", Act: bug.Act{Does: bug.Misanswers}})
}
