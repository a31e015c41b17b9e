package wire

import (
	"math"
	"strings"
	"testing"
)

// TestValuesReadApart: no two texts read alike, nor like the absence of a value, bytes or a password's mark.
func TestValuesReadApart(t *testing.T) {
	long := strings.Repeat("a", 10*maxValue)
	texts := []string{"", "NULL", "'NULL'", "'''NULL'''", "null", "7", `\x37`, `\x37 (length 1)`, `\x00 (length 1)`, "\x00", "\x00\x00", "\xff", "\xfe", "ÿ",
		"a...", "'a...'", "hidden 1abc...", "a\nb", "a\x01b", long, long + "b", long + "c", long[:maxValue], long[:maxValue+1], long[:maxValue] + "...", "'" + long,
		strings.Repeat("\x00", maxBytes), strings.Repeat("\x00", maxBytes+1), strings.Repeat("\x00", maxBytes+1) + "\x01", strings.Repeat("\x00", maxBytes) + "\x01\x01"}
	for _, text := range texts[:] {
		texts = append(texts, Text([]byte(text)))
	}
	of := map[string]string{Null: "the absence of a value", concealed + "1abc...": "a password's mark"}
	for i, text := range texts {
		read := Text([]byte(text))
		if other, is := of[read]; is && other != text {
			t.Errorf("%.40q and %.40q read %.60q", text, other, read)
		}
		if len(read) > 2*maxValue {
			t.Errorf("text %d is %d bytes", i, len(read))
		}
		of[read] = text
	}
	for text, want := range map[string]string{"it's so": "it's so", "NULL": "'NULL'", "'x": "'''x'", "a...": "'a...'", "\x00\xff": `\x00ff (length 2)`, "a\nb": "a\nb"} {
		if got := Text([]byte(text)); got != want {
			t.Errorf("%q reads %s, want %s", text, got, want)
		}
	}
}

// TestManyValues: those that are not kept are told apart by the last one, and so is a text that is too long.
func TestManyValues(t *testing.T) {
	list := func(n int, last string) string {
		return "INSERT INTO t VALUES (" + strings.Repeat("7, ", n-1) + last + ")"
	}
	wide := "SELECT " + strings.Repeat("column, ", maxText)
	seen := map[string]string{}
	for _, text := range []string{list(MaxValues, "7"), list(MaxValues, "8"), list(MaxValues+1, "7"), list(MaxValues+1, "8"), list(MaxValues+2, "8"), list(5*MaxValues, "7"), list(5*MaxValues, "8"), wide + "a", wide + "b", wide + "'b'"} {
		s := Statements(text)[0]
		if len(s.Values) > MaxValues {
			t.Errorf("%d values are kept", len(s.Values))
		}
		if other, is := seen[s.Exactly()]; is {
			t.Errorf("...%s and ...%s are %s", text[len(text)-20:], other[len(other)-20:], s.Exactly())
		}
		seen[s.Exactly()] = text
		if s.Exactly() != Statements(text)[0].Exactly() {
			t.Errorf("...%s differs from itself", text[len(text)-20:])
		}
	}
	values := ValuesAfter(Statements(list(3*MaxValues, "7"))[0].Values)
	before := values.All()[MaxValues-1]
	values.Add("9")
	if all := values.All(); len(all) != MaxValues || all[MaxValues-1] == before || values.All()[MaxValues-1] != all[MaxValues-1] {
		t.Errorf("%d values, whose last one was %s and is %s", len(all), before, all[MaxValues-1])
	}
}

// TestExactly: where one value ends and the next begins is a part of them.
func TestExactly(t *testing.T) {
	seen := map[string]*Statement{}
	for _, s := range []*Statement{{Shape: "a"}, {Shape: "a", Values: []string{""}}, {Shape: "a", Values: []string{"b", "c"}}, {Shape: "a", Values: []string{"b1 c"}}, {Shape: "a", Values: []string{"b\x00", "c"}}, {Shape: "a", Values: []string{"b", "\x00c"}}} {
		if other := seen[s.Exactly()]; other != nil {
			t.Errorf("%+v and %+v are %q", s, other, s.Exactly())
		}
		seen[s.Exactly()] = s
	}
}

// TestFloats have the digits that tell them apart.
func TestFloats(t *testing.T) {
	for want, v := range map[string]float64{"0": 0, "-0": math.Copysign(0, -1), "0.1": 0.1, "0.0001": 1e-4, "1e-05": 1e-5, "100000000000000": 1e14, "1e+15": 1e15, "0.30000000000000004": math.Nextafter(0.3, 1), "NaN": math.NaN(), "-Infinity": math.Inf(-1), "Infinity": math.Inf(1)} {
		if got := Float(v, 64); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	for want, v := range map[string]float32{"0.1": 0.1, "123456": 123456, "1e+06": 1e6, "1.1754944e-38": 0x1p-126} {
		if got := Float(float64(v), 32); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	if got := Clock(0, 5, 6, 0) + " " + Clock(123, 4, 5, 60); got != "00:05:06 123:04:05.00006" {
		t.Error(got)
	}
}
