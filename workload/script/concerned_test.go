package script

import (
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/check/robustness"
	"assay/history"
	"assay/internal/expect"
)

const batches = `
def setup(db):
    db.exec("CREATE TABLE control (id bigint PRIMARY KEY, batch bigint NOT NULL)")
    db.exec("CREATE TABLE receipt (id bigint PRIMARY KEY, batch bigint NOT NULL, amount bigint NOT NULL)")
    db.exec("CREATE TABLE report (id bigint PRIMARY KEY, batch bigint NOT NULL, total bigint NOT NULL)")
def f(tx, r):
    tx.value("SELECT batch FROM control WHERE id = 1")
transaction("f", run = f)
invariant("closed batches stay", "SELECT id FROM report WHERE total < 0", empty = True, at_end = True)
`

// TestConcerned: the transactions that broke an invariant are found by the row that its query
// names, with all that they sent, and their moments are those of the history.
func TestConcerned(t *testing.T) {
	p, err := configOf("x.star", batches).compile(0)
	expect.NoError(t, err)
	_, err = p.rehearsed()
	expect.NoError(t, err)
	w := newWatch(p, 7, 0)
	w.seen = robustness.Snapshot
	µs := time.Microsecond
	send := func(start, end time.Duration, text string, parameters []any, answer any) step {
		of, err := p.statements.inTransaction(text, len(parameters))
		expect.NoError(t, err)
		s := step{statement: Statement{Text: text, Parameters: parameters, Reads: of.reads, of: of}, start: start * µs, end: end * µs, rows: 1}
		if answer != nil {
			s.answer = [][]any{{answer}}
		}
		return s
	}
	const batch, sum = "SELECT batch FROM control WHERE id = 1", "SELECT coalesce(sum(amount),0) FROM receipt WHERE batch = $1"
	for i, x := range []*overlapping{
		{name: "close", begun: 0, commit: 939 * µs, end: 2696 * µs, steps: []step{send(6, 938, "UPDATE control SET batch = batch + 1 WHERE id = 1", nil, nil)}},
		{name: "receive", begun: 477 * µs, commit: 1685 * µs, end: 1929 * µs, steps: []step{send(483, 570, batch, nil, int64(474)),
			send(1517, 1683, "INSERT INTO receipt (id, batch, amount) VALUES ($1, $2, $3)", []any{int64(9), int64(474), int64(5)}, nil)}},
		{name: "report", begun: 1549 * µs, commit: 5730 * µs, end: 6284 * µs, steps: []step{send(1556, 1631, batch, nil, int64(475)), send(3523, 3700, sum, []any{int64(474)}, int64(10)),
			send(5622, 5728, "INSERT INTO report (id, batch, total) VALUES ($1, $2, $3)", []any{int64(77), int64(474), int64(10)}, nil)}},
	} {
		x.client, x.seq, x.attempt = i, 5, 1
		w.keep(x)
	}
	w.concerned(0, answer{Rows: [][]any{{int64(77)}}, Count: 1})
	if len(w.cases) != 1 || len(w.cases[0].Excerpt.Operations) != 3 {
		t.Fatalf("found %+v", w.cases)
	}
	j := &judge{state: state{Cases: w.cases}}
	j.dated(&history.Op{Client: 1, Seq: 5, Attempt: 1, Start: 10_000_477_000})
	e := j.proven(check.Evidence{Kind: "end"}, CheckInvariants, 0)
	ops := e.Smallest.Operations
	if got := ops[0].Name + ops[0].Transaction + ops[1].Transaction + ops[2].Transaction; got != "T1closereceivereport" {
		t.Errorf("the transactions are %s", got)
	}
	last := ops[2].Statements
	if len(last) != 5 || last[0].Text != "BEGIN" || last[2].Answer != "gives (10)" || last[2].Sent != 10_003_523_000 || last[4].Text != "COMMIT" || last[4].Answered != 10_006_284_000 {
		t.Errorf("the report sent %+v", last)
	}
	if !e.Smallest.Minimal || !strings.Contains(e.Smallest.Why, "T3 did not see what T2 wrote") || len(e.Cycle.Steps) != 3 {
		t.Errorf("it is told as %+v", e)
	}
	if again := j.proven(check.Evidence{}, CheckInvariants, 0); again.Smallest != nil {
		t.Error("one case is shown twice")
	}
}
