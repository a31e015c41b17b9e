package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/application/wire"
	"assay/check"
)

// What became of the application at an event.
const (
	Survived = "survived"
	Retried  = "retried well"
	Twice    = "done twice"
	LeftOut  = "left out"
	Lost     = "lost"
	Broke    = "broke a rule"
	Hung     = "hung"
	Crashed  = "crashed"
	NotKnown = "not known"
)

// Try is what became of one event.
type Try struct {
	// Event is as --event takes it; empty of the untouched run.
	Event  string      `json:"event"`
	Action wire.Action `json:"action,omitempty"`
	// Place are the statements of the transaction that the event met, or the one it met.
	Place   []string      `json:"place,omitempty"`
	Happens string        `json:"happened"`
	Verdict check.Verdict `json:"verdict"`
	Detail  string        `json:"detail"`
	// Next is what the application did afterwards.
	Next    string  `json:"next,omitempty"`
	Exit    int     `json:"exit"`
	Signal  string  `json:"signal,omitempty"`
	Seconds float64 `json:"seconds"`
	// Twice are the two transactions, of something done twice.
	Twice []*wire.Transaction `json:"twice,omitempty"`
	// Lost are the transactions that were acknowledged and are not there.
	Lost []*wire.Transaction `json:"lost,omitempty"`
	Log  string              `json:"log"`
}

// stops reports whether nothing can be tried after this.
func (t *Try) stops() bool {
	return t.Happens == Hung || t.Happens == Crashed || t.Happens == NotKnown
}

// baseline is what the application does untouched.
type baseline struct {
	run    *run
	places []*wire.Place
	// committed counts the transactions that changed something: by place, and by place and values. Of two
	// runs it is the larger count.
	committed, exact map[string]int
	// steady is true if a second run committed the same.
	steady bool
	// sure are the statements whose rows untouched runs found again, and mixed those of which there were
	// more rows than a run had inserted: equal ones were there before.
	sure, mixed map[string]bool
	longest     time.Duration
}

func learn(r *run) *baseline {
	b := &baseline{run: r, places: r.recorder.Places(), longest: r.recorder.Longest()}
	b.committed, b.exact = count(r.all)
	b.sure, b.mixed = r.surely(), r.mixed()
	return b
}

// confirm enters what a second run did untouched.
func (b *baseline) confirm(second *run) {
	b.steady, b.sure = b.same(second), second.surely()
	maps.Copy(b.mixed, second.mixed())
	committed, exact := count(second.all)
	for of, counts := range map[*map[string]int]map[string]int{&b.committed: committed, &b.exact: exact} {
		for key, n := range counts {
			(*of)[key] = max((*of)[key], n)
		}
	}
}

// count counts what was committed.
func count(all []*wire.Transaction) (committed, exact map[string]int) {
	committed, exact = map[string]int{}, map[string]int{}
	for _, t := range all {
		if t.Changed() {
			committed[t.Place]++
			exact[t.Place+t.Values()]++
		}
	}
	return committed, exact
}

// same reports whether a run committed as many transactions at each place.
func (b *baseline) same(r *run) bool {
	committed, _ := count(r.all)
	return maps.Equal(committed, b.committed) && r.exit == b.run.exit
}

// broken names the rules that a run broke, which held before it.
func (r *run) broken() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(r.after)) {
		if _, before := r.before[name]; !before {
			all = append(all, r.after[name])
		}
	}
	return all
}

func (b *baseline) judgeUntouched(r *run) Try {
	t := Try{Happens: Survived, Verdict: check.Valid, Detail: "nothing was done to it", Exit: r.exit, Signal: r.signal, Seconds: r.took.Seconds(), Log: r.log}
	switch broken := r.broken(); {
	case r.problem != nil:
		t.Happens, t.Verdict, t.Detail = NotKnown, check.Unknown, r.problem.Error()
	case r.hung:
		t.Happens, t.Verdict, t.Detail = Hung, check.Unknown, "without any fault it "+r.how()+": "+r.more()+"; "+r.log+" has what it printed"
	case r.left > 0:
		t.Happens, t.Verdict, t.Detail = NotKnown, check.Unknown, fmt.Sprintf("there were %s more than assay keeps: have it do less", check.Counted(r.left, "transaction", "transactions"))
	case r.exit != 0:
		t.Happens, t.Verdict, t.Detail = Crashed, check.Unknown, "without any fault it "+r.told()+"; "+r.log+" has all"
	case len(broken) > 0:
		t.Happens, t.Verdict, t.Detail = Broke, check.Violated, "without any fault: "+strings.Join(broken, "; ")
	case len(r.before) > 0:
		t.Happens, t.Verdict, t.Detail = Survived, check.Unknown, "before the first run it did not hold: "+strings.Join(slices.Sorted(maps.Values(r.before)), "; ")
	}
	return t
}

