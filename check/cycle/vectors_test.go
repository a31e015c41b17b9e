package cycle_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	. "assay/check/cycle"
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []vector
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func readHistory(t testing.TB, name string) *History {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := ReadJepsen(f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestVectors(t *testing.T) {
	for _, v := range readVectors(t) {
		model, err := ParseModel(v.Model)
		if err != nil {
			t.Fatal(err)
		}
		r := Check(context.Background(), readHistory(t, v.File), model, Options{})
		var not []string
		for _, m := range r.Not {
			not = append(not, string(m))
		}
		if (r.Verdict == check.Valid) != v.Valid || !slices.Equal(not, v.Not) {
			t.Errorf("%s %s: %v not %v, want valid=%v not %v", v.File, v.Model, r.Verdict, not, v.Valid, v.Not)
		}
		if a, b := strings.Join(r.Anomalies, " "), strings.Join(v.Anomalies, " "); a != b {
			t.Logf("%s %s:\n ours %s\n elle %s", v.File, v.Model, a, b)
		}
		_ = r
	}
}
