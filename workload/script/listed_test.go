package script

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/workload/definition"
)

const listing = `
def f(tx, r):
    pass
transaction("f", run = f)
transaction("g", run = f)
listed("journal", "f", each = 2)
`

// idsOf are the first identifiers of an operation.
func idsOf(client int, seq uint64, n int64) (ids []int64) {
	for call := range n {
		ids = append(ids, firstID(client, seq)+call)
	}
	return ids
}

// TestListed: an operation that took effect has left as many rows as it is to, with its own
// identifiers, and nobody else any. Each wrong list stands beside the right one.
func TestListed(t *testing.T) {
	ops := []recorded{
		{client: 0, seq: 0, attempt: 1, last: true, kind: 1, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}},
		{client: 0, seq: 1, attempt: 1, last: true, kind: 1, outcome: history.Failed, final: history.Failed},
		{client: 0, seq: 2, attempt: 1, last: true, kind: 1, outcome: history.Unknown, final: history.Unknown},
		{client: 0, seq: 3, attempt: 1, last: true, kind: 2, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}},
		{client: 1, seq: 0, attempt: 1, last: true, kind: 1, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}},
		{client: 1, seq: 1, attempt: 1, kind: 1, outcome: history.Unknown},
		{client: 1, seq: 1, attempt: 2, last: true, kind: 1, outcome: history.Unknown, final: history.Unknown},
	}
	right := slices.Concat(idsOf(0, 0, 2), idsOf(1, 0, 2))
	for name, c := range map[string]struct {
		ids  []int64
		want []string // kinds of evidence
	}{
		"right":                       {right, nil},
		"the unknown one did":         {slices.Concat(right, idsOf(0, 2, 2)), nil},
		"one is missing":              {right[1:], []string{"lost"}},
		"an operation is missing":     {right[2:], []string{"lost"}},
		"one stands for another":      {slices.Concat(right[:3], []int64{firstID(1, 9)}), []string{"foreign", "lost"}},
		"one is altered":              {slices.Concat(right[:3], []int64{right[3] + 1000}), []string{"foreign", "lost"}},
		"one twice, another missing":  {slices.Concat(right[:3], right[2:3]), []string{"doubled"}},
		"one too many":                {slices.Concat(right, []int64{right[0] + 5}), []string{"surplus"}},
		"of one that failed":          {slices.Concat(right, idsOf(0, 1, 2)), []string{"foreign", "foreign"}},
		"of another transaction":      {slices.Concat(right, idsOf(0, 3, 1)), []string{"foreign"}},
		"of nobody":                   {slices.Concat(right, []int64{-5}), []string{"foreign"}},
		"a third of the unknown one":  {slices.Concat(right, idsOf(0, 2, 3)), []string{"surplus"}},
		"half of the unknown one did": {slices.Concat(right, idsOf(0, 2, 1)), []string{kindHalf}},
		"one of two attempts did":     {slices.Concat(right, idsOf(1, 1, 2)), nil},
		"two attempts did":            {slices.Concat(right, idsOf(1, 1, 2), idsOf(1, 1, 2)), nil},
		"half of two attempts did":    {slices.Concat(right, idsOf(1, 1, 2), idsOf(1, 1, 1)), []string{kindHalf}},
	} {
		e := evidence(t, true, ops, `{"invariants":[],"counts":[],"findings":[]}`)
		writeLists(t, e, c.ids)
		r := listedBy(t, e)
		var kinds []string
		for _, found := range r.Evidence {
			kinds = append(kinds, found.Kind)
		}
		if !slices.Equal(kinds, c.want) || (r.Verdict == check.Valid) != (c.want == nil) || int(r.Found) != len(c.want) {
			t.Errorf("%s: %v (%s), %v, want %v", name, r.Verdict, r.Detail, kinds, c.want)
		}
	}
	e := evidence(t, true, ops, `{"invariants":[],"counts":[],"findings":[]}`)
	writeLists(t, e, slices.Concat(right, idsOf(0, 1, 40)))
	if r := listedBy(t, e); r.Found != 40 || len(r.Findings) != 1 || r.Findings[0].Found != 40 || len(r.Evidence) != check.MaxEvidence {
		t.Errorf("40 of one that failed: %d, %+v, %d listed", r.Found, r.Findings, len(r.Evidence))
	}
	none := evidence(t, true, ops[1:4], `{"invariants":[],"counts":[],"findings":[]}`)
	writeLists(t, none, nil)
	if r := listedBy(t, none); r.Verdict != check.Unknown {
		t.Errorf("nothing that is listed was committed: %v (%s)", r.Verdict, r.Detail)
	}
	e = evidence(t, true, ops, `{"invariants":[],"counts":[],"findings":[]}`)
	if r := listedBy(t, e); r.Verdict != check.Unknown {
		t.Errorf("without the lists: %v (%s)", r.Verdict, r.Detail)
	}
	writeLists(t, e, right)
	e.InFlight = "somebody is in flight"
	if r := listedBy(t, e); r.Verdict != check.Unknown {
		t.Errorf("in flight: %v (%s)", r.Verdict, r.Detail)
	}
}

// TestListedAfterAKill: what was reserved and has no record may have been done.
func TestListedAfterAKill(t *testing.T) {
	ops := []recorded{{client: 0, reservation: 2},
		{client: 0, seq: 0, attempt: 1, last: true, kind: 1, outcome: history.Committed, final: history.Committed, values: []int64{0, 0}}}
	e := evidence(t, false, ops, `{"invariants":[],"counts":[],"findings":[]}`)
	writeLists(t, e, slices.Concat(idsOf(0, 0, 2), idsOf(0, 1, 2)))
	only := strings.Replace(listing, `transaction("g", run = f)`, "", 1)
	if r := listedIn(t, only, e); r.Verdict != check.Valid {
		t.Errorf("reserved: %v (%s)", r.Verdict, r.Detail)
	}
	writeLists(t, e, slices.Concat(idsOf(0, 0, 2), idsOf(0, 2, 2)))
	if r := listedIn(t, only, e); r.Verdict != check.Violated {
		t.Errorf("not reserved: %v (%s)", r.Verdict, r.Detail)
	}
}

func writeLists(t *testing.T, e definition.Evidence, ids []int64) {
	t.Helper()
	err := history.SaveRecords(filepath.Join(filepath.Dir(e.State), fileLists), listsMagic, func() {}, func(w *history.RecordWriter) error {
		for _, id := range ids {
			if err := w.Put(tagListed, 0, id); err != nil {
				return err
			}
		}
		return w.Put(tagListEnd)
	})
	expect.NoError(t, err)
}

func listedBy(t *testing.T, e definition.Evidence) check.Result {
	t.Helper()
	return listedIn(t, listing, e)
}

func listedIn(t *testing.T, text string, e definition.Evidence) check.Result {
	t.Helper()
	c := Defaults()
	c.File, c.Text = "f.star", source(text)
	j, err := c.Judge(t.Context(), 1, e)
	expect.NoError(t, err)
	i := slices.IndexFunc(j.Results, func(r check.Result) bool { return r.Name == CheckListed })
	if i < 0 {
		t.Fatalf("no list was judged: %+v", j.Results)
	}
	return j.Results[i]
}
