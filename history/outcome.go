package history

import "fmt"

// Outcome is how an operation, or an attempt, ended. The zero value is Unknown, so an undecided
// outcome is never taken for an answer.
type Outcome uint8

const (
	// Unknown may have taken effect, may still do so, or may not.
	Unknown Outcome = iota
	// Committed was acknowledged by the database.
	Committed
	// Rejected was refused by a business rule (no funds) and certainly has no effect.
	Rejected
	// Failed certainly has no effect: a serialization failure, a deadlock, or never sent. A
	// driver needs proof to say so.
	Failed
)

// String returns the word used in reports and in result.json.
func (o Outcome) String() string {
	switch o {
	case Unknown:
		return "unknown"
	case Committed:
		return "committed"
	case Rejected:
		return "rejected"
	case Failed:
		return "failed"
	default:
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
}

// Valid reports whether o is one of the four outcomes.
func (o Outcome) Valid() bool { return o <= Failed }

// Then combines the outcome of earlier attempts with the outcome of the next. A committed
// attempt settles the operation. Otherwise one unknown attempt leaves it unknown, because that
// attempt may still take effect.
func (o Outcome) Then(next Outcome) Outcome {
	switch {
	case o == Committed || next == Committed:
		return Committed
	case o == Unknown || next == Unknown:
		return Unknown
	default:
		return next
	}
}
