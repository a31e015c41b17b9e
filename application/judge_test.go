package application

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/application/wire"
	"assay/check"
)

// sold is a committed transaction that sends these texts, each of which changes a row.
func sold(at time.Duration, told bool, texts ...string) *wire.Transaction {
	t := &wire.Transaction{Connection: 1, Place: "abcd0123", Outcome: wire.Committed, Told: told, Began: at, Ended: at + 5}
	for _, text := range texts {
		for _, s := range wire.Statements(text) {
			s.Writes, s.Rows = true, 1
			t.Statements = append(t.Statements, s)
		}
	}
	return t
}

// TestNoTransactionIsBeforeItself: one that only its rows tell of has ended when it was sent, which is
// before it began.
func TestNoTransactionIsBeforeItself(t *testing.T) {
	x := sold(20, false, "INSERT INTO attempt VALUES ('a')")
	x.Ended = x.Began - 1
	if (&run{recorder: wire.NewRecorder(), all: []*wire.Transaction{x}}).doubts().of(x, true) {
		t.Error("it is its own doubt")
	}
}

// TestTwice convicts what was done again, and nothing that only looks like it.
func TestTwice(t *testing.T) {
	const order, other = "INSERT INTO sale VALUES (1, 'a')", "INSERT INTO sale VALUES (2, 'b')"
	const tried, login = "UPDATE job SET attempts = attempts + 1 WHERE id = 7", "INSERT INTO login_audit VALUES ('me')"
	refused := sold(1, true, order)
	refused.Outcome, refused.Place = wire.Refused, "rollback"
	doubted := sold(1, false, order)
	doubted.Outcome = wire.Unknown
	for name, c := range map[string]struct {
		untouched, all []*wire.Transaction
		at             string // the event's place
		steady         bool
		found, certain bool
	}{
		"same values":              {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{sold(1, false, order), sold(20, true, order)}, "", false, true, true},
		"as often untouched":       {[]*wire.Transaction{sold(1, true, order), sold(9, true, order)}, []*wire.Transaction{sold(1, false, order), sold(20, true, order)}, "", true, false, false},
		"other values":             {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{sold(1, false, order), sold(20, true, other)}, "", true, true, true},
		"other values, not known":  {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{sold(1, false, order), sold(20, true, other)}, "", false, true, false},
		"the next order":           {[]*wire.Transaction{sold(1, true, order), sold(9, true, other)}, []*wire.Transaction{sold(1, false, order), sold(20, true, other)}, "", true, false, false},
		"the same effect":          {[]*wire.Transaction{sold(1, true, "UPDATE item SET stock = 7")}, []*wire.Transaction{sold(1, false, "UPDATE item SET stock = 7"), sold(20, true, "UPDATE item SET stock = 7")}, "", true, false, false},
		"added again":              {[]*wire.Transaction{sold(1, true, "UPDATE item SET stock = stock - 7")}, []*wire.Transaction{sold(1, false, "UPDATE item SET stock = stock - 7"), sold(20, true, "UPDATE item SET stock = stock - 7")}, "", true, true, true},
		"drawn by chance":          {[]*wire.Transaction{sold(1, true, order), sold(9, true, order), sold(12, true, other)}, []*wire.Transaction{sold(1, true, order), sold(9, true, other), sold(20, true, other)}, "", true, false, false},
		"a beat more":              {[]*wire.Transaction{sold(1, true, order), sold(9, true, order)}, []*wire.Transaction{sold(1, true, order), sold(9, true, order), sold(20, true, order)}, "", false, false, false},
		"one more than always":     {[]*wire.Transaction{sold(1, true, order), sold(9, true, order)}, []*wire.Transaction{sold(1, true, order), sold(9, false, order), sold(20, true, order)}, "", true, true, true},
		"at the same time":         {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{sold(16, true, order), sold(18, true, order)}, "", true, false, false},
		"all acknowledged":         {[]*wire.Transaction{sold(1, true, order), sold(9, true, order)}, []*wire.Transaction{sold(1, true, order), sold(9, true, order), sold(20, true, order)}, "abcd0123", true, true, false},
		"counted at a retry":       {[]*wire.Transaction{sold(1, true, tried)}, []*wire.Transaction{sold(1, true, tried), sold(20, true, tried)}, "elsewhere", true, true, false},
		"entered at a login":       {[]*wire.Transaction{sold(1, true, login)}, []*wire.Transaction{sold(1, true, login), sold(20, true, login)}, "connect", true, true, false},
		"and its answer was lost":  {[]*wire.Transaction{sold(1, true, login)}, []*wire.Transaction{sold(1, false, login), sold(20, true, login)}, "elsewhere", true, true, true},
		"told late, not read":      {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{sold(1, true, order), sold(20, true, order)}, "abcd0123", true, true, true},
		"refused, then twice":      {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{refused, sold(9, true, order), sold(20, true, order)}, "abcd0123", true, true, true},
		"nobody knows, then twice": {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{doubted, sold(9, true, order), sold(20, true, order)}, "", true, true, true},
		"the last was not told":    {[]*wire.Transaction{sold(1, true, order)}, []*wire.Transaction{sold(9, true, order), sold(20, false, order)}, "elsewhere", true, true, false},
	} {
		b := baseline{steady: c.steady}
		b.committed, b.exact = count(c.untouched)
		committed, exact := count(c.all)
		two, certain := b.twice(&run{all: c.all, moment: moment{met: 3, name: c.at, connection: 1}}, committed, exact)
		if (two != nil) != c.found || certain != c.certain {
			t.Errorf("%s: found %v, certain %v", name, two != nil, certain)
		}
	}
	b := baseline{run: &run{}}
	b.committed, b.exact = count([]*wire.Transaction{sold(1, true, login)})
	b.confirm(&run{all: []*wire.Transaction{sold(1, true, login), sold(9, true, login)}})
	if all := []*wire.Transaction{sold(1, false, login), sold(20, true, login)}; b.steady || b.exact[all[0].Place+all[0].Values()] != 2 {
		t.Errorf("of two untouched runs that committed 1 and 2, these count: %v", b.exact)
	}
	for shape, adds := range map[string]bool{
		"INSERT INTO a VALUES (?)": true, "INSERT INTO a VALUES (?) ON CONFLICT DO NOTHING": false, "UPDATE a SET b = ?, c = c+? WHERE d = ?": true,
		"UPDATE a SET b = ? WHERE c = c": false, "DELETE FROM a": false, "WITH x AS (INSERT INTO a VALUES (?) RETURNING b) SELECT b FROM x": true,
	} {
		if addsAgain(shape) != adds {
			t.Errorf("%s: %v", shape, !adds)
		}
	}
}

