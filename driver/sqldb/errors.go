package sqldb

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assay/history"
	"assay/store"
)

// Proof is the most that an answer of the server proves of the transaction that it
// was an answer to: that it has no effect.
type Proof uint8

const (
	// ProvesWork: of a transaction whose COMMIT was sent and not yet due, since the
	// server does not execute what comes after this error.
	ProvesWork Proof = iota
	// ProvesAlone: also of a statement that is a transaction by itself.
	ProvesAlone
	// ProvesCommit: also if it answers COMMIT.
	ProvesCommit
	// ProvesNothing: somebody on the way does not know.
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

// ErrorRow is what the answers of the server with some codes mean.
type ErrorRow[C cmp.Ordered] struct {
	Codes []C
	// Last, unless it is zero, makes the row that of all codes from Codes[0] to it.
	Last      C
	Class     string // store.ClassOther if empty
	Proves    Proof
	Violation store.Violation
	Kind      ErrorKind
	// Lasting is whether the reason lasts, while another server may not have it, so
	// that the connection is of no use any more.
	Lasting bool
}

func (r *ErrorRow[C]) has(code C) bool {
	var none C
	if r.Last != none {
		return r.Codes[0] <= code && code <= r.Last
	}
	return slices.Contains(r.Codes, code)
}

// ErrorTable is what the errors of a product mean, as data. The functions are not nil.
type ErrorTable[C cmp.Ordered] struct {
	// Code is the code of an answer of the server; false is for an error of the
	// client's own.
	Code func(error) (C, bool)
	// Doubtful reports whether an answer proves nothing whatever its code.
	Doubtful func(error) bool
	// Unsent reports whether the client knows that nothing was sent, and TimedOut
	// whether it waited for too long, beside the end of a context.
	Unsent, TimedOut func(error) bool
	// Rows are looked through for a code in their order, and Other are all codes
	// that no row has.
	Rows  []ErrorRow[C]
	Other ErrorRow[C]
}

// meaning is the row of an error, if it is an answer of the server.
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

// Classify is Wire.Classify: an error of the client's is proof only if COMMIT was not
// sent.
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

// Kind is Server.Kind.
func (t *ErrorTable[C]) Kind(err error) ErrorKind {
	m, _ := t.meaning(err)
	return m.Kind
}

// Violated is Wire.Violated.
func (t *ErrorTable[C]) Violated(err error) store.Violation {
	m, _ := t.meaning(err)
	return m.Violation
}

// Lasting reports whether a connection is of no use after this error.
func (t *ErrorTable[C]) Lasting(err error) bool {
	m, _ := t.meaning(err)
	return m.Lasting
}
