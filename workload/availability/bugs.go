package availability

import (
	"assay/store/bug"
	"assay/workload/keyvalue"
)

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	return keyvalue.Bugs(
		bug.Bug{Name: "altered-row", Check: keyvalue.CheckRows, Kinds: []string{"altered"},
			Doc: "a row has another value than was inserted (found by reads as well, if it is read)", Act: bug.Act{Does: bug.Alters}},
		bug.Bug{Name: "altered-read", Check: keyvalue.CheckReads, Kinds: []string{"altered"},
			Doc: "a read returns another value than the one that is there", Act: bug.Act{Does: bug.Misanswers}})
}
