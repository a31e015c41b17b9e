package check

import "testing"

func TestFindingsAreBoundedAndShared(t *testing.T) {
	told := 0
	f := NewFindings("a", "b", "c", "d")
	for _, kind := range []string{"a", "b", "d"} {
		for range 1000 {
			f.Add(kind, func() Evidence { told++; return Evidence{} })
		}
	}
	f.AddMany("c", 3, func() Evidence { return Evidence{} })
	f.Add("c", func() Evidence { return Evidence{} })
	if told != 3*MaxEvidence {
		t.Errorf("%d pieces of evidence were written down", told)
	}
	more := f.Clone()
	more.Add("c", func() Evidence { return Evidence{} })
	var r Result
	f.AddTo(&r)
	var listed string
	for _, e := range r.Evidence {
		listed += e.Kind
	}
	if listed != "abcdabcdabdabdabdabd" || r.Found != 3004 || f.Count("c") != 4 || more.Count("c", "d") != 1005 {
		t.Errorf("found %d, listed %s", r.Found, listed)
	}
	var whole Result
	whole.AddParts([]Result{r, {Evidence: []Evidence{{Kind: "e"}}, Found: 2, Findings: []Finding{{Kind: "e", Found: 2}}}})
	if whole.Found != 3006 || whole.Findings[1] != (Finding{Kind: "e", Found: 2}) || whole.Evidence[0].Kind != "a" || whole.Evidence[1].Kind != "e" {
		t.Errorf("of two parts: found %d, %v", whole.Found, whole.Findings)
	}
	if text := f.String(); text != "1,000 a, 1,000 b, 4 c, 1,000 d" || NewFindings("a").String() != "" {
		t.Errorf("%s", text)
	}
}