// judge says what became of an event.
func (b *baseline) judge(r *run, must bool) Try {
	t := Try{Event: r.event, Action: r.action, Place: r.place, Exit: r.exit, Signal: r.signal, Seconds: r.took.Seconds()}
	again := b.sentAgain(r)
	t.Next = b.next(r, again)
	committed, exact := count(r.all)
	twice, certain := b.twice(r, committed, exact)
	lost, verdict, how := b.lost(r)
	t.Lost = lost
	switch broken := r.broken(); {
	case r.problem != nil:
		t.Happens, t.Verdict, t.Detail = NotKnown, check.Unknown, r.problem.Error()
	case r.met == 0 && r.hung:
		t.Happens, t.Verdict, t.Detail = NotKnown, check.Unknown, "before the event it "+r.how()+": "+r.more()
	case r.met == 0:
		t.Happens, t.Verdict, t.Detail = NotKnown, check.Unknown, r.missed
	case r.left > 0 && r.hung:
		t.Happens, t.Verdict, t.Detail = Hung, check.Violated, r.hanging()
	case r.left > 0:
		t.Happens, t.Verdict, t.Detail = NotKnown, check.Unknown, "there were more transactions than assay keeps"
	case lost != nil && verdict == check.Violated:
		t.Happens, t.Verdict, t.Detail = Lost, verdict, how
	case twice != nil && certain:
		t.Happens, t.Verdict, t.Detail, t.Twice = Twice, check.Violated, describeTwice(twice), twice
		if len(broken) > 0 {
			t.Detail += "; " + strings.Join(broken, "; ")
		}
	case len(broken) > 0 && lost == nil:
		t.Happens, t.Verdict, t.Detail, t.Twice = Broke, check.Violated, strings.Join(broken, "; "), twice
		if twice != nil {
			t.Happens = Twice
		}
	case r.hung:
		t.Happens, t.Verdict, t.Detail = Hung, check.Violated, r.hanging()
	case lost != nil: // by which a rule may break, too
		t.Happens, t.Verdict, t.Detail = Lost, verdict, strings.Join(append([]string{how}, broken...), "; ")
	default:
		b.judgeEnd(&t, r, again, must)
	}
	return t
}

// judgeEnd judges by how the application ended.
func (b *baseline) judgeEnd(t *Try, r *run, again int, must bool) {
	switch missing := b.missing(r); {
	case r.exit != b.run.exit || r.signal != "":
		t.Happens, t.Verdict, t.Detail = Crashed, check.Allowed, "it "+r.how()+"; the database is as its transactions left it"
		if must {
			t.Verdict = check.Violated
		}
	case missing != "":
		t.Happens, t.Verdict, t.Detail = LeftOut, check.Allowed, missing
	case again > 0:
		t.Happens, t.Verdict = Retried, check.Valid
	default:
		t.Happens, t.Verdict = Survived, check.Valid
	}
}

// lost are the transactions that were acknowledged to the application and are not there, and what
// follows from that: what the database promises decides, where something was done to it. An
// application that sent what it does not send untouched may have removed them itself.
func (b *baseline) lost(r *run) (all []*wire.Transaction, verdict check.Verdict, how string) {
	if all = r.lost(); len(all) == 0 {
		return nil, check.Valid, ""
	}
	last := all[len(all)-1]
	how = fmt.Sprintf("%s acknowledged and not there, the last at %.2f s on connection %d: %s", check.Counted(len(all), "transaction was", "transactions were"),
		last.Ended.Seconds(), last.Connection, strings.Join(last.Shapes(), "; "))
	if other := b.unlike(r); other != "" {
		return all, check.Unknown, how + "; and the application sent what it does not send untouched: " + other
	}
	if with := b.cascaded(r, all); with != "" {
		return all, check.Unknown, how + "; and they may have gone with rows that the application has removed: " + with
	}
	if r.ruling == nil {
		return all, check.Violated, how
	}
	ruling := r.ruling(r.losses())
	switch {
	case ruling.Promised == nil && ruling.Manual == "":
		return all, check.Unknown, strings.TrimSuffix(how+"; "+ruling.Source, "; ")
	case ruling.Source != "":
		how += "; " + ruling.Source + " allows it (" + ruling.Manual + ")"
	}
	switch {
	case ruling.Promised == nil:
		return all, check.Unknown, how
	case *ruling.Promised:
		return all, check.Violated, how
	}
	return all, check.Allowed, how
}

