package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/history"
	"assay/store"
)

// TextWire sends users' texts unchanged. One goroutine at a time uses it.
type TextWire interface {
	// SendTexts sends texts and reads all answers. With an error, at is Committing if all texts
	// were answered, otherwise Alone.
	SendTexts(ctx context.Context, texts []store.UserText) (results []store.Result, at Stage, err error)
	// Status is the database's last word about the transaction.
	Status() store.Status
	// MayCommit reports whether a text, which is not Commits, may commit the open transaction.
	MayCommit(text *store.UserText) bool
	// Separate reports whether the statements of a joined text, outside of a transaction, are a
	// transaction each.
	Separate() bool

	// Classify, Violated, Leave and Usable are Wire's.
	Classify(err error, at Stage) store.Reply
	Violated(err error) store.Violation
	Leave(ctx context.Context, inquiry *store.Call) error
	Usable(err error) bool
}

// Texts is one operation of users' texts. It is a store.Sender that tracks the effect.
type Texts struct {
	wire TextWire
	// done: something with an effect was committed. wrote: the open transaction has an effect.
	// maybe: something with an effect may have been committed.
	done, wrote, maybe bool
	// at and err describe the failure; unproven means that its answer proves nothing.
	at       Stage
	err      error
	unproven bool
}

// NewTexts begins an operation.
func NewTexts(wire TextWire) *Texts { return &Texts{wire: wire} }

func (t *Texts) Status() store.Status { return t.wire.Status() }

func (t *Texts) Send(ctx context.Context, texts ...store.UserText) ([]store.Result, error) {
	if t.err != nil {
		return nil, t.err
	}
	before := t.wire.Status()
	results, at, err := t.wire.SendTexts(ctx, texts)
	if err != nil {
		t.err = err
		t.at, t.unproven = t.failed(texts, before, len(results), at)
		return nil, err
	}
	t.answered(texts, before)
	return results, nil
}

// hasEffect reports whether a text's effect outlasts its transaction.
func hasEffect(text store.UserText) bool {
	return text.Kind == store.Writes || text.Kind == store.Defines || text.Kind == store.Anything
}

// answered updates done and wrote after successful texts.
func (t *Texts) answered(texts []store.UserText, before store.Status) {
	after := t.wire.Status()
	if len(texts) == 1 && texts[0].Kind == store.RollsBack {
		t.wrote = false
		return
	}
	for i := range texts {
		t.passed(&texts[i], before, after)
	}
	t.wrote = t.wrote || slices.ContainsFunc(texts, hasEffect)
	commits := func(text store.UserText) bool { return text.Kind == store.Commits }
	if after == store.Idle || slices.ContainsFunc(texts, commits) {
		t.done = t.done || t.wrote
		t.wrote = after != store.Idle && len(texts) > 1
	}
}

// passed notes whether a text that succeeded has committed the transaction, or may have.
func (t *Texts) passed(text *store.UserText, before, after store.Status) {
	switch {
	case text.Kind == store.Anything:
		t.maybe = t.maybe || before == store.Idle || t.wire.MayCommit(text)
	case before != store.Open || !t.wire.MayCommit(text):
	case text.Joined:
		t.maybe = true
	case text.Kind != store.NoEffect || after == store.Idle:
		t.done = t.done || t.wrote
	}
}

// failed is the stage at which a text failed, answered or not. unproven means that no answer could
// prove anything.
func (t *Texts) failed(texts []store.UserText, before store.Status, answered int, at Stage) (stage Stage, unproven bool) {
	wrote := t.wrote || slices.ContainsFunc(texts, hasEffect)
	commits := slices.IndexFunc(texts, func(text store.UserText) bool { return text.Kind == store.Commits })
	mayCommit := func(text store.UserText) bool {
		return t.wire.MayCommit(&text) || before == store.Idle && (text.Kind == store.Anything || text.Joined && t.wire.Separate())
	}
	switch {
	case !wrote:
		return BeforeCommit, false
	case slices.ContainsFunc(texts, mayCommit) && (before == store.Open && t.wrote || slices.ContainsFunc(texts, unclear)):
		return Committing, true
	case commits >= 0 && answered > commits:
		return Committing, true
	case commits >= 0 && answered == commits:
		return Committing, false
	case before == store.Open && commits < 0:
		return BeforeCommit, false
	case commits >= 0 && (before == store.Open || begun(texts[:min(answered, commits)])):
		return Working, false
	}
	return at, false
}

func begun(texts []store.UserText) bool {
	return slices.ContainsFunc(texts, func(text store.UserText) bool { return text.Kind == store.Begins })
}

// unclear reports whether a text can commit what it has written itself.
func unclear(text store.UserText) bool { return text.Kind == store.Anything || text.Joined }

// End leaves an open transaction and returns the operation's reply; err is the work's error.
func (t *Texts) End(ctx context.Context, product string, err error) store.Reply {
	open := t.wire.Status() != store.Idle
	switch {
	case t.err != nil:
		err = t.err
	case err != nil:
		t.at = BeforeCommit
	case open:
		t.at, err = BeforeCommit, &store.OpenError{}
	default:
		return store.Reply{Outcome: history.Committed, Broken: !t.wire.Usable(nil)}
	}
	r := t.wire.Classify(err, t.at)
	r.Err = fmt.Errorf("%s: %w", product, err)
	if _, is := errors.AsType[*store.OpenError](err); is {
		r.Class = store.ClassOther // nothing is wrong with the database
	}
	if t.unproven {
		r.Outcome, r.Broken = history.Unknown, true
	}
	if r.Outcome == history.Failed {
		r.Violated = t.wire.Violated(err)
		if open {
			r.Broken = t.wire.Leave(ctx, nil) != nil
		}
		r.Broken = r.Broken || !t.wire.Usable(err)
	}
	if t.maybe {
		r.Outcome, r.Violated = history.Unknown, store.NoViolation
	}
	if t.done {
		r.Outcome, r.Class, r.Violated = history.Unknown, store.ClassPartly, store.NoViolation
	}
	return r
}

// Verbatim implements store.Verbatim.
func (s *Session) Verbatim(ctx context.Context, _ bool, work func(context.Context, store.Sender) error) store.Reply {
	wire, is := s.Wire.(TextWire)
	if !is {
		return noTexts(s.product)
	}
	if err := s.Ready(ctx); err != nil {
		return s.unsent(err)
	}
	t := NewTexts(wire)
	return t.End(ctx, s.product, work(ctx, t))
}

func noTexts(product string) store.Reply {
	return store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: fmt.Errorf("%s: this session does not send statements as they are written", product)}
}

var _ store.Verbatim = (*session)(nil)

func (s *session) Verbatim(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply {
	by, is := s.Connection.(store.Verbatim)
	if !is {
		return noTexts("sql")
	}
	return by.Verbatim(ctx, writes, work)
}
