package isolation

import (
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

// TestWhatIsGoneIsToldApart: a list shows an append that had no answer, and begins anew
// without it. With an answer, or with another contradiction, it is what it was.
func TestWhatIsGoneIsToldApart(t *testing.T) {
	for name, test := range map[string]struct {
		outcome history.Outcome
		again   bool // the end lacks an element that was acknowledged too
		want    []string
	}{
		"no answer":              {history.Unknown, false, []string{KindGoneRead}},
		"an answer":              {history.Committed, false, []string{"incompatible-order"}},
		"no answer, and another": {history.Unknown, true, []string{"incompatible-order", KindGoneRead}},
	} {
		s := newScript(t, "append")
		shown := s.do(0, test.outcome, appendTo(2, 0))
		s.do(1, history.Committed, readList(2, shown))
		kept := s.do(2, history.Committed, appendTo(2, 0))
		s.do(3, history.Committed, readList(2, kept))
		end := []int64{kept}
		if test.again {
			other := s.do(4, history.Committed, appendTo(2, 0))
			s.do(5, history.Committed, readList(2, kept, other))
			last := s.do(6, history.Committed, appendTo(2, 0))
			end = append(end, last)
		}
		_ = s.state.list(2, end)
		j, err := s.judge()
		expect.NoError(t, err)
		found := map[string]bool{}
		for _, f := range j.Results[0].Findings {
			found[f.Kind] = true
		}
		for _, kind := range test.want {
			if !found[kind] {
				t.Errorf("%s: %q is missing: %+v", name, kind, j.Results[0])
			}
		}
		if found[KindGoneRead] != (test.outcome == history.Unknown) || found["incompatible-order"] != (len(test.want) == 2 || test.outcome == history.Committed) || j.Results[0].Verdict != check.Violated {
			t.Errorf("%s: %+v", name, j.Results[0])
		}
	}
}
