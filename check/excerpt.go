package check

// Excerpt is the smallest part of a history that shows the same anomaly as the whole. Reports
// show it, and it is also written to a file.
type Excerpt struct {
	// Operations are in the order of their invocations.
	Operations []Operation `json:"operations"`
	// Of is the number of operations in the history.
	Of int64 `json:"of"`
	// Why says why the operations contradict one another.
	Why string `json:"why,omitempty"`
	// Minimal is true if nothing can be left out, false if the search ran out of time first.
	Minimal bool `json:"minimal"`
	// Shortened is true if lists that were read lack elements of operations outside the excerpt.
	Shortened bool `json:"shortened,omitempty"`
	// Clock is the unit of the operations' times.
	Clock Clock `json:"clock"`
}

// Move makes all moments later by the given amount.
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

// A run's own clock counts nanoseconds. Histories of other tools count their events.
const (
	Nanoseconds Clock = "ns"
	Events      Clock = "event"
)

// Operation is one transaction, or another kind of operation, of an Excerpt.
type Operation struct {
	// Name is short: "T1".
	Name string `json:"name"`
	// ID is the operation's number in the history. If it is negative, assay itself did the
	// operation after the run.
	ID      int64 `json:"id"`
	Process int64 `json:"process"`
	// Invoke and Complete are moments of the excerpt's clock. Complete is -1 if no end is known.
	Invoke   int64  `json:"invoke"`
	Complete int64  `json:"complete"`
	Outcome  string `json:"outcome"`
	// Steps are in order, in words that begin with the verb: "append 1 to key 5".
	Steps []string `json:"steps"`
	// Transaction names the kind of transaction if there are several. Attempt is the number of
	// the attempt. Both are zero if not recorded.
	Transaction string `json:"transaction,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	// Statements are the statements sent, BEGIN and COMMIT included; empty if not recorded.
	Statements []Statement `json:"statements,omitempty"`
}

// Statement is one statement of an Operation.
type Statement struct {
	// Text is the statement with its values. Answer is its result or the number of rows
	// changed, empty if there was none.
	Text   string `json:"text"`
	Answer string `json:"answer,omitempty"`
	// Sent and Answered are moments of the excerpt's clock. Answered is -1 if the answer came
	// with the next statement's, because both were sent together.
	Sent     int64 `json:"sent"`
	Answered int64 `json:"answered"`
}
