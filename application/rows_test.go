package application

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"assay/application/wire"
	"assay/check"
	"assay/store/promise"
)

// inserted is a statement that has inserted so many rows.
func inserted(text string, rows int64, values ...string) *wire.Statement {
	s := wire.Statements(text)[0]
	s.Values, s.Writes, s.Rows = append(s.Values, values...), true, rows
	return s
}

// TestRowsOfAnInsert asks for what is known of rows, and for none of which anything is not.
func TestRowsOfAnInsert(t *testing.T) {
	for name, c := range map[string]struct {
		s    *wire.Statement
		want []string
	}{
		"literals":                  {inserted("INSERT INTO sale (number, item) VALUES ('o''k', 7)", 1), []string{"SELECT count(*) FROM sale WHERE number = 'o''k' AND item = 7"}},
		"a cast":                    {inserted(`INSERT INTO "sale" ("number", "item", n) VALUES ('a'::uuid, 7, 8) RETURNING "sale"."id"`, 1), []string{`SELECT count(*) FROM "sale" WHERE "number" = 'a' AND "item" = 7 AND n = 8`}},
		"parameters":                {inserted("INSERT INTO s.sale (number, item, made) VALUES ($1, $2, now) ON CONFLICT DO NOTHING", 1, "it's", "7"), []string{"SELECT count(*) FROM s.sale WHERE number = 'it''s' AND item = '7'"}},
		"both":                      {inserted("INSERT INTO sale (number, item) VALUES ($1, 5)", 1, "a"), []string{"SELECT count(*) FROM sale WHERE number = 'a' AND item = 5"}},
		"of MySQL":                  {inserted("INSERT INTO sale (number, item) VALUES (?, ?)", 1, "a", "7"), []string{"SELECT count(*) FROM sale WHERE number = 'a' AND item = 7"}},
		"a text that reads as none": {inserted("INSERT INTO sale (number, item) VALUES ($1, $2)", 1, wire.Text([]byte("NULL")), wire.Text([]byte("a..."))), []string{"SELECT count(*) FROM sale WHERE number = 'NULL' AND item = 'a...'"}},
		"a quote, of MySQL":         {inserted("INSERT INTO sale (number, item) VALUES (?, ?)", 1, wire.Text([]byte("' OR 1 = 1")), "7"), []string{"SELECT count(*) FROM sale WHERE number = ''' OR 1 = 1' AND item = 7"}},
		"bytes":                     {inserted("INSERT INTO sale (number, item) VALUES ($1, $2)", 1, wire.Bytes([]byte{1, 2}, ", type not known"), "7"), []string{"SELECT count(*) FROM sale WHERE item = '7'"}},
		"a long text":               {inserted("INSERT INTO sale (number, item) VALUES ($1, $2)", 1, wire.Text(bytes.Repeat([]byte("'x"), 200)), "7"), []string{"SELECT count(*) FROM sale WHERE item = '7'"}},
		"several rows":              {inserted("INSERT INTO sale (number, item) VALUES ('a', 1), ('b', 2)", 2), []string{"SELECT count(*) FROM sale WHERE number = 'a' AND item = 1", "SELECT count(*) FROM sale WHERE number = 'b' AND item = 2"}},
		"NULL":                      {inserted("INSERT INTO sale (number, item) VALUES ($1, $2)", 1, "NULL", "7"), []string{"SELECT count(*) FROM sale WHERE item = '7'"}},
		"some were there":           {inserted("INSERT INTO sale (number, item) VALUES ('a', 1), ('b', 2) ON CONFLICT DO NOTHING", 1), nil},
		"an upsert":                 {inserted("INSERT INTO sale (number, item) VALUES ('a', 1) ON CONFLICT (number) DO UPDATE SET item = 2", 1), nil},
		"an upsert of MySQL":        {inserted("INSERT INTO sale (number, item) VALUES ('a', 1) ON DUPLICATE KEY UPDATE item = VALUES(item)", 1), nil},
		"no columns":                {inserted("INSERT INTO sale VALUES ('a', 1)", 1), nil},
		"of a query":                {inserted("INSERT INTO sale (number) SELECT number FROM other", 1), nil},
		"a function":                {inserted("INSERT INTO sale (number, item) VALUES (lower('A', 2), 1)", 1), nil},
		"a value is cut":            {inserted("INSERT INTO sale (number) VALUES ($1)", 1, "abc..."), nil},
		"values are missed":         {inserted("INSERT INTO sale (number, item) VALUES ($1, $2)", 1, "a"), nil},
	} {
		var got []string
		if in := insertionOf(c.s); in != nil {
			got = in.queries
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestLost convicts by rows that are not there, and only where nothing else explains that.
func TestLost(t *testing.T) {
	told := func(number string) *wire.Transaction {
		return sold(10, true, "INSERT INTO sale (number, item) VALUES ('"+number+"', 1)")
	}
	untold := func(number string) *wire.Transaction {
		x := told(number)
		x.Outcome, x.Told = wire.Unknown, false
		return x
	}
	yes, no := true, false
	ruled := func(p *bool) func([]loss) promise.Ruling {
		return func([]loss) promise.Ruling {
			return promise.Ruling{Promised: p, Source: "fsync=off", Manual: "page"}
		}
	}
	for name, c := range map[string]struct {
		all     []*wire.Transaction
		there   int64
		ruling  func([]loss) promise.Ruling
		happens string
		verdict check.Verdict
	}{
		"all there":                  {[]*wire.Transaction{told("a")}, 1, ruled(&yes), Survived, check.Valid},
		"gone":                       {[]*wire.Transaction{told("a")}, 0, ruled(&yes), Lost, check.Violated},
		"gone, nothing was done":     {[]*wire.Transaction{told("a")}, 0, nil, Lost, check.Violated},
		"gone as the manual allows":  {[]*wire.Transaction{told("a")}, 0, ruled(&no), Lost, check.Allowed},
		"gone, nobody knows":         {[]*wire.Transaction{told("a")}, 0, ruled(nil), Lost, check.Unknown},
		"it was not told":            {[]*wire.Transaction{untold("a")}, 0, ruled(&yes), LeftOut, check.Allowed},
		"not told, and there":        {[]*wire.Transaction{untold("a")}, 1, ruled(&yes), Survived, check.Valid},
		"twice alike, one is there":  {[]*wire.Transaction{told("a"), told("a")}, 1, ruled(&yes), Lost, check.Violated},
		"it was removed":             {[]*wire.Transaction{told("a"), sold(20, true, "DELETE FROM sale WHERE item = 1")}, 0, ruled(&yes), Survived, check.Valid},
		"removed by who knows what":  {[]*wire.Transaction{told("a"), sold(20, true, "SELECT forget(1)")}, 0, ruled(&yes), Lost, check.Unknown},
		"upserted afterwards":        {[]*wire.Transaction{told("a"), sold(20, true, "INSERT INTO sale (number, item) VALUES ('a', 2) ON DUPLICATE KEY UPDATE item = 2")}, 0, ruled(&yes), Survived, check.Valid},
		"upserted, of PostgreSQL":    {[]*wire.Transaction{told("a"), sold(20, true, "INSERT INTO sale (number, item) VALUES ('a', 2) ON CONFLICT (number) DO UPDATE SET item = 2")}, 0, ruled(&yes), Survived, check.Valid},
		"a part of it was undone":    {[]*wire.Transaction{sold(10, true, "INSERT INTO sale (number, item) VALUES ('a', 1)", "ROLLBACK TO x")}, 0, ruled(&yes), Survived, check.Valid},
		"another statement than was": {[]*wire.Transaction{sold(10, true, "INSERT INTO sale (item) VALUES (1)")}, 0, ruled(&yes), Survived, check.Valid},
	} {
		x := &trying{base: &baseline{run: &run{all: []*wire.Transaction{told("z")}, recorder: wire.NewRecorder()}, steady: true, sure: map[string]bool{told("a").Statements[0].Shape: true}}}
		x.base.committed, x.base.exact = count(x.base.run.all)
		x.Count = func(_ context.Context, queries []string) (all []int64, _ error) {
			for range queries {
				all = append(all, c.there)
			}
			return all, nil
		}
		r := &run{moment: moment{met: 5, ruling: c.ruling}, all: c.all, recorder: wire.NewRecorder()}
		x.look(t.Context(), r)
		if got := x.base.judge(r, false); got.Happens != c.happens || got.Verdict != c.verdict {
			t.Errorf("%s: %s, %v: %s", name, got.Happens, got.Verdict, got.Detail)
		}
	}
}

// TestRowsOfAnEarlierRun: without --reset, equal rows of earlier runs are there, and a transaction whose
// end nobody was told is not known to be committed by them.
func TestRowsOfAnEarlierRun(t *testing.T) {
	sale := func(at time.Duration, outcome wire.Outcome) *wire.Transaction {
		x := sold(at, outcome == wire.Committed, "INSERT INTO sale (item, pieces) VALUES (1, 2)")
		x.Outcome = outcome
		return x
	}
	for name, c := range map[string]struct {
		second, now int64 // rows that are there after the second run, and after the event's
		happens     string
	}{"nothing is left of earlier runs": {1, 2, Twice}, "a row is left of each": {2, 3, Retried}} {
		var there int64
		x := &trying{}
		x.Count = func(context.Context, []string) ([]int64, error) { return []int64{there}, nil }
		runs := func(now int64, all ...*wire.Transaction) *run {
			there = now
			r := &run{moment: moment{met: 5}, all: all, recorder: wire.NewRecorder()}
			x.look(t.Context(), r)
			return r
		}
		x.base = learn(runs(1, sale(10, wire.Committed)))
		x.base.confirm(runs(c.second, sale(10, wire.Committed)))
		if got := x.base.judge(runs(c.now, sale(10, wire.Unknown), sale(20, wire.Committed)), false); got.Happens != c.happens {
			t.Errorf("%s: %s, %v: %s", name, got.Happens, got.Verdict, got.Detail)
		}
	}
}

// TestLostWithOthers: rows that hang on others go with these, which is no loss. Only what an application
// does untouched, too, is known to take none along.
func TestLostWithOthers(t *testing.T) {
	at := func(when time.Duration, place, text string) *wire.Transaction {
		x := sold(when, true, text)
		x.Place = place
		return x
	}
	line := func(when time.Duration, order string) *wire.Transaction {
		return at(when, "line", "INSERT INTO line (o, n) VALUES ("+order+", 1)")
	}
	truncated, paid := at(1, "empty", "TRUNCATE orders CASCADE"), func(when time.Duration, order string) *wire.Transaction {
		return at(when, "paid", "DELETE FROM cart WHERE o = "+order)
	}
	for name, c := range map[string]struct {
		untouched, all []*wire.Transaction
		want           check.Verdict
	}{
		"nothing was removed":            {[]*wire.Transaction{line(10, "7")}, []*wire.Transaction{line(10, "7")}, check.Violated},
		"emptied before":                 {[]*wire.Transaction{truncated, line(10, "7")}, []*wire.Transaction{truncated, line(10, "7")}, check.Violated},
		"emptied again":                  {[]*wire.Transaction{truncated, line(10, "7")}, []*wire.Transaction{line(10, "7"), at(20, "empty", "TRUNCATE orders CASCADE")}, check.Unknown},
		"removed as untouched":           {[]*wire.Transaction{line(10, "7"), paid(20, "7")}, []*wire.Transaction{line(10, "8"), paid(20, "8")}, check.Violated},
		"another's removed, and its own": {[]*wire.Transaction{line(10, "7"), paid(20, "5")}, []*wire.Transaction{line(10, "8"), paid(20, "8")}, check.Unknown},
		"another's removed":              {[]*wire.Transaction{line(10, "7"), paid(20, "5")}, []*wire.Transaction{line(10, "8"), paid(20, "5")}, check.Violated},
	} {
		known := append(c.untouched, at(0, "other", "DELETE FROM cart WHERE o = 0"), at(0, "other", "TRUNCATE orders CASCADE"))
		slices.SortStableFunc(known, func(a, b *wire.Transaction) int { return int(a.Ended - b.Ended) })
		x := &trying{base: &baseline{run: &run{all: known, recorder: wire.NewRecorder()}, sure: map[string]bool{line(0, "7").Statements[0].Shape: true}}}
		x.Count = func(_ context.Context, queries []string) ([]int64, error) { return make([]int64, len(queries)), nil }
		r := &run{moment: moment{met: 5}, all: c.all, recorder: wire.NewRecorder()}
		x.look(t.Context(), r)
		if got := x.base.judge(r, false); got.Happens != Lost || got.Verdict != c.want {
			t.Errorf("%s: %s, %v: %s", name, got.Happens, got.Verdict, got.Detail)
		}
	}
}
