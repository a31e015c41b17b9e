package runner

import (
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/runner/histories"
	"assay/workload/definition"
)

// TestTransactionsThatBrokeARule: the transactions are shown with all their statements, from the
// folder alone and by assay repro.
func TestTransactionsThatBrokeARule(t *testing.T) {
	t.Parallel()
	s := scripted(t, "postgres:1,set.log_statement=mod", "CREATE TABLE acc (id int PRIMARY KEY, v int); CREATE TABLE added (n int); INSERT INTO acc VALUES (1, 0);",
		"-- assay: invariant sum equals 0: SELECT (SELECT sum(v) FROM acc) - (SELECT count(*) FROM added)\nBEGIN;\nSELECT v FROM acc WHERE id = 1 \\gset\n"+
			"UPDATE acc SET v = :v + 1 WHERE id = 1;\nINSERT INTO added (n) VALUES (1);\nEND;\n")
	s.Isolation, s.Load.Clients = "read committed", 4
	pause, _ := definition.Lookup(s.Config, "pause")
	*pause.Value.(*float64) = 1
	out := carryOut(t, s)
	r, err := Reproduce(t.Context(), out.Folder, ReproOptions{Options: histories.Options{Timeout: time.Minute}})
	expect.NoError(t, err)
	if r.Kind != "invariants" || r.Arguments != nil || len(r.Evidence.Smallest.Operations) < 2 || r.Conviction != nil {
		t.Fatalf("it shows %+v", r)
	}
	page, err := bugPage(t, out.Folder)
	expect.NoError(t, err)
	expect.Text(t, "the page", page, "┌ T1", "│ COMMIT", "read committed", "PostgreSQL manual 15, ", "What postgres-n1.log has around that moment")
	var sent []string
	var started bool
	for _, o := range r.Evidence.Smallest.Operations {
		for _, x := range o.Statements {
			sent = append(sent, x.Text+" "+x.Answer)
		}
		_, err := history.Read(out.Folder+"/"+FileHistory, history.Visitor{Op: func(op *history.Op) error {
			started = started || op.Client == int(o.Process) && op.Seq == uint64(o.ID) && op.Start == o.Invoke
			return nil
		}})
		expect.NoError(t, err)
	}
	expect.Text(t, "what was sent", strings.Join(sent, "\n"), "SELECT v FROM acc WHERE id = 1 gives (", "UPDATE acc SET v = ", "COMMIT")
	if !started {
		t.Error("no operation begins when the history says so")
	}
}
