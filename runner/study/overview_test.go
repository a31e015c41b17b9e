package study

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// shared has a common axis, to which one experiment adds, and tables over them.
const shared = `title: Databases
matrix:
  system:
    memory: {db: "mem://", accounts: 50}
    MongoDB: {cluster: "mongodb:3"}
    SQLite: {}
experiments:
  transfers:
    title: Transfers
    workload: bank
    accounts: 100
    matrix:
      clients: [1, 2]
    exclude:
      - {system: SQLite, clients: 2, because: it is a library}
      - {system: MongoDB, clients: 2}
  faults:
    workload: entity
    fault: kill primary at 1s
    matrix:
      system:
        MongoDB: {fault: kill n1 at 1s}
    exclude: [{system: [memory, SQLite], because: nothing can be killed}]
overview:
  - title: All of them
    rows: system
    columns:
      - {of: transfers}
      - {title: faults, show: outage, of: faults, where: [MongoDB], ratio: SQLite}
`

// TestSharedAxis: experiments have the axes of the study's head, without other workloads' parts,
// and add their own. What is left out for a reason keeps it.
func TestSharedAxis(t *testing.T) {
	s, err := Read("s.yaml", []byte(shared), DefaultSize, words())
	expect.NoError(t, err)
	want := []string{
		"transfers bank db=mem:// accounts=50 clients=1",
		"transfers bank db=mem:// accounts=50 clients=2",
		"transfers bank accounts=100 cluster=mongodb:3 clients=1",
		"transfers bank accounts=100 clients=1",
		"faults entity cluster=mongodb:3 fault=kill n1 at 1s",
	}
	if got := lines(s); !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	left := s.Experiments[0].LeftOut
	if len(left) != 1 || left[0].Why != "not run: it is a library" || !slices.Equal(left[0].Values, []report.Setting{{Name: "system", Value: "SQLite"}, {Name: "clients", Value: "2"}}) {
		t.Errorf("%+v", left)
	}
	if left := s.Experiments[1].LeftOut; len(left) != 2 {
		t.Errorf("%+v", left)
	}
	if o := s.Overviews; len(o) != 1 || o[0].Title != "All of them" || !slices.Equal(o[0].Values, []string{"memory", "MongoDB", "SQLite"}) || len(o[0].Columns) != 2 ||
		o[0].Columns[0].Of != "transfers" || o[0].Columns[1].Ratio != "SQLite" || !slices.Equal(o[0].Columns[1].Where, []string{"MongoDB"}) {
		t.Errorf("%+v", o)
	}
	schema, err := Schema(words()).Resolve(nil)
	expect.NoError(t, err)
	if err := validate(schema, shared); err != nil {
		t.Error(err)
	}
}

func TestOverviewErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"        MongoDB: {fault", "        MongDB: {fault", `s.yaml:22:9: axis system of all experiments has no alternative "MongDB"; it has memory, MongoDB, SQLite; did you mean MongoDB?`},
		{"accounts: 50", "acounts: 50", `s.yaml:4:28: there is no key "acounts" in the settings of any workload; did you mean accounts?`},
		{"rows: system", "rows: clients", "s.yaml:29:"},
		{"of: faults,", "of: fault,", "s.yaml:29:"},
		{"ratio: SQLite", "ratio: SQLIte", "s.yaml:29:"},
		{"    rows: system\n", "", "s.yaml:25:"},
		{"show: outage", "shwo: outage", "s.yaml:29:"},
		{"because: it is a library", "because: [1]", "s.yaml:15:"},
	} {
		text := strings.Replace(shared, c.from, c.to, 1)
		if text == shared {
			t.Fatalf("%q is not in the study", c.from)
		}
		if _, err := Read("s.yaml", []byte(text), DefaultSize, words()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
	if _, err := Read("s.yaml", []byte(strings.Replace(shared, "  - title: All", "    title: All", 1)), DefaultSize, words()); err == nil {
		t.Error("an overview that is no list is taken")
	}
}
