package wire

import (
	"slices"
	"strings"
)

// parts are a request's statements, taken apart where transactions end within it: behind COMMIT and
// ROLLBACK, behind a statement after which the server said that nothing was open, and before a BEGIN
// or another statement that commits. rest is what is left, nil of nothing; open says whether a transaction is open behind
// all, so that the last statement has ended another.
func (r *Request) parts(open, beginCommits bool) (ended []*Request, rest *Request) {
	from := 0
	for i, s := range r.Statements {
		if i > from && s.parts(beginCommits) {
			part := r.part(from, i)
			part.before = s.Before
			ended, from = append(ended, part), i
		}
		if s.ends() && (open || i < len(r.Statements)-1) {
			ended, from = append(ended, r.part(from, i+1)), i+1
		}
	}
	if from < len(r.Statements) {
		rest = r.part(from, len(r.Statements))
	}
	return ended, rest
}

// part is a request of some of its statements, or itself of all.
func (r *Request) part(from, to int) *Request {
	if to-from == len(r.Statements) {
		return r
	}
	part := *r
	part.Statements = r.Statements[from:to]
	return &part
}

// parts reports whether the server has ended what was open before it, and not what it does itself.
func (s *Statement) parts(beginCommits bool) bool {
	return s.Before != "" || beginCommits && s.Kind == Begin && s.Tag != "" && s.Error == ""
}

// commits reports whether some of its statements, which the server has not answered, may have committed
// what was open.
func (r *Request) commits() bool {
	return r.kind() == Commit || slices.ContainsFunc(r.Statements, func(s *Statement) bool { return s.Implicit && s.Tag == "" && s.Error == "" })
}

// ends reports whether the server has ended a transaction by it.
func (s *Statement) ends() bool {
	return s.Tag != "" && s.Error == "" && (s.Kind == Commit || s.Kind == Rollback || s.Closed)
}

// conclude ends the transaction that is open by its last request, which the server has answered.
func (l *link) conclude(r *Request, told bool) {
	l.tx.Outcome = outcomeOf(r)
	if id := prepares(r.Statements); id != "" && l.tx.Outcome == Committed {
		l.tx.Outcome, l.tx.session = Unknown, id
		l.park()
		return
	}
	if l.tx.Outcome == Committed && r.Once != "" && l.recorder.again(r.Once, r.Number) {
		for _, s := range r.Statements { // which the server had done before
			s.Writes = false
		}
	}
	l.end(r, told)
}

// Two-phase commit: PREPARE TRANSACTION of PostgreSQL and XA PREPARE of MySQL end a transaction
// on their connection, but leave open what becomes of it. It is parked by its name until COMMIT PREPARED
// or XA COMMIT, over any connection, decides; or the rows do.
const twoPhase = "prepared\x00"

// prepares is how a transaction that these statements have prepared is parked; empty of others.
func prepares(all []*Statement) string {
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	if name, is := last.named("PREPARE TRANSACTION", "XA PREPARE"); is && last.Error == "" {
		return name
	}
	return ""
}

// decides is how the transaction was parked that these statements are to end.
func decides(all []*Statement) string {
	for _, s := range all {
		if name, is := s.named("COMMIT PREPARED", "ROLLBACK PREPARED", "XA COMMIT", "XA ROLLBACK"); is {
			return name
		}
	}
	return ""
}

// Decides reports whether a transaction that was prepared before is committed there.
func (p *Place) Decides() bool {
	if p.Kind != Commit || len(p.Shapes) == 0 {
		return false
	}
	last := &Statement{Shape: p.Shapes[len(p.Shapes)-1]}
	_, is := last.named("COMMIT PREPARED", "XA COMMIT")
	return is && !has(last.Shape, "ONE PHASE")
}

// named is the name that a statement of these words gives.
func (s *Statement) named(words ...string) (name string, is bool) {
	if is = slices.ContainsFunc(words, func(w string) bool {
		return len(s.Shape) > len(w) && s.Shape[len(w)] == ' ' && strings.EqualFold(s.Shape[:len(w)], w)
	}); is {
		name = twoPhase + strings.Join(s.Values, ",")
	}
	return name, is
}

// resume opens the transaction that was prepared and that r decides about, if none is open.
func (l *link) resume(r *Request) {
	if l.tx != nil {
		return
	}
	if name := decides(r.Statements); name != "" {
		l.tx = l.recorder.adopt(name, l.number)
	}
}

// undecided leaves a prepared transaction for another decision: what has failed may be tried again.
func (l *link) undecided() bool {
	if !strings.HasPrefix(l.tx.session, twoPhase) || l.tx.Outcome == Committed || l.tx.Outcome == RolledBack {
		return false
	}
	l.tx.Outcome = Unknown
	return l.park()
}
