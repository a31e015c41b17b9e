package check

import "testing"

func TestConclude(t *testing.T) {
	for _, c := range []struct {
		found, nothing bool
		missing        string
		verdict        Verdict
		detail         string
	}{
		{verdict: Valid, detail: "looked"},
		{found: true, verdict: Violated, detail: "looked"},
		{nothing: true, verdict: Unknown, detail: "looked; there was nothing"},
		{missing: "a file is gone", verdict: Unknown, detail: "looked; a file is gone"},
		{missing: "a file is gone", nothing: true, verdict: Unknown, detail: "looked; a file is gone"},
		{missing: "a file is gone", found: true, verdict: Violated, detail: "looked; a file is gone"},
	} {
		r := Result{Detail: "looked"}
		if c.found {
			r.Add(Evidence{Kind: "lost"})
		}
		if r.Finish(c.missing, c.nothing, "there was nothing"); r.Verdict != c.verdict || r.Detail != c.detail {
			t.Errorf("%+v: %s, %q", c, r.Verdict, r.Detail)
		}
	}
}

func TestCombine(t *testing.T) {
	graver := []Verdict{Valid, Allowed, Unknown, Violated}
	for i, a := range graver {
		for j, b := range graver {
			if got := Combine([]Result{{Verdict: a}, {Verdict: b}}); got != graver[max(i, j)] {
				t.Errorf("%s and %s are %s", a, b, got)
			}
		}
		text, _ := a.MarshalText()
		var back Verdict
		if err := back.UnmarshalText(text); err != nil || back != a {
			t.Errorf("%s is read as %s: %v", text, back, err)
		}
	}
	if Combine(nil) != Unknown {
		t.Error("nothing was checked, and that is an answer")
	}
}
