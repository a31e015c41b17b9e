package check

// Excerpt is the smallest part of a history that is convicted of the same
// anomaly as the whole: what is shown to somebody who has little time, and
// written to a file of its own.
type Excerpt struct {
	// Operations are in the order in which they were invoked.
	Operations []Operation `json:"operations"`
	// Of is how many operations the history has.
	Of int64 `json:"of"`
	// Why says in words, with the names of the operations, why they cannot all be.
	Why string `json:"why,omitempty"`
	// Minimal is true if nothing of it can be left out, false if the time for the
	// search was over before that was known.
	Minimal bool `json:"minimal"`
	// Shortened is true if lists were longer when they were read: what operations
	// wrote that are not in the excerpt is left out of them.
	Shortened bool `json:"shortened,omitempty"`
	// Clock is what the times of the operations count.
	Clock Clock `json:"clock"`
}

// Move has all moments be later by so much.
func (x *Excerpt) Move(by int64) {
	later := func(at *int64) {
		if *at >= 0 {
			*at += by
		}
	}
	for i := range x.Operations {
		o := &x.Operations[i]
		later(&o.Invoke)
		later(&o.Complete)
		for k := range o.Statements {
			later(&o.Statements[k].Sent)
			later(&o.Statements[k].Answered)
		}
	}
}

// Clock is a unit of time.
type Clock string

// A run's own clock counts nanoseconds. The history of another tool orders its
// events, and they are counted.
const (
	Nanoseconds Clock = "ns"
	Events      Clock = "event"
)

// Operation is one transaction, or one operation of any other kind, of an
// Excerpt.
type Operation struct {
	// Name is short, "T1".
	Name string `json:"name"`
	// ID is its number in the history. One below 0 was done by assay itself when
	// the run was over.
	ID      int64 `json:"id"`
	Process int64 `json:"process"`
	// Invoke and Complete are moments of the excerpt's clock. Complete is -1 if it is not known to have come to an end.
	Invoke   int64  `json:"invoke"`
	Complete int64  `json:"complete"`
	Outcome  string `json:"outcome"`
	// Steps are what it did, one after the other, in words that begin with the
	// verb: "append 1 to key 5".
	Steps []string `json:"steps"`
	// Transaction is what its kind is called, where there are several, and Attempt which
	// attempt of its operation it was; empty and 0 where nobody noted it.
	Transaction string `json:"transaction,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	// Statements are what was sent, BEGIN and COMMIT among them, with the moments; empty
	// where nobody noted them.
	Statements []Statement `json:"statements,omitempty"`
}

// Statement is one statement of an Operation.
type Statement struct {
	// Text is what was sent, with its values, and Answer what it gave or how many rows it
	// changed; empty if it gave nothing.
	Text   string `json:"text"`
	Answer string `json:"answer,omitempty"`
	// Sent and Answered are moments of the excerpt's clock. What was sent together with the
	// next statement was answered with that; Answered is -1 then.
	Sent     int64 `json:"sent"`
	Answered int64 `json:"answered"`
}
