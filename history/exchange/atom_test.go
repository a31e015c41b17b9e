package exchange

import (
	"strings"
	"testing"
)

func TestParseAtom(t *testing.T) {
	for text, want := range map[string]Atom{
		"nil": {}, " 5 ": Int64(5), "-7": Int64(-7), "+007N": Int64(7), "true": {Kind: Bool, Int: 1}, "false": {Kind: Bool},
		`"five"`: textAtom("five"), `""`: textAtom(""), ":five": {Kind: Keyword, Text: "five"}, "#tag 5": Int64(5), "5 ; a comment": Int64(5),
		"123456789012345678901234567890": {Kind: Big, Text: "123456789012345678901234567890"},
	} {
		a, err := ParseAtom(text)
		if err != nil || a != want {
			t.Errorf("%q is %v, %v; want %v", text, a, err, want)
		}
		if again, err := ParseAtom(a.String()); err != nil || again != a {
			t.Errorf("%q, written and read again, is %v, %v", text, again, err)
		}
	}
	for text, says := range map[string]string{
		"": "nothing", " ; 5": "nothing", "five": "five is no key or value", "1.5": "1.5 is no key or value", "[1]": "a list is no", "{1 2}": "a map is no",
		"1 2": "something follows 1", "nil nil": "something follows nil", `"five`: "cut short", ":": "line 1", "[1": "cut short", ")": "line 1",
	} {
		if a, err := ParseAtom(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %v, %v; want an error that says %q", text, a, err, says)
		}
	}
}

func textAtom(s string) Atom { return Atom{Kind: String, Text: s} }
