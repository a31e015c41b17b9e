package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/history"
)

// ledger remembers the writes sent, transfers or records, and their answers. It is safe for
// concurrent use.
type ledger struct {
	mu      sync.Mutex
	opening map[int64]int64 // the balances of the accounts
	sent    map[int64]*sentWrite
}

// sentWrite is one transfer or record. told is the state of the two accounts in the
// acknowledgement.
type sentWrite struct {
	entry
	content string
	// asAsked changes the source before the destination. Otherwise the lower account is first,
	// since databases find a deadlock slowly.
	asAsked bool
	outcome history.Outcome
	told    [2]left
}

// left is an account's state after a transfer; version is 0 if the reply did not tell it.
type left struct{ balance, version int64 }

type state struct {
	accounts map[int64]account
	entries  []entry
	records  []record
}

func newLedger() *ledger { return &ledger{opening: map[int64]int64{}, sent: map[int64]*sentWrite{}} }

func (l *ledger) reset() { l.opening, l.sent = map[int64]int64{}, map[int64]*sentWrite{} }

func (l *ledger) holds(n int64) {
	for id := range n {
		l.opening[id+1] = opening
	}
}

// record adds one attempt. All attempts of one id must ask for the same write.
func (l *ledger) record(w sentWrite) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.outcome != history.Committed {
		w.told = [2]left{}
	}
	if before, again := l.sent[w.ID]; again {
		if before.outcome == history.Committed {
			w.told = before.told
		}
		w.outcome = before.outcome.Then(w.outcome)
	}
	l.sent[w.ID] = &w
}

// problems lists contradictions to the answers: rows missing, foreign or altered, versions that
// are not 1, 2, 3 ..., balances that do not follow from the entries or the replies.
func (l *ledger) problems(s *state) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	there := map[int64]bool{}
	found := func(id int64, row any, same func(w *sentWrite) bool) {
		w := l.sent[id]
		switch {
		case w == nil:
			say("foreign row %+v", row)
		case there[id]:
			say("%+v is there twice", row)
		case w.outcome == history.Failed || w.outcome == history.Rejected:
			say("%+v is there, and it %v", row, w.outcome)
		case !same(w):
			say("%+v is there, sent was %+v", row, *w)
		}
		there[id] = true
	}
	changes := map[int64][]change{}
	for _, e := range s.entries {
		found(e.ID, e, func(w *sentWrite) bool {
			sent := e
			sent.SourceVersion, sent.DestinationVersion = 0, 0
			return sent == w.entry
		})
		var told [2]left
		if w := l.sent[e.ID]; w != nil {
			told = w.told
		}
		changes[e.Source] = append(changes[e.Source], change{e.ID, e.SourceVersion, -e.Amount, told[0]})
		changes[e.Destination] = append(changes[e.Destination], change{e.ID, e.DestinationVersion, e.Amount, told[1]})
	}
	for _, r := range s.records {
		found(r.ID, r, func(w *sentWrite) bool { return w.content == r.Content })
	}
	for id, w := range l.sent {
		if w.outcome == history.Committed && !there[id] {
			say("%d was acknowledged and is not there", id)
		}
	}
	for id, balance := range l.opening {
		want := replay(account{id, balance, 0}, changes[id], say)
		if a, exists := s.accounts[id]; !exists || a != want {
			say("%+v is there (%v), the entries say %+v", a, exists, want)
		}
	}
	if len(s.accounts) != len(l.opening) {
		say("%d accounts are there, want %d", len(s.accounts), len(l.opening))
	}
	return all
}

type change struct {
	id, version, amount int64
	told                left
}

func replay(a account, changes []change, say func(format string, args ...any)) account {
	slices.SortFunc(changes, func(a, b change) int { return int(a.version - b.version) })
	for _, c := range changes {
		a.Version++
		a.Balance += c.amount
		if c.version != a.Version {
			say("account %d: version %d where %d was due", a.ID, c.version, a.Version)
		}
		if a.Balance < 0 {
			say("account %d: %d after version %d", a.ID, a.Balance, c.version)
		}
		if c.told.version != 0 && c.told != (left{a.Balance, a.Version}) {
			say("account %d: %d was told to leave it as %+v, the entries say %+v", a.ID, c.id, c.told, a)
		}
	}
	return a
}

func (l *ledger) compare(t *testing.T, s *state) {
	t.Helper()
	if all := l.problems(s); len(all) > 0 {
		t.Errorf("answers and data do not fit:\n  %s", strings.Join(all[:min(len(all), 10)], "\n  "))
	}
}
