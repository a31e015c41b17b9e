package ycsb

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload"
)

func TestKeysAreAPermutation(t *testing.T) {
	for _, seed := range []uint64{0, 1, math.MaxUint64} {
		k := newKeys(seed)
		seen := map[int64]bool{}
		ascending, before := 0, int64(0)
		for n := range int64(4000) {
			for _, number := range []int64{n, keyMask - n, 1<<40 + n} {
				key := k.keyOf(number)
				if key < 0 || key > keyMask || k.number(key) != number || seen[key] {
					t.Fatalf("seed %d: number %d has key %d, which is of %d", seed, number, key, k.number(key))
				}
				seen[key] = true
				if key > before {
					ascending++
				}
				before = key
			}
		}
		if ascending < 5500 || ascending > 6500 {
			t.Errorf("seed %d: of 12000 keys %d are above the one before: they should be in no order", seed, ascending)
		}
		if k.number(-1) != -1 || k.number(keyMask+1) != -1 {
			t.Error("what is no key has a number")
		}
	}
}

func TestVersions(t *testing.T) {
	for _, client := range []int{0, 1, 9999, loader - 1} {
		for _, seq := range []uint64{0, 1, maxSeq} {
			for _, attempt := range []int{1, 2, maxAttempt} {
				v, ok := versionOf(client, seq, attempt)
				if c, s, a := v.split(); !ok || v < 0 || c != client || s != seq || a != attempt {
					t.Errorf("%d, %d, %d came back as %d, %d, %d", client, seq, attempt, c, s, a)
				}
			}
		}
	}
	for _, wrong := range []struct {
		client  int
		seq     uint64
		attempt int
	}{{-1, 0, 1}, {loader, 0, 1}, {0, maxSeq + 1, 1}, {0, 0, 0}, {0, 0, maxAttempt + 1}} {
		if _, ok := versionOf(wrong.client, wrong.seq, wrong.attempt); ok {
			t.Errorf("%+v has a version", wrong)
		}
	}
}

// TestRecordsAreRecognized: every change of a single character, of the key, and every
// mixture of two versions is noticed.
func TestRecordsAreRecognized(t *testing.T) {
	config := Defaults()
	config.Fields, config.FieldBytes = 3, 40
	c, err := config.core()
	expect.NoError(t, err)
	of := newContents(&c, 7)
	v, _ := versionOf(3, 17, 1)
	w, _ := versionOf(4, 17, 2)
	fields := func(key int64, v version) []string {
		var texts []string
		for _, value := range of.record(nil, key, v, everyField)[1:] {
			texts = append(texts, value.Text)
		}
		return texts
	}
	for _, version := range []version{v, w, loadedVersion(12)} {
		if key, got, err := of.scan(store.Values(of.record(nil, 99, version, everyField)), everyField, nil); key != 99 || got[0] != version || err != nil {
			t.Fatalf("%v is recognized as %v of %d, %v", version, got, key, err)
		}
		texts := fields(99, version)
		if of.recognize(98, texts, 0) != garbled {
			t.Error("the record of another key is taken for this one's")
		}
		if newContents(&c, 8).recognize(99, texts, 0) != garbled {
			t.Error("the record of another seed is taken for this one's")
		}
		for field, text := range texts {
			for i := range text {
				for _, char := range []string{"0", "1", "-", "é"[:1], " "} {
					changed := slices.Clone(texts)
					changed[field] = text[:i] + char + text[i+1:]
					if got := of.recognize(99, changed, 0); (got == version) != (text[i:i+1] == char) {
						t.Fatalf("%v with %q at %d of field %d is recognized as %v", version, char, i, field, got)
					}
				}
			}
		}
	}
	a, b := fields(99, v), fields(99, w)
	for field := range a {
		r := slices.Clone(a)
		if r[field] = b[field]; of.recognize(99, r, 0) != mixed {
			t.Errorf("a field %d of another version is recognized as %v", field, of.recognize(99, r, 0))
		}
	}
	if got := of.recognize(99, []string{"", "", ""}, 0); got != garbled {
		t.Errorf("nothing is recognized as %v", got)
	}
}

func TestMixes(t *testing.T) {
	for text, want := range map[string]string{
		"a": "read 50 %, update 50 %", "B": "read 95 %, update 5 %", "c": "read 100 %", "d": "read 95 %, insert 5 %",
		"e": "insert 5 %, scan 95 %", "f": "read 50 %, rmw 50 %", "rmw=0.25,read=0.5,scan=0.25": "read 50 %, scan 25 %, rmw 25 %",
	} {
		m, distribution, err := mixOf(text)
		if err != nil || m.String() != want || (distribution == Latest) != (text == "d") {
			t.Errorf("%s is %v, %s, %v; want %s", text, m, distribution, err, want)
		}
	}
	for text, want := range map[string]string{
		"g": "possible: a, b, c", "read=0.5,update=0.4": "add up to 0.9 and not to 1", "read=0.5,updaet=0.5": "did you mean update?",
		"read=2,update=-1": "from 0 to 1", "read=0.5,read=0.5": "named twice", "": "possible: a", "read": "possible: a", "read=x": "from 0 to 1", "read=NaN": "from 0 to 1",
	} {
		_, _, err := mixOf(text)
		var refused *store.OptionError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	c := Defaults()
	c.Mix = "e"
	m, _, _ := mixOf(c.Mix)
	counts := map[uint8]int{}
	r := workload.NewRandom(1, 1)
	for range 100_000 {
		counts[m.choose(&r)]++
	}
	if n := counts[KindInsert]; len(counts) != 2 || n < 4600 || n > 5400 {
		t.Errorf("mix e gave %v of 100000", counts)
	}
}

func TestConfigs(t *testing.T) {
	for option, change := range map[string]func(c *Config){
		"--mix": func(c *Config) { c.Mix = "z" }, "--field-bytes": func(c *Config) { c.Fields, c.FieldBytes = 100, 161 },
	} {
		c := Defaults()
		change(&c)
		var refused *store.OptionError
		if err := c.Validate(); !errors.As(err, &refused) || refused.Option != option {
			t.Errorf("%s: %v", option, err)
		}
	}
}