// unlike is a statement that untouched runs did not send and that may change rows; empty if there
// is none.
func (b *baseline) unlike(r *run) string {
	known := map[string]bool{}
	for _, t := range b.run.all {
		for _, s := range t.Statements {
			known[s.Shape] = true
		}
	}
	for _, t := range r.all {
		for _, s := range t.Statements {
			word, _, _ := strings.Cut(strings.ToUpper(s.Shape), " ")
			reads := word == "SELECT" && !strings.Contains(s.Shape, "(") || word == "SET" || word == "SHOW"
			if s.Kind == wire.Other && !known[s.Shape] && !reads {
				return s.Shape
			}
		}
	}
	return ""
}

// place is what the application sends there.
func (b *baseline) place(name string) []string {
	for _, p := range b.places {
		if p.Name == name {
			return p.Shapes
		}
	}
	return nil
}

// sentAgain is how often the transaction that the event met was sent again: with its values, or,
// where two untouched runs did the same, as often as more of its kind began than in these.
func (b *baseline) sentAgain(r *run) (n int) {
	of := r.struck()
	if of == nil {
		return 0
	}
	for _, t := range r.all[slices.Index(r.all, of)+1:] {
		if t.Began >= r.met && begins(t, of) {
			n++
		}
	}
	if n == 0 && b.steady {
		n = max(0, kin(r.all, of)-kin(b.run.all, of))
	}
	return n
}

// struck is the transaction that the event met; nil if that is not known.
func (r *run) struck() *wire.Transaction {
	for _, t := range r.all {
		if r.met > 0 && t.Ended >= r.met && (t.Connection == r.connection || r.connection == 0 && !t.Told) {
			return t
		}
	}
	return nil
}

// kin counts the transactions that begin as another does, with any values.
func kin(all []*wire.Transaction, of *wire.Transaction) (n int) {
	first := opening(of)
	for _, t := range all {
		if s := opening(t); s != nil && first != nil && s.Shape == first.Shape {
			n++
		}
	}
	return n
}

// opening is a transaction's first statement behind BEGIN.
func opening(t *wire.Transaction) *wire.Statement {
	for _, s := range t.Statements {
		if s.Kind == wire.Other {
			return s
		}
	}
	return nil
}

// begins reports whether a transaction begins with the first statement of another, with its values.
func begins(t, of *wire.Transaction) bool {
	a, b := opening(t), opening(of)
	return a != nil && b != nil && a.Shape == b.Shape && slices.Equal(a.Values, b.Values)
}

// next is what the application did after the event.
func (b *baseline) next(r *run, again int) string {
	var parts []string
	if again > 0 {
		parts = append(parts, "sent the transaction again "+check.Counted(again, "time", "times"))
	}
	if more := r.recorder.Connections() - b.run.recorder.Connections(); more > 0 {
		parts = append(parts, "opened "+check.Counted(more, "more connection", "more connections"))
	}
	return strings.Join(append(parts, r.told()), ", ")
}

func describeTwice(two []*wire.Transaction) string {
	first := "the first was acknowledged"
	if !two[0].Told {
		first = "the first was committed, and its answer did not arrive"
	}
	return fmt.Sprintf("%s (%.2f s, connection %d); then the same was committed again (%.2f s, connection %d)",
		first, two[0].Ended.Seconds(), two[0].Connection, two[1].Ended.Seconds(), two[1].Connection)
}

// missing says which transactions of an untouched run were not committed, of an application that
// says that all went well.
func (b *baseline) missing(r *run) string {
	if !b.steady {
		return ""
	}
	committed, _ := count(r.all)
	for _, place := range slices.Sorted(maps.Keys(b.committed)) {
		if n := b.committed[place] - committed[place]; n > 0 {
			return fmt.Sprintf("it ended as untouched, and %s not committed: %s", check.Counted(n, "transaction was", "transactions were"), strings.Join(b.place(place), "; "))
		}
	}
	return ""
}
