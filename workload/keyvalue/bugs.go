package keyvalue

import "assay/store/bug"

// Bugs are the faults that the checks of unchanging records must find, and the workload's own.
func Bugs(own ...bug.Bug) []bug.Bug {
	return append([]bug.Bug{
		{Name: "lost-ack", Check: CheckAcknowledged, Kinds: []string{"lost"},
			Doc: "an insert is acknowledged and nothing stays", Act: bug.Act{Does: bug.Loses}},
		{Name: "duplicate-apply", Check: CheckRows, Kinds: []string{"doubled"},
			Doc: "a record is inserted twice under one key", Act: bug.Act{Does: bug.Repeats}},
		{Name: "extra-row", Check: CheckRows, Kinds: []string{"foreign"},
			Doc: "a record that nobody inserted is there beside", Act: bug.Act{Does: bug.Adds}},
		{Name: "failed-but-applied", Check: CheckRows, Kinds: []string{"failed"},
			Doc: "a record is inserted, and failed is answered", Act: bug.Act{Does: bug.Denies}},
		bug.Late("record inserted"),
	}, own...)
}