// TestAFaultyProxyConvictsNobody: a failure of assay's own is unknown, whatever else was seen.
func TestAFaultyProxyConvictsNobody(t *testing.T) {
	r := &run{moment: moment{event: "answer-lost@abcd0123:1"}, recorder: wire.NewRecorder(), problem: errors.New("no space left"), after: map[string]string{"total": "total: wanted 1, got 2"}}
	r.hung, r.silent, r.mute = true, time.Second, true
	b := learn(&run{recorder: wire.NewRecorder()})
	if got := b.judge(r, true); got.Verdict != check.Unknown || got.Happens != NotKnown {
		t.Errorf("it is %v, %s", got.Verdict, got.Happens)
	}
	r.problem = nil // and it was not met
	if got := b.judge(r, true); got.Verdict != check.Unknown || !strings.Contains(got.Detail, "give it more --patience") {
		t.Errorf("an event that was not met is %v: %s", got.Verdict, got.Detail)
	}
	if got := (&Report{Tries: []Try{{Verdict: check.Valid}}}).Verdict(); got != check.Unknown {
		t.Errorf("nothing tried is %v", got)
	}
}

// silent is a product that no application connects to.
type silent struct{ wire.Protocol }

func (silent) Reach() wire.Reach { return wire.Reach{Scheme: "silent"} }

