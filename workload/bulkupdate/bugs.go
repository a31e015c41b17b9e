package bulkupdate

import "assay/store/bug"

// Bugs are the faults that the checks must find. An update hides the earlier ones of its user,
// so faults in early rounds are passing.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{Name: "partial-update", Check: CheckDocuments, Kinds: []string{"partial"}, Passing: true,
			Doc: "an update is acknowledged as whole and has changed some of the documents only", Act: bug.Act{Does: bug.ForgetsSome}},
		{Name: "lost-ack", Check: CheckDocuments, Kinds: []string{"lost"}, Passing: true,
			Doc: "an update is acknowledged and nothing is changed", Act: bug.Act{Does: bug.Loses}},
		{Name: "failed-but-applied", Check: CheckDocuments, Kinds: []string{"failed"}, Passing: true,
			Doc: "an update is done, and failed is answered", Act: bug.Act{Does: bug.Denies}},
		{Name: "wrong-count", Check: CheckCounts, Kinds: []string{"count"},
			Doc: "an update is said to have changed one document less than it has", Act: bug.Act{Does: bug.Miscounts}},
		{Name: "altered-row", Check: CheckDocuments, Kinds: []string{"altered"},
			Doc: "an update changes the payload of one document as well", Act: bug.Act{Does: bug.Alters, To: bug.Updated, Columns: []string{"payload"}}},
		{Name: "extra-row", Check: CheckDocuments, Kinds: []string{"foreign"},
			Doc: "a document that nobody loaded is there beside", Act: bug.Act{Does: bug.Adds, To: bug.Updated, Columns: []string{"owner"}}},
		{Name: "duplicate-row", Check: CheckDocuments, Kinds: []string{"doubled"},
			Doc: "a document is there twice after an update", Act: bug.Act{Does: bug.Repeats, To: bug.Updated}},
		{Name: "truncated-read", Check: CheckDocuments, Kinds: []string{"missing"},
			Doc: "a read of everything ends early and without an error", Act: bug.Act{Does: bug.Truncates}},
		bug.Late("update done"),
	}
}
