package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/expect"
	"assay/internal/yamlfile"
	"assay/report"
)

func words() Vocabulary {
	common := []Key{{"db", "", "stringArray"}, {"cluster", "", "stringArray"}, {"fault", "", "stringArray"}, {"clients", "", "numbers"},
		{"duration", "", "duration"}, {"ops", "", "uint64"}, {"repeat", "", "int"}, {"seed", "", "uint64"}}
	return Vocabulary{
		"bank":   append(slices.Clone(common), Key{"accounts", "", "int64"}, Key{"keys", "", "string"}, Key{"payroll", "", "float64"}),
		"entity": append(slices.Clone(common), Key{"through-service", "", "bool"}),
	}
}

func lines(s *Study) []string {
	var all []string
	for _, e := range s.Experiments {
		for _, c := range e.Configurations {
			text := e.Name + " " + e.Workload
			for _, f := range c.Flags {
				text += fmt.Sprintf(" %s=%s", f.Name, strings.Join(f.Values, ";"))
			}
			all = append(all, text)
		}
	}
	return all
}

const whole = `title: A study
defaults: {accounts: 100, duration: 5s}
sizes:
  laptop: {repeat: 2}
  report: {repeat: 5, accounts: 1000}
experiments:
  transfers:
    workload: bank
    matrix:
      cluster: ["mongodb:3", "postgres:2,memory=1GiB"]
      cpu: [1, 2]
      fault: [none, kill primary at 5s]
    exclude:
      - {cluster: "mongodb:3", cpu: 2}
      - {cpu: 1, fault: [none]}
    sizes:
      report:
        matrix: {cpu: [4]}
        exclude: []
  reads:
    workload: entity
    ops: 30
    matrix:
      system:
        one: {db: "mem://", through-service: true}
        two: {cluster: "mongodb:3", fault: [pause any at 1s, kill n1 at 2s]}
`

