package candles

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{Name: "truncated-read", Check: CheckAnswers, Kinds: []string{"cut short"},
			Doc: "an answer to a query ends early and without an error", Act: bug.Act{Does: bug.Cuts}},
		{Name: "altered-row", Check: CheckAnswers, Kinds: []string{"altered", "other rows"},
			Doc: "one row of an answer has another volume than was written", Act: bug.Act{Does: bug.Misanswers, Columns: []string{"volume"}}},
		{Name: "lost-ack", Check: CheckIngest, Kinds: []string{"lost"}, Or: CheckAnswers,
			Doc: "a batch is acknowledged and one of its rows is not there", Act: bug.Act{Does: bug.Forgets, To: bug.Inserted}},
		{Name: "altered-write", Check: CheckIngest, Kinds: []string{"altered"}, Or: CheckAnswers,
			Doc: "a row is written with another closing price", Act: bug.Act{Does: bug.Alters, Columns: []string{"closing"}}},
		{Name: "failed-but-applied", Check: CheckIngest, Kinds: []string{"failed"}, Or: CheckAnswers,
			Doc: "a batch is written, and failed is answered", Act: bug.Act{Does: bug.Denies}},
	}
}
