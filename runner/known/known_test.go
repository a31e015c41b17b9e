package known

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
)

const row = `name: a-bug
product: A
bug: it loses rows
found-by: somebody
told: https://example.org/bug
promised: that it loses none
differs: version
broken: "1.0"
mended: "1.1"
run: [bank, --cluster, "a:1,version={}", --fault, power-cut n1 at 1s]
finds:
  check: transfers
  verdict: violated
  word: lost
bound: 3
`

// TestRowsOfTheProgram: enough bugs of enough products were found, and each search is of a row and
// recorded once.
func TestRowsOfTheProgram(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	hunts, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	if got := CountFound(rows, hunts); got.Bugs < 15 || got.Products < 6 || got.Faults < 4 || got.Disks < 3 {
		t.Errorf("found: %+v; want 15 bugs of 6 products, 4 under faults and 3 by power cuts or disks", got)
	}
	type search struct {
		name, value string
		date        time.Time
	}
	recorded := map[search]bool{}
	for _, h := range hunts {
		s := search{h.Name, h.Value, h.Date}
		if recorded[s] {
			t.Errorf("the search for %s in %s of %v is recorded twice", h.Name, h.Value, h.Date)
		}
		recorded[s] = true
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Name == h.Name && (h.Value == r.Broken || h.Value == r.Mended) }) {
			t.Errorf("a search for %s in %s is recorded, and there is no such row", h.Name, h.Value)
		}
	}
}

// TestThePageIsMade: docs/record.md is the output of assay known --page.
func TestThePageIsMade(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	hunts, err := Recorded()
	if err != nil {
		t.Fatal(err)
	}
	without, err := BugsWithoutRow()
	if err != nil || len(without) == 0 {
		t.Fatalf("%d bugs without a row, %v", len(without), err)
	}
	for _, a := range without {
		if a.Product == "" || a.Bug == "" || a.Reason == "" {
			t.Errorf("%+v lacks something", a)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "record.md"))
	if err != nil || string(text) != Page(rows, hunts, without) {
		t.Errorf("docs/record.md is another one; make it by assay known --page > docs/record.md (%v)", err)
	}
}

func TestMistakesInAFile(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a key that there is not", "bound: 3", "bounds: 3", `bug.yaml:15:1: there is no key "bounds"; did you mean bound?`},
		{"no number", "bound: 3", "bound: many", "bug.yaml:15:8: a whole number is wanted here"},
		{"a key that is missing", "told: https://example.org/bug\n", "", "bug.yaml:1:1: told: it is missing"},
		{"a bound of nothing", "bound: 3", "bound: 5000", "bug.yaml:15:8: bound: it is from 1 to 1000"},
		{"another verdict", "verdict: violated", "verdict: valid", "bug.yaml:13:12: finds.verdict: it is violated or allowed"},
		{"no check", "  check: transfers\n", "", "bug.yaml:1:1: finds.check: it is missing"},
		{"nothing differs", ",version={}", "", "bug.yaml:10:6: run: {} stands in it for what differs between the broken and the mended one"},
		{"two mends", "bound: 3", "bound: 3\nmend: a patch", "bug.yaml:16:7: mend: it stands where mended does not"},
		{"a file that nothing names", "bound: 3", "bound: 3\nfiles: {a.star: x}", "bug.yaml:10:6: run: the file a.star does not stand in it"},
		{"no YAML", "finds:\n", "finds: [\n", "bug.yaml:15:1: ',' or ']' must be specified"},
	} {
		_, err := Parse("bug.yaml", []byte(strings.Replace(row, c.old, c.new, 1)))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: the error is %v, want %s", c.name, err, c.want)
		}
	}
}

