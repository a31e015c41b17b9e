package sqldb

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assay/history"
	"assay/store"
)

// Proof says for which transactions a server's error proves that they have no effect. ProvesAlone
// and ProvesCommit include the values before them.
type Proof uint8

const (
	// ProvesWork: COMMIT is sent but not due, and the server executes nothing after the error.
	ProvesWork Proof = iota
	// ProvesAlone: a statement that is a transaction by itself.
	ProvesAlone
	// ProvesCommit: the error answers COMMIT.
	ProvesCommit
	// ProvesNothing: a component on the way does not know.
	ProvesNothing
)

func (p Proof) at(s Stage) bool {
	switch s {
	case Working:
		return p != ProvesNothing
	case Alone:
		return p == ProvesAlone || p == ProvesCommit
	case Committing:
		return p == ProvesCommit
	}
	return true // COMMIT is not sent
}

// ErrorRow is the meaning of some error codes.
type ErrorRow[C cmp.Ordered] struct {
	Codes []C
	// Last, unless zero, makes the row stand for all codes from Codes[0] to Last.
	Last      C
	Class     string // store.ClassOther if empty
	Proves    Proof
	Violation store.Violation
	Kind      ErrorKind
	// Lasting says that the reason lasts on this server, so that the connection is useless.
	Lasting bool
}

func (r *ErrorRow[C]) has(code C) bool {
	var none C
	if r.Last != none {
		return r.Codes[0] <= code && code <= r.Last
	}
	return slices.Contains(r.Codes, code)
}

// ErrorTable is the meaning of a product's errors. All its functions must be set.
type ErrorTable[C cmp.Ordered] struct {
	// Code is the code of a server's error; false for the client's own errors.
	Code func(error) (C, bool)
	// Doubtful reports whether a server's error proves nothing, whatever its code.
	Doubtful func(error) bool
	// Unsent reports whether the client sent nothing, TimedOut whether it waited too long for
	// reasons other than a context.
	Unsent, TimedOut func(error) bool
	// Rows are searched in order; Other is for all other codes.
	Rows  []ErrorRow[C]
	Other ErrorRow[C]
}

func (t *ErrorTable[C]) meaning(err error) (r ErrorRow[C], answered bool) {
	if err == nil {
		return r, false
	}
	code, answered := t.Code(err)
	if !answered {
		return r, false
	}
	r = t.Other
	if i := slices.IndexFunc(t.Rows, func(r ErrorRow[C]) bool { return r.has(code) }); i >= 0 {
		r = t.Rows[i]
	}
	r.Class = cmp.Or(r.Class, store.ClassOther)
	if t.Doubtful(err) {
		r.Proves = ProvesNothing
	}
	return r, true
}

// Classify implements Wire. The client's own error proves something only before COMMIT is sent.
func (t *ErrorTable[C]) Classify(err error, at Stage) store.Reply {
	r := store.Reply{Class: store.ClassLost, Err: err}
	m, answered := t.meaning(err)
	proven := at == BeforeCommit
	switch {
	case answered:
		r.Class, proven = m.Class, m.Proves.at(at)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), t.TimedOut(err):
		r.Class = store.ClassTimeout
	}
	if proven || !answered && t.Unsent(err) {
		r.Outcome = history.Failed
	} else {
		r.Broken = true
	}
	return r
}

// Kind implements Server.
func (t *ErrorTable[C]) Kind(err error) ErrorKind {
	m, _ := t.meaning(err)
	return m.Kind
}

// Violated implements Wire.
func (t *ErrorTable[C]) Violated(err error) store.Violation {
	m, _ := t.meaning(err)
	return m.Violation
}

// Lasting reports whether the connection is useless after this error.
func (t *ErrorTable[C]) Lasting(err error) bool {
	m, _ := t.meaning(err)
	return m.Lasting
}
