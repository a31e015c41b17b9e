package robustness

import (
	"slices"
	"testing"
)

func event(start, end int64, relation, key string, writes bool, text, answer string, fixed map[string]string, condition ...string) Event {
	e := Event{Start: start, End: end, Text: text, Answer: answer, Fixed: fixed, Condition: condition}
	e.Operation = Operation{Relation: relation, Key: key, Reads: []string{All}}
	if writes {
		e.Operation = Operation{Relation: relation, Key: key, Writes: []string{All}, Locks: true}
	}
	return e
}

// race is a run of PostgreSQL 15.18 at serializable, in microseconds: a batch is closed, a receipt
// is added to it, and a report sums the batch.
func race(sum string, reportBegins int64) []*Execution {
	batch := func(of string) map[string]string { return map[string]string{"batch": of} }
	return []*Execution{
		{Events: []Event{event(6, 938, "control", "control 1", true, "update", "", nil)}, CommitStart: 939, CommitEnd: 2696},
		{Events: []Event{event(483, 570, "control", "control 1", false, "batch", "474", nil),
			event(1517, 1683, "receipt", "receipt 9", true, "insert", "", batch("474"))}, CommitStart: 1685, CommitEnd: 1929},
		{Events: []Event{event(reportBegins, reportBegins+75, "control", "control 1", false, "batch", "475", nil),
			event(3523, 3700, "receipt", "", false, "sum", sum, batch("474"), "batch")}, CommitStart: 5730, CommitEnd: 6284},
		{Events: []Event{event(7000, 7100, "receipt", "", false, "sum", "(15)", batch("474"), "batch")}, CommitStart: 7200, CommitEnd: 7300},
	}
}

// The times prove two conflicts and the answers the third, or two of them. If the report saw the
// receipt there is no cycle.
func TestCycleOfThree(t *testing.T) {
	kinds := func(all []Conflict) (text []string) {
		for _, c := range all {
			if !c.Sure {
				t.Errorf("%+v is not proven", c)
			}
			text = append(text, c.Kind)
		}
		return text
	}
	if got := kinds(Cycle(race("(10)", 1556), 2, Snapshot)); !slices.Equal(got, []string{"rw", "rw", "wr"}) {
		t.Errorf("the race is %v", got)
	}
	if got := kinds(Cycle(race("(10)", 1650), 2, Snapshot)); !slices.Equal(got, []string{"rw", "rw", "wr"}) {
		t.Errorf("the race, with a snapshot that may be younger than the receipt, is %v", got)
	}
	if got := Cycle(race("(15)", 1650), 2, Snapshot); got != nil {
		t.Errorf("a report that saw the receipt is in the cycle %+v", got)
	}
	other := race("(10)", 1556)
	other[2].Events[1].Fixed = map[string]string{"batch": "473"}
	if got := Cycle(other, 2, Snapshot); got != nil {
		t.Errorf("a report over another batch is in the cycle %+v", got)
	}
}

// One read saw a change and missed the next, and only one of the changes is known. Other reads
// before and after differ, so each alone would prove either.
func TestCycleOfAnUnknownWrite(t *testing.T) {
	read := func(start int64, answer string) *Execution {
		return &Execution{Events: []Event{event(start, start+10, "control", "control 1", false, "batch", answer, nil)}, CommitStart: start + 20, CommitEnd: start + 30}
	}
	update := &Execution{Events: []Event{event(500, 510, "control", "control 1", true, "update", "", nil)}, CommitStart: 520, CommitEnd: 2000}
	if got := Cycle([]*Execution{update, read(100, "324"), read(1000, "325"), read(3000, "326")}, 2, Snapshot); got != nil {
		t.Errorf("one read that saw and missed the same change is in the cycle %+v", got)
	}
}

// If a second transaction may have changed the read data, it is open which of the two was seen.
func TestCycleNeedsProof(t *testing.T) {
	all := race("(10)", 1556)
	all = append(all, &Execution{Events: []Event{event(500, 510, "control", "control 1", true, "update", "", nil)}, CommitStart: 520, CommitEnd: 2000})
	if slices.ContainsFunc(Cycle(all, 2, Snapshot), func(c Conflict) bool { return c.Told == ByAnswers && c.Sure }) {
		t.Error("which update was seen is called proven")
	}
}