func TestWhatConvicts(t *testing.T) {
	r, err := Parse("bug.yaml", []byte(row))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Command(r.Broken, ""), " "); got != "run bank --cluster a:1,version=1.0 --fault power-cut n1 at 1s" {
		t.Errorf("the command is %s", got)
	}
	files := r
	files.Run, files.Files = []string{"script", "a.sql@3", "{}"}, map[string]string{"a.sql": "SELECT 1"}
	if got := strings.Join(files.Command(r.Broken, "folder"), " "); got != "run script folder/a.sql@3 1.0" {
		t.Errorf("the command is %s", got)
	}
	if any, disk := r.Faults(); !any || !disk {
		t.Errorf("faults %v, disk %v", any, disk)
	}
	lost := []check.Finding{{Kind: "lost", Found: 1}}
	weak := r
	weak.Finds.Verdict = check.Allowed.String()
	if got, _ := weak.Of([]check.Result{{Name: "transfers", Verdict: check.Violated, Findings: lost}}); !got {
		t.Error("what breaks a promise is not found where it was to be allowed")
	}
	for _, c := range []struct {
		name  string
		check check.Result
		want  bool
	}{
		{"the finding", check.Result{Name: "transfers", Verdict: check.Violated, Findings: lost}, true},
		{"another finding", check.Result{Name: "transfers", Verdict: check.Violated, Detail: "1 doubled"}, false},
		{"another check", check.Result{Name: "total", Verdict: check.Violated, Findings: lost}, false},
		{"what is allowed", check.Result{Name: "transfers", Verdict: check.Allowed, Findings: lost}, false},
	} {
		if got, _ := r.Of([]check.Result{c.check}); got != c.want {
			t.Errorf("%s: found %v", c.name, got)
		}
		if got := r.Answered([]check.Result{c.check}); got != (c.name != "another check") {
			t.Errorf("%s: answered %v", c.name, got)
		}
	}
	if r.Answered([]check.Result{{Name: "transfers"}}) {
		t.Error("a check without a verdict has answered")
	}
}

// TestMedianOfTwoSearches lies in the middle of them.
func TestMedianOfTwoSearches(t *testing.T) {
	hunts := []Hunt{{Name: "a-bug", Value: "1.0", Found: true, Runs: 4, Seconds: 225}, {Name: "a-bug", Value: "1.0", Found: true, Runs: 1, Seconds: 64}}
	if got, want := Summarize(hunts, "a-bug", "1.0").Until(), "2.5 runs (1 to 4), 144 s (64 to 225), in 2 of 2 searches"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	two := []Row{{Name: "a-bug", Broken: "1.0", Mend: "rarer since 2.0", Finds: Finds{Verdict: "violated"}, Run: []string{"bank", "--fault", "power-cut n1 at 1s"}}, {Name: "other", Broken: "1.0", Run: []string{"bank", "--fault", "kill n1 at 1s"}}}
	if page := Page(two, append(hunts, Hunt{Name: "other", Value: "1.0", Found: true}), []WithoutRow{{Product: "B", Bug: "it forgets", Reason: "not tried"}}); !strings.Contains(page, "2 were found under faults, 1 of these by power cuts") ||
		!strings.Contains(page, "| rarer since 2.0 |") || !strings.HasSuffix(page, "| B | it forgets | not tried |\n") {
		t.Error(page)
	}
}

func TestFiguresOfSearches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record.jsonl")
	for _, h := range []Hunt{
		{Name: "a-bug", Value: "1.0", Found: true, Runs: 1, Seconds: 10, History: "a long one"},
		{Name: "a-bug", Value: "1.0", Found: true, Runs: 3, Seconds: 31, History: "short"},
		{Name: "a-bug", Value: "1.0", Found: true, Runs: 2, Seconds: 20, History: "another one"},
		{Name: "a-bug", Value: "1.0", Runs: 3, Seconds: 30},
		{Name: "a-bug", Value: "1.1", Runs: 9, Seconds: 90},
		{Name: "another", Value: "1.0", Found: true, Runs: 70, Seconds: 700},
	} {
		if err := Append(path, h); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	hunts, err := readHunts(file)
	if err != nil {
		t.Fatal(err)
	}
	broken, mended := Summarize(hunts, "a-bug", "1.0"), Summarize(hunts, "a-bug", "1.1")
	if got, want := broken.Until(), "2 runs (1 to 3), 20 s (10 to 31), in 3 of 4 searches"; got != want {
		t.Errorf("broken: %s, want %s", got, want)
	}
	if broken.History != "short" {
		t.Errorf("the history is %q", broken.History)
	}
	if got, want := mended.Until(), "not found in 9 runs"; got != want {
		t.Errorf("mended: %s, want %s", got, want)
	}
	if got := Summarize(hunts, "a-bug", "2").Until(); got != "not tried" {
		t.Errorf("another version: %s", got)
	}
}
