package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Action is what is done at a moment.
type Action string

// The actions, by where they can be done.
const (
	// TooMany refuses a connection.
	TooMany Action = "too-many-connections"
	// Reset resets the connection before the statement arrives, and Cut that of every other
	// connection, too. AnswerLost resets it when the server has answered.
	Reset      Action = "reset"
	Cut        Action = "cut-all"
	AnswerLost Action = "answer-lost"
	// Silent lets nothing arrive any more, and keeps the connection; AnswerSilent lets the
	// statement arrive, and no answer come back.
	Silent       Action = "silent"
	AnswerSilent Action = "answer-silent"
	// Shutdown ends the connection as a server that is shut down does.
	Shutdown Action = "shutdown"
	// GiveDeadlock and GiveSerialization give the server's error in the statement's place.
	GiveDeadlock      Action = "deadlock"
	GiveSerialization Action = "serialization"
	// Standby is a failover: connections end, and for a time new ones lead to a server that takes no
	// writes. read-only-30s says for how long, in place of standbyTime.
	Standby Action = "read-only"
	// Late delays the answer: late-10s.
	Late = "late-"
)

// Fault is what is done, at which place, and at which of the times that the application comes
// to it, from 1.
type Fault struct {
	Action Action
	Place  string
	Time   int
	// Again has it be done each time that the application has come there Time times more.
	Again bool
	// Matches, if not nil, says of each place whether it is meant, in Place's place.
	Matches func(kind Kind, shapes string) bool

	mu   sync.Mutex
	seen int
	// Met is when it was done, since the recording began, and On the connection; -1 before.
	met time.Duration
	on  int
}

// String is the fault as --event takes it.
func (f *Fault) String() string { return fmt.Sprintf("%s@%s:%d", f.Action, f.Place, f.Time) }

// standbyTime is how long an address leads to a standby: a manager of PostgreSQL or MySQL moves it, or
// promotes what is there, within seconds.
const standbyTime = 5 * time.Second

// Delay is how late the answer comes by it; 0 where it delays none, or f is nil.
func (f *Fault) Delay() time.Duration { return f.time(Late) }

// Lasts is for how long it keeps an application from its work: Delay, or how long no writes are taken.
func (f *Fault) Lasts() time.Duration {
	if f != nil && f.Action == Standby {
		return standbyTime
	}
	return max(f.Delay(), f.time(string(Standby)+"-"))
}

// time is what stands behind a prefix of the action; 0 without.
func (f *Fault) time(prefix string) time.Duration {
	if f == nil {
		return 0
	}
	text, is := strings.CutPrefix(string(f.Action), prefix)
	if !is {
		return 0
	}
	d, _ := time.ParseDuration(text)
	return d
}

// fails reports whether it is a failover.
func (f *Fault) fails() bool { return f.Lasts() > f.Delay() }

// PlaceError means that an action cannot be done at a place.
type PlaceError struct {
	Action Action
	Place  string
	// Others are the actions that can; empty where the product lacks this one.
	Others []Action
}

func (e *PlaceError) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("a server of this kind does no %s at %s; choose another action", e.Action, e.Place)
	}
	var names []string
	for _, a := range e.Others {
		names = append(names, string(a))
	}
	return fmt.Sprintf("%s cannot be done at %s; want one of %s", e.Action, e.Place, strings.Join(names, ", "))
}

// possible is a *PlaceError of an action that no server can do at the place.
func (f *Fault) possible() error {
	others := ActionsAt(f.Place)
	if slices.Contains(others, f.Action) || f.Place != PlaceConnect && f.Lasts() > 0 {
		return nil
	}
	return &PlaceError{f.Action, f.Place, others}
}

// ParseFault reads what String writes. Errors may be *PlaceError.
func ParseFault(text string) (*Fault, error) {
	action, place, found := strings.Cut(text, "@")
	name, number, counted := strings.Cut(place, ":")
	f := &Fault{Action: Action(action), Place: name, Time: 1}
	if counted {
		if _, err := fmt.Sscanf(number, "%d", &f.Time); err != nil || f.Time < 1 {
			found = false
		}
	}
	known := slices.Contains(Actions(), f.Action) || f.Lasts() > 0
	if !found || !known {
		return nil, fmt.Errorf("%q is no event; want ACTION@PLACE:NUMBER as the table of a run has it", text)
	}
	return f, f.possible()
}

// ActionsAt are those that can be done at a place, but for those with a time. When a connection is
// opened, nothing is asked that could be answered.
func ActionsAt(place string) []Action {
	if place == PlaceConnect {
		return []Action{TooMany, Reset, Silent}
	}
	return slices.DeleteFunc(Actions(), func(a Action) bool { return a == TooMany })
}

// Actions are all of them but those with a time.
func Actions() []Action {
	return []Action{TooMany, Reset, Cut, AnswerLost, Silent, AnswerSilent, Shutdown, GiveDeadlock, GiveSerialization, Standby}
}

// PlaceConnect is the place at which connections are opened.
const PlaceConnect = "connect"

// placeOf names a place in an application by the shapes of what it sends there.
func placeOf(shapes []string) string {
	sum := sha256.Sum256([]byte(strings.Join(shapes, "\n")))
	return hex.EncodeToString(sum[:4])
}

// learned is what a shape alone tells: the place of a single statement, and whether it is about a secret.
type learned struct {
	place  string
	secret bool
}

// learn keeps what shapes tell. The goroutine that reads requests calls it.
func (l *link) learn(shape string) learned {
	of, known := l.learned[shape]
	if !known {
		of = learned{placeOf([]string{shape}), secret(shape)}
		switch {
		case l.learned == nil:
			l.learned = map[string]learned{shape: of}
		case len(l.learned) < maxLearned:
			l.learned[shape] = of
		}
	}
	return of
}

// maxLearned bounds of how many shapes a connection keeps that.
const maxLearned = 1000

// shapes tell the place: of COMMIT, also what the transaction has sent.
func (l *link) shapes(r *Request, kind Kind) (all []string) {
	if kind == Commit {
		if l.tx != nil {
			all = l.tx.Shapes()
		}
		for _, q := range l.queue {
			if q == r {
				continue
			}
			for _, s := range q.Statements {
				if s.Kind == Other {
					all = append(all, s.Shape)
				}
			}
		}
	}
	for _, s := range r.Statements {
		all = append(all, s.Shape)
	}
	return all
}

// meets reports whether it is to be done here and now. It counts the times.
func (f *Fault) meets(place string, kind Kind, shapes func() string, now time.Duration, connection int) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Matches != nil {
		if !f.Matches(kind, shapes()) {
			return false
		}
	} else if f.Place != place {
		return false
	}
	if f.seen++; f.seen != f.Time && !(f.Again && f.seen%f.Time == 0) {
		return false
	}
	f.met, f.on = max(now, 1), connection
	return true
}

// Met is when it was done and on which connection; 0 if it was not.
func (f *Fault) Met() (at time.Duration, connection int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.met, f.on
}
