package script

import (
	"errors"
	"fmt"
)

// Error says what is wrong with a script, and where.
type Error struct {
	File string
	// Line and Column count from 1; 0 if unknown.
	Line, Column int
	Reason       string
	// Advice may be empty.
	Advice string
	Err    error
}

func (e *Error) Error() string {
	text := e.File
	if e.Line > 0 {
		text += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	text += ": " + e.Reason
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// ofDatabase reports whether the database refused, and not the script.
func (e *Error) ofDatabase() bool {
	var refused *databaseError
	return errors.As(e.Err, &refused)
}

type databaseError struct{ err error }

func (e *databaseError) Error() string { return e.err.Error() }
func (e *databaseError) Unwrap() error { return e.err }

// refusal ends a transaction for a reason of business.
type refusal struct{ reason string }

func (r *refusal) Error() string { return "rejected: " + r.reason }

// repeated ends a transaction that an earlier attempt has done.
type repeated struct{}

func (repeated) Error() string { return "done by an earlier attempt" }
