package script

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/check/robustness"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// openSender answers everything, and knows where a transaction begins and ends.
type openSender struct{ status store.Status }

func (s *openSender) Status() store.Status { return s.status }

func (s *openSender) Send(_ context.Context, texts ...store.UserText) (all []store.Result, err error) {
	for _, text := range texts {
		chained := strings.Contains(text.Text, "CHAIN")
		switch {
		case text.Kind == store.Begins:
			s.status = store.Open
		case (text.Kind == store.Commits || text.Kind == store.RollsBack) && !chained:
			s.status = store.Idle
		}
		all = append(all, store.Result{Rows: 1})
	}
	return all, nil
}

// sentBy are the templates of scripts that were each run once.
func sentBy(t *testing.T, protocol store.Protocol, texts ...string) *state {
	t.Helper()
	config := configOf("x.sql", texts[0])
	config.Protocol = protocol
	for _, text := range texts[1:] {
		config.More = append(config.More, Script{File: "x.sql", Text: source(text)})
	}
	p, err := config.compile(0)
	expect.NoError(t, err)
	p.catalog = *shopCatalog(t)
	w := newWatch(p, 7, 0)
	for kind := range p.transactions {
		c := newCall(p, &p.transactions[kind], randomOf(7, 1, 1), 1, 1)
		c.watch = w
		work := &Work{program: p, seed: 7}
		c.variables = work.variablesOf(t.Context(), 1)
		expect.NoError(t, c.runTexts(t.Context(), &openSender{}))
		w.done(c, kind, history.Committed, 0)
	}
	var s state
	w.save(&s)
	return &s
}

// operationsIn is what templates do, without where they are.
func operationsIn(s *state) (all []string) {
	for _, of := range s.Templates {
		all = append(all, fmt.Sprintf("%v %v %s", of.Operations, of.Statements, of.Unclear))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestSeveralTransactionsAreSeveralPrograms: what a script of several transactions lets happen
// is what these let happen as scripts of their own, at each level.
func TestSeveralTransactionsAreSeveralPrograms(t *testing.T) {
	statements := []string{
		"SELECT stock FROM item WHERE id = 1;", "SELECT stock FROM item WHERE id = 2;", "SELECT stock FROM item WHERE id = 1 FOR UPDATE;",
		"UPDATE item SET stock = 5 WHERE id = 1;", "UPDATE item SET stock = stock - 1 WHERE id = 2;", "SELECT sum(stock) FROM item;", "INSERT INTO sale VALUES (3);",
	}
	robust, others := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var parts []string
		for range 1 + r.IntN(3) {
			n := r.IntN(4)
			if n == 0 {
				parts = append(parts, statements[r.IntN(len(statements))])
				continue
			}
			text := "BEGIN;\n"
			for range n {
				text += statements[r.IntN(len(statements))] + "\n"
			}
			parts = append(parts, text+"COMMIT;")
		}
		rolledBack := "BEGIN;\nSELECT stock FROM elsewhere;\nROLLBACK;\n"
		together, apart := sentBy(t, "", rolledBack+strings.Join(parts, "\n")), sentBy(t, "", parts...)
		if got, want := operationsIn(together), operationsIn(apart); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %s\nare\n%s\nand apart\n%s", seed, strings.Join(parts, "\n"), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, level := range []robustness.Level{robustness.ReadCommitted, robustness.FixedReads, robustness.Snapshot} {
			a, b := lookAt(together.Templates, false, level), lookAt(apart.Templates, false, level)
			if a.unclear != "" || a.robust != b.robust {
				t.Fatalf("seed %d, level %d: %s\nis robust: %v %s, and apart: %v", seed, level, strings.Join(parts, "\n"), a.robust, a.unclear, b.robust)
			}
			if a.robust {
				robust++
			} else {
				others++
			}
		}
	}
	if robust < 100 || others < 100 {
		t.Errorf("%d looks say robust and %d do not: too few to mean something", robust, others)
	}
}

// TestNotUnderstoodSaysWhyAndWhere: of what cannot be seen through nothing is said, but why and
// in which line.
func TestNotUnderstoodSaysWhyAndWhere(t *testing.T) {
	const block = "BEGIN;\nUPDATE item SET stock = 5 WHERE id = 1;\nCOMMIT;\n"
	for text, why := range map[string]string{
		"SELECT take(1);":    `what "SELECT take(1)" of x reads and writes is not understood: take is a function that may read and write anything (x.sql, line 4)`,
		"SAVEPOINT a;":       "it begins with SAVEPOINT",
		"SELECT n FROM s;":   "setup makes no table s (x.sql, line 4)",
		"SELECT 1\\; END;":   "several statements in one text",
		"LOCK TABLE item;":   "it begins with LOCK",
		"CREATE TABLE v ();": "it begins with CREATE",
		"BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT stock FROM item;\nEND;":            "what x does is not understood: BEGIN sets the isolation level itself (x.sql, line 4)",
		"BEGIN;\nSELECT stock FROM item;\nBEGIN;\nEND;":                                 "BEGIN within a transaction (x.sql, line 6)",
		"BEGIN;\nSELECT stock FROM item;\nCOMMIT AND CHAIN;\nEND;":                      "another transaction, as by AND CHAIN (x.sql, line 6)",
		"BEGIN;\nSELECT stock FROM item;\nROLLBACK AND CHAIN;\nDELETE FROM sale;\nEND;": "another transaction, as by AND CHAIN (x.sql, line 6)",
	} {
		look := lookAt(sentBy(t, "", block+text).Templates, false, robustness.ReadCommitted)
		if look.robust || !strings.Contains(look.unclear, why) {
			t.Errorf("%s: robust %v, %q, want %q", text, look.robust, look.unclear, why)
		}
	}
}

// TestPipelinesAreLookedAt: what stands between two bounds of a pipeline is one transaction, or
// those that BEGIN and COMMIT in it make.
func TestPipelinesAreLookedAt(t *testing.T) {
	const read, write = "SELECT stock FROM item WHERE id = 1;\n", "UPDATE item SET stock = 5 WHERE id = 1;\n"
	for text, want := range map[string][]int{
		"\\startpipeline\n" + read + write + "\\endpipeline":                                         {2},
		"\\startpipeline\n" + read + "\\syncpipeline\n" + write + "\\endpipeline":                    {1, 1},
		"BEGIN;\n\\startpipeline\n" + read + write + "\\endpipeline\nEND;":                           {2},
		"\\startpipeline\nBEGIN;\n" + read + "END;\nBEGIN;\n" + read + write + "END;\n\\endpipeline": {1, 2},
	} {
		var got []int
		for _, of := range sentBy(t, store.Extended, text).Templates {
			got = append(got, len(of.Statements))
			if of.Unclear != "" || !of.Fixed {
				t.Errorf("%s: %+v", text, of)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: transactions of %d statements, want %d", text, got, want)
		}
	}
}
