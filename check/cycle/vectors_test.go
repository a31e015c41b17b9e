package cycle

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/history/exchange"
	"assay/internal/expect"
)

type vector struct {
	File      string   `json:"file"`
	Model     string   `json:"model"`
	Valid     bool     `json:"valid"`
	Anomalies []string `json:"anomalies"`
	Not       []string `json:"not"`
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "verdicts.jsonl"))
	expect.NoError(t, err)
	defer f.Close()
	var all []vector
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v vector
		expect.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		all = append(all, v)
	}
	expect.NoError(t, lines.Err())
	return all
}

func readHistory(t testing.TB, name string) *History {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	expect.NoError(t, err)
	defer f.Close()
	h, err := readAll(f)
	expect.NoError(t, err)
	return h
}

func readAll(from io.Reader) (*History, error) {
	in, err := exchange.NewReader(from)
	if err != nil {
		return nil, err
	}
	var r Reader
	for {
		op, err := in.Next()
		if errors.Is(err, io.EOF) {
			return r.History(), nil
		}
		if err == nil {
			err = r.Add(op)
		}
		if err != nil {
			return nil, err
		}
	}
}

// The verdicts and the weakest models ruled out agree with an independent checker (Elle).
//
// The names of the anomalies may differ in two ways. In a component, Elle looks for cycles of a
// kind until it has the first candidate. If an rw edge of it is also a ww or wr edge, Elle gives
// the kind up and continues with milder ones. Its search may also time out. So each of Elle's names
// must follow from one of ours, and each of ours must be there or imply one of Elle's.
func TestVectors(t *testing.T) {
	same := 0
	vectors := readVectors(t)
	for _, v := range vectors {
		r := Check(context.Background(), readHistory(t, v.File), Model(v.Model), Options{})
		var not []string
		for _, m := range r.Not {
			not = append(not, string(m))
		}
		want := check.Violated
		if v.Valid {
			want = check.Valid
		}
		if r.Verdict != want || !slices.Equal(not, v.Not) {
			t.Errorf("%s, %s: %v, not %v; want %v, not %v", v.File, v.Model, r.Verdict, not, want, v.Not)
		}
		theirs := slices.DeleteFunc(v.Anomalies, func(s string) bool { return s == "cycle-search-timeout" })
		if slices.Equal(r.Anomalies, theirs) {
			same++
		}
		for _, name := range theirs {
			if !named(t, r.Anomalies...).implied().has(oneNamed(t, name)) {
				t.Errorf("%s, %s: %s does not follow from %v", v.File, v.Model, name, r.Anomalies)
			}
		}
		for _, name := range r.Anomalies {
			if !slices.Contains(theirs, name) && set(oneNamed(t, name)).implied()&named(t, theirs...) == 0 {
				t.Errorf("%s, %s: none of %v follows from our %s", v.File, v.Model, theirs, name)
			}
		}
	}
	if len(vectors) != 64 || same < 46 {
		t.Errorf("the names are the same in %d of %d, want 46 of 64", same, len(vectors))
	}
	t.Logf("the names are the same in %d of %d", same, len(vectors))
}

func oneNamed(t *testing.T, name string) anomaly {
	t.Helper()
	for a := range anomalies {
		if a.String() == name {
			return a
		}
	}
	t.Fatalf("no anomaly is called %s", name)
	return 0
}

func named(t *testing.T, names ...string) anomalySet {
	t.Helper()
	var s anomalySet
	for _, name := range names {
		s |= set(oneNamed(t, name))
	}
	return s
}
