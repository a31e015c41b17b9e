package history

import "fmt"

// Outcome is what an operation, or one attempt of it, can end as. The zero
// value is Unknown, so that whatever nobody decided is never taken for an
// answer.
type Outcome uint8

const (
	// Unknown may or may not have taken effect, now or later.
	Unknown Outcome = iota
	// Committed was acknowledged by the database.
	Committed
	// Rejected was refused by a business rule (no funds) and has certainly no
	// effect.
	Rejected
	// Failed has certainly no effect: a serialization failure, a deadlock, or
	// never sent. A driver says so only with proof.
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

// Then combines the outcome of an operation's earlier attempts with the outcome of
// the next one. A committed attempt settles the operation. Otherwise one
// unknown attempt leaves it unknown, whatever later attempts say, because the
// earlier one may still take effect.
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