func TestConfigurations(t *testing.T) {
	for size, want := range map[string][]string{
		"laptop": {
			"transfers bank accounts=100 duration=5s repeat=2 cluster=mongodb:3,cpu=1 fault=kill primary at 5s",
			"transfers bank accounts=100 duration=5s repeat=2 cluster=postgres:2,memory=1GiB,cpu=1 fault=kill primary at 5s",
			"transfers bank accounts=100 duration=5s repeat=2 cluster=postgres:2,memory=1GiB,cpu=2",
			"transfers bank accounts=100 duration=5s repeat=2 cluster=postgres:2,memory=1GiB,cpu=2 fault=kill primary at 5s",
			"reads entity repeat=2 ops=30 db=mem:// through-service=true",
			"reads entity repeat=2 ops=30 cluster=mongodb:3 fault=pause any at 1s;kill n1 at 2s",
		},
		"report": {
			"transfers bank duration=5s repeat=5 accounts=1000 cluster=mongodb:3,cpu=4",
			"transfers bank duration=5s repeat=5 accounts=1000 cluster=mongodb:3,cpu=4 fault=kill primary at 5s",
			"transfers bank duration=5s repeat=5 accounts=1000 cluster=postgres:2,memory=1GiB,cpu=4",
			"transfers bank duration=5s repeat=5 accounts=1000 cluster=postgres:2,memory=1GiB,cpu=4 fault=kill primary at 5s",
			"reads entity repeat=5 ops=30 db=mem:// through-service=true",
			"reads entity repeat=5 ops=30 cluster=mongodb:3 fault=pause any at 1s;kill n1 at 2s",
		},
	} {
		s, err := Read("s.yaml", []byte(whole), size, words())
		expect.NoError(t, err)
		if got := lines(s); !slices.Equal(got, want) {
			t.Errorf("size %s:\n%s\nwant\n%s", size, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if s.Title != "A study" || !slices.Equal(s.Sizes, []string{"laptop", "report"}) || s.Experiments[0].Configurations[0].Values[2].Value == "" {
			t.Errorf("%+v", s)
		}
	}
}

// TestOptionsOfTheCluster: servers' parameters are keys too, and no values.
func TestOptionsOfTheCluster(t *testing.T) {
	const text = `defaults: {set.a: 0}
experiments:
  settings:
    workload: bank
    cluster: "mongodb:1,election=2s"
    bandwidth: 1Gbit
    set.a: "1, '2"
    matrix:
      fs: [none, xfs]
      set.b.c: [none, 3]
`
	s, err := Read("s.yaml", []byte(text), DefaultSize, words())
	expect.NoError(t, err)
	want := []string{
		"settings bank cluster=mongodb:1,election=2s,bandwidth=1Gbit,set.a='1, ''2',set.b.c=none",
		"settings bank cluster=mongodb:1,election=2s,bandwidth=1Gbit,set.a='1, ''2',set.b.c=3",
		"settings bank cluster=mongodb:1,election=2s,bandwidth=1Gbit,set.a='1, ''2',fs=xfs,set.b.c=none",
		"settings bank cluster=mongodb:1,election=2s,bandwidth=1Gbit,set.a='1, ''2',fs=xfs,set.b.c=3",
	}
	if got := lines(s); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	schema, err := Schema(words()).Resolve(nil)
	expect.NoError(t, err)
	if err := validate(schema, text); err != nil {
		t.Error(err)
	}
}

// TestNone leaves out flags without such a value, and is a value of flags that take a word.
func TestNone(t *testing.T) {
	vocabulary := Vocabulary{"availability": {{Name: "policy", Type: "string"}, {Name: "fault", Type: "stringArray"}, {Name: "rate", Type: "numbers"}, {Name: "cluster", Type: "stringArray"}}}
	s, err := Read("s.yaml", []byte("experiments:\n  x:\n    workload: availability\n    cluster: mongodb:3\n"+
		"    matrix: {policy: [none, retry], fault: [none], rate: [none], memory: [none]}\n"), "laptop", vocabulary)
	expect.NoError(t, err)
	want := []string{"x availability cluster=mongodb:3 policy=none", "x availability cluster=mongodb:3 policy=retry"}
	if got := lines(s); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestManifest: an address accompanies a Kubernetes manifest, in any order, and replaces others.
func TestManifest(t *testing.T) {
	for text, want := range map[string]string{
		"db: a, cluster: \"k8s:db.yaml\"":                          "x bank db=a cluster=k8s:db.yaml",
		"cluster: \"k8s:db.yaml\", db: a":                          "x bank cluster=k8s:db.yaml db=a",
		"db: a, cluster: [\"k8s:a.yaml\", \"k8s:b.yaml\"], ops: 5": "x bank db=a cluster=k8s:a.yaml;k8s:b.yaml ops=5",
		"cluster: \"mongodb:3\", db: a":                            "x bank db=a",
		"db: a, cluster: [\"k8s:a.yaml\", \"mongodb:3\"]":          "x bank cluster=k8s:a.yaml;mongodb:3",
	} {
		s, err := Read("s.yaml", []byte("experiments:\n  x: {workload: bank, "+text+"}\n"), "laptop", words())
		expect.NoError(t, err)
		if got := lines(s); len(got) != 1 || got[0] != want {
			t.Errorf("%s gives %v, want %s", text, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	bank := "experiments:\n  a:\n    workload: bank\n"
	for _, c := range []struct{ text, want string }{
		{"", "s.yaml:1:1: the file is empty"},
		{"- a", "s.yaml:1:1: a study must be a mapping"},
		{"title: x", "s.yaml:1:1: the study has no experiments"},
		{"experimnets: {}", `s.yaml:1:1: there is no key "experimnets" in a study; did you mean experiments?`},
		{"title: [a]\n", "s.yaml:1:8: title must be a text"},
		{"defaults:\n  acounts: 5\n", `s.yaml:2:3: there is no key "acounts" in the settings of any workload; did you mean accounts?`},
		{"sizes:\n  laptop: 5\n", "s.yaml:2:11: settings must be a mapping"},
		{"experiments:\n  a:\n    clients: 5\n", "s.yaml:2:3: experiment a names no workload"},
		{"experiments:\n  a:\n    workload: bnak\n", `s.yaml:3:15: there is no workload "bnak"; one of bank, entity; did you mean bank?`},
		{"experiments:\n  A/b:\n    workload: bank\n", `s.yaml:2:3: the experiment's name "A/b"`},
		{bank + "    clinets: 5\n", `s.yaml:4:5: there is no key "clinets" in an experiment of workload bank; did you mean clients?`},
		{bank + "    through-service: true\n", `s.yaml:4:5: there is no key "through-service"`},
		{bank + "    clients: {a: 1}\n", "s.yaml:4:15: clients must be a value"},
		{bank + "    clients:\n", "s.yaml:4:"},
		{bank + "    clients: 5\n    clients: 6\n", "s.yaml:5:5: "},
		{bank + "    matrix: [1]\n", "s.yaml:4:13: matrix must be a mapping"},
		{bank + "    matrix:\n      clients: 5\n", "s.yaml:5:16: the values of clients must be a list"},
		{bank + "    matrix:\n      clients: []\n", "s.yaml:5:16: clients has no values"},
		{bank + "    matrix:\n      client: [5]\n", `s.yaml:5:7: bank has no flag "client" whose values could be listed; did you mean clients?`},
		{bank + "    matrix:\n      clients: {a: {clients: 1}}\n", "s.yaml:5:17: clients is a flag"},
		{bank + "    matrix:\n      kind: {a: {acounts: 1}}\n", `s.yaml:5:18: there is no key "acounts"`},
		{bank + "    matrix:\n      clients: [1, [2]]\n", "s.yaml:5:20: each value of clients"},
		{bank + "    matrix: {clients: [1]}\n    exclude: {clients: 1}\n", "s.yaml:5:15: exclude must be a list"},
		{bank + "    matrix: {clients: [1]}\n    exclude: [{clents: 1}]\n", `s.yaml:5:16: the matrix has no axis "clents"; it has clients; did you mean clients?`},
		{bank + "    matrix: {keys: [uniform]}\n    exclude: [{keys: unifrom}]\n", `s.yaml:5:22: axis keys has no value "unifrom"; it has uniform; did you mean uniform?`},
		{bank + "    matrix: {clients: [1]}\n    exclude: [{clients: 1}]\n", "s.yaml:2:3: everything of experiment a is excluded"},
		{bank + "    cpu: 1\n", "s.yaml:4:10: cpu is of the nodes of a cluster, and there is no cluster"},
		{bank + "    sizes:\n      report:\n        sizes: {}\n", `s.yaml:6:9: there is no key "sizes"`},
		{bank + "    sizes:\n      report:\n        clinets: 5\n", `s.yaml:6:9: there is no key "clinets"`},
		{"title: &a x\n", "s.yaml:1:8: anchors are not read"},
		{"title: !!str x\n", "s.yaml:1:8: tags are not read"},
		{"title: x\n---\ntitle: y\n", "s.yaml:3:"},
		{"title: [a\n", "s.yaml:1:"},
		{strings.Repeat("[", 100), "s.yaml:1:65: brackets are nested too deep"},
		{strings.Repeat("#", maxBytes+1), "s.yaml: the file is larger"},
		{bank + "    matrix:\n      clients: " + list(200) + "\n      seed: " + list(200) + "\n", "s.yaml:6:7: experiment a has more than 10000 configurations"},
	} {
		_, err := Read("s.yaml", []byte(c.text), DefaultSize, words())
		if !errors.As(err, new(*yamlfile.Error)) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.80q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	_, err := Read("s.yaml", []byte(whole), "reprot", words())
	if err == nil || err.Error() != `s.yaml: there is no size "reprot"; the study has laptop, report; did you mean report?` {
		t.Error(err)
	}
}

func list(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// TestSchema accepts what Read accepts, and refuses unknown keys.
func TestSchema(t *testing.T) {
	schema, err := Schema(words()).Resolve(nil)
	expect.NoError(t, err)
	if err := validate(schema, whole); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		"title: x\n", "experiments: {a: {}}\n", "experiments: {a: {workload: chess}}\n", "experiments: {A: {workload: bank}}\n",
		"experiments: {a: {workload: bank, clinets: 5}}\n", "experiments: {a: {workload: bank, through-service: true}}\n",
		"experiments: {a: {workload: bank, accounts: many}}\n", "experiments: {a: {workload: bank, matrix: {clients: 5}}}\n",
		"experiments: {a: {workload: bank, sizes: {report: {acounts: 5}}}}\n", "experiments: {a: {workload: bank, matrix: {kind: {x: {acounts: 5}}}}}\n",
		"defaults: {acounts: 5}\nexperiments: {a: {workload: bank}}\n",
	} {
		if validate(schema, text) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func validate(schema *jsonschema.Resolved, text string) error {
	converted, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(converted, &value); err != nil {
		return err
	}
	return schema.Validate(value)
}

// FuzzRead: every file gives a study or an error about the file.
func FuzzRead(f *testing.F) {
	for _, text := range []string{whole, "a: b", "experiments:\n  a:\n    workload: bank\n    matrix:\n      clients: [1]\n", "- {[", "a: |\n  b\n", "? a\n: b", "\x00", "a: *b", "<<: {a: b}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read("s.yaml", []byte(text), DefaultSize, words())
		if err != nil {
			if !errors.As(err, new(*yamlfile.Error)) || !strings.HasPrefix(err.Error(), "s.yaml:") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, e := range s.Experiments {
			if len(e.Configurations) == 0 || words()[e.Workload] == nil {
				t.Errorf("%q: %+v", text, e)
			}
		}
	})
}

const published = `title: A study
question: Which is faster?
description: |
  One machine.

  - two disks
experiments:
  transfers:
    title: Transfers by clients
    description: Before.
    discussion: After.
    workload: bank
    columns: [tps, p99]
    sort: tps
    charts: tps by clients
    source: report 3
    reported: [{clients: 1, tps: 4_663, remark: "five nodes"}]
    matrix: {clients: [1, 2]}
    sizes:
      report:
        reported: [{clients: 2, tps: 5}]
questions:
  - ask: Is more more?
    with: a second client
    compare: clients=2 against clients=1 in tps
  - {ask: Is anything lost?, found: transfers}
  - {ask: Only then?, found: transfers, size: report}
`

func TestProse(t *testing.T) {
	s, err := Read("s.yaml", []byte(published), "laptop", words())
	expect.NoError(t, err)
	e := s.Experiments[0]
	if s.Question != "Which is faster?" || !strings.Contains(s.Description, "\n\n- two disks") || e.Title != "Transfers by clients" || e.Description != "Before." || e.Discussion != "After." {
		t.Errorf("%+v", s)
	}
	if !slices.Equal(e.Columns, []string{"tps", "p99"}) || e.Sort != "tps" || len(e.Charts) != 1 || e.Source != "report 3" {
		t.Errorf("%+v", e.Prose)
	}
	if r := e.Reported; len(r) != 1 || !slices.Equal(r[0].Values, []report.Setting{{Name: "clients", Value: "1"}}) || r[0].Figures["tps"] != 4663 || r[0].Remark != "five nodes" {
		t.Errorf("%+v", r)
	}
	if q := s.Questions; len(q) != 2 || q[0].Experiment != "transfers" || q[0].With != "a second client" || q[0].Compare[0].Text != "clients=2 against clients=1 in tps" || q[0].Compare[0].At.Line != 25 || !slices.Equal(q[1].Found, []string{"transfers"}) {
		t.Errorf("%+v", q)
	}
	larger, err := Read("s.yaml", []byte(published), "report", words())
	expect.NoError(t, err)
	if r := larger.Experiments[0].Reported; len(r) != 1 || r[0].Figures["tps"] != 5 {
		t.Errorf("the size's own: %+v", r)
	}
}

func TestProseErrors(t *testing.T) {
	bank := "experiments:\n  a:\n    workload: bank\n    matrix: {clients: [1]}\n"
	for text, want := range map[string]string{
		bank + "    columns: {a: 1}\n":                                      "s.yaml:5:15: columns must be a value",
		bank + "    reported: 5\n":                                          "s.yaml:5:15: reported must be a list",
		bank + "    reported: [{tps: fast}]\n":                              `s.yaml:5:22: tps is no axis of the matrix, and "fast" no number`,
		bank + "questions: yes\n":                                           "s.yaml:5:12: questions must be a list",
		bank + "questions: [{ask: x, experiment: b}]\n":                     `s.yaml:5:34: there is no experiment "b"; the study has a`,
		bank + "questions: [{ask: x, found: [a, b]}]\n":                     `s.yaml:5:29: there is no experiment "b"; the study has a`,
		bank + "questions: [{asks: x}]\n":                                   `s.yaml:5:14: there is no key "asks" in a question; did you mean ask?`,
		bank + "questions: [{ask: Which?}]\n":                               `s.yaml:5:14: the question "Which?" has no pair that would answer it`,
		bank + "questions: [{found: a}]\n":                                  "s.yaml:5:14: the question asks nothing",
		"question: Which?\n" + bank:                                         "s.yaml:1:1: nothing answers the question: add questions",
		bank + "  b: {workload: bank}\nquestions: [{ask: x, compare: y}]\n": "s.yaml:6:31: the question names no experiment; the study has a, b",
	} {
		_, err := Read("s.yaml", []byte(text), "laptop", words())
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