// TestRulesThatCouldNotBeLookedAt: what broke while nobody could look is not the next event's doing.
func TestRulesThatCouldNotBeLookedAt(t *testing.T) {
	broken, away := map[string]string{}, error(nil)
	x := &trying{Plan: Plan{Command: []string{"true"}, Product: silent{}, Folder: t.TempDir(),
		Rules: func(context.Context) (map[string]string, error) { return broken, away }}}
	run := func() *run {
		r, err := x.once(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	run()
	if away = errors.New("the server is away"); run().problem == nil {
		t.Error("rules that could not be looked at are no problem")
	}
	broken, away = map[string]string{"total": "total: wanted 1, got 2"}, nil
	if r := run(); r.problem != nil || len(r.broken()) > 0 {
		t.Errorf("the run is said to have broken %v (%v)", r.broken(), r.problem)
	}
	broken = map[string]string{"total": "total: wanted 1, got 2", "stock": "stock: below 0"}
	if r := run(); len(r.broken()) != 1 {
		t.Errorf("the run is said to have broken %v", r.broken())
	}
}

// TestEachPlaceIsMet before any is met twice, in an order of the seed's.
func TestEachPlaceIsMet(t *testing.T) {
	places := []*wire.Place{{Name: wire.PlaceConnect, Times: 2}, {Name: "aaaa0000", Times: 5, Within: true}, {Name: "bbbb0000", Kind: wire.Commit, Times: 5, Commits: true}, {Name: "cccc0000", Times: 1}}
	late := []time.Duration{time.Second, time.Minute}
	every := func(wire.Action, *wire.Place) bool { return true }
	all := choose(places, 7, late, every)
	met := map[string]bool{}
	for _, f := range all[:len(places)] {
		met[f.Place] = true
	}
	if len(met) != len(places) || all[0].Action != wire.AnswerLost || all[0].Place != "bbbb0000" {
		t.Errorf("the first are %v", all[:len(places)])
	}
	if !slices.ContainsFunc(all, func(f *wire.Fault) bool { return f.Action == wire.Standby && f.Place == "bbbb0000" }) {
		t.Error("an application that sends no BEGIN meets no failover")
	}
	for _, f := range choose([]*wire.Place{{Name: "dddd0000", Times: 5, Within: true, Parted: true}, {Name: "eeee0000", Times: 5, Kind: wire.Begin, Parted: true}, {Name: "ffff0000", Times: 5, Commits: true, Parted: true}}, 7, late, every) {
		if f.Action.Replaces() {
			t.Errorf("%s, of which a part has reached the server", f)
		}
	}
	pipelined := choose([]*wire.Place{{Name: "abab0000", Kind: wire.Begin, Times: 1, Shapes: []string{"BEGIN", "INSERT a"}}}, 7, late, every)
	for _, action := range []wire.Action{wire.AnswerLost, wire.GiveDeadlock, wire.Silent, wire.Cut, wire.Reset, wire.Standby} {
		if !slices.ContainsFunc(pipelined, func(f *wire.Fault) bool { return f.Action == action }) {
			t.Errorf("a statement that BEGIN is sent with, as pgjdbc does, meets no %s", action)
		}
	}
	if last := all[len(all)-1]; last.String() == "" || len(all) != len(choose(places, 8, late, every)) {
		t.Errorf("there are %d events", len(all))
	}
	for i, f := range choose(places, 7, late, every) {
		if f.String() != all[i].String() {
			t.Errorf("event %d is %s, and %s again", i, all[i], f)
		}
	}
}

// TestAPreparedTransactionFailsByNoConflict, but one does that is committed in one phase.
func TestAPreparedTransactionFailsByNoConflict(t *testing.T) {
	for shape, fails := range map[string]bool{"COMMIT PREPARED ?": false, "XA COMMIT ?": false, "XA COMMIT ? ONE PHASE": true, "COMMIT": true} {
		if slices.Contains(actionsAt(&wire.Place{Kind: wire.Commit, Commits: true, Shapes: []string{"INSERT a", shape}}, nil), wire.GiveSerialization) != fails {
			t.Errorf("%s: %v", shape, !fails)
		}
	}
}
