package churn

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{Name: "lost-ack", Check: CheckRows, Kinds: []string{"lost"}, Passing: true,
			Doc: "one row of an insert that is acknowledged is not there", Act: bug.Act{Does: bug.Forgets, To: bug.Inserted}},
		{Name: "undeleted", Check: CheckRows, Kinds: []string{"undeleted"}, Passing: true,
			Doc: "a deletion is acknowledged and leaves one of its rows", Act: bug.Act{Does: bug.Forgets, To: bug.Deleted}},
		{Name: "failed-but-applied", Check: CheckRows, Kinds: []string{"failed", "lost"}, Passing: true,
			Doc: "failed is answered to an insert or a deletion that is done", Act: bug.Act{Does: bug.Denies}},
		{Name: "altered-row", Check: CheckRows, Kinds: []string{"altered"}, Passing: true,
			Doc: "one row of an insert has another payload", Act: bug.Act{Does: bug.Alters}},
		{Name: "duplicate-row", Check: CheckRows, Kinds: []string{"doubled", "undeleted"},
			Doc: "one row of an insert is there twice, and the second is never deleted", Act: bug.Act{Does: bug.Repeats}},
		{Name: "extra-row", Check: CheckRows, Kinds: []string{"foreign"},
			Doc: "a row that nobody inserted is there beside those of an insert", Act: bug.Act{Does: bug.Adds}},
		bug.Late("insert or deletion done"),
	}
}
