package ycsb

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	older := []string{"stale read", "lost", "overwritten", "order"}
	late := bug.Late("update done")
	late.Act.To = bug.Updated
	return []bug.Bug{
		{Name: "lost-update", Check: CheckLinearizable, Or: CheckRecords, Kinds: older, Passing: true,
			Doc: "an update is acknowledged and not done; the next update hides it", Act: bug.Act{Does: bug.Loses, To: bug.Updated}},
		{Name: "lost-insert", Check: CheckRecords, Or: CheckLinearizable, Kinds: older,
			Doc: "an insert is acknowledged and not done", Act: bug.Act{Does: bug.Loses, To: bug.Inserted}},
		{Name: "stale-read", Check: CheckLinearizable, Kinds: older, Passing: true,
			Doc: "a read returns the version before the newest, which is allowed while that is being written", Act: bug.Act{Does: bug.ReadsOlder}},
		{Name: "altered-read", Check: CheckReads, Kinds: []string{"garbage"},
			Doc: "a read returns a field otherwise than it was written", Act: bug.Act{Does: bug.Misanswers}},
		{Name: "failed-but-applied", Check: CheckReads, Or: CheckRecords, Kinds: []string{"failed"}, Passing: true,
			Doc: "an update is done, and failed is answered; the next update hides it", Act: bug.Act{Does: bug.Denies, To: bug.Updated}},
		{Name: "dropped-from-scan", Check: CheckScans, Kinds: []string{"left out"}, Passing: true,
			Doc: "a scan leaves a record out, which is allowed of one that is being inserted", Act: bug.Act{Does: bug.Drops}},
		{Name: "extra-row", Check: CheckRecords, Kinds: []string{"foreign"},
			Doc: "a record that nobody inserted is there beside", Act: bug.Act{Does: bug.Adds}},
		late,
	}
}
