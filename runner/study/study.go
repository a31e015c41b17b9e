// Package study reads a study's file: experiments, each a series of runs of one workload, with what
// varies in them, in sizes. It turns each configuration into flags of a run; the file's keys are
// the flags' names.
//
// It must not know what a flag means, nor make a run.
package study

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/spelling"
	"assay/internal/yamlfile"
	"assay/report"
	"assay/report/compare"
)

// DefaultSize is the default size. A study need not define it.
const DefaultSize = "laptop"

// Study is one file, in one size.
type Study struct {
	Path, Title string
	// Question is what the study asks, Description its set-up; Markdown.
	Question, Description string
	// Sizes are all sizes of the file, and DefaultSize.
	Sizes       []string
	Experiments []Experiment
	Overviews   []compare.Overview
	Questions   []Question
}

// Experiment is a series of runs of one workload.
type Experiment struct {
	Name, Workload string
	Prose
	At yamlfile.Position
	// Configurations are all combinations without exclusions. LeftOut are the exclusions with
	// a reason.
	Configurations []Configuration
	LeftOut        []LeftOut
	axes           []axis
}

// LeftOut is a combination that is not run, and why, as a clause. Its flags do not include limits
// and parameters of servers.
type LeftOut struct {
	Configuration
	Why string
}

// Configuration is one combination of values.
type Configuration struct {
	// Values are of the axes, without passwords.
	Values []report.Setting
	Flags  []Flag
}

// Flag is a flag of assay run, given once for each value. While an experiment is read, it may also
// be a limit of its nodes.
type Flag struct {
	Name   string
	Values []string
	At     yamlfile.Position // of the value
}

// Key is a flag that a study may use.
type Key struct {
	Name, Usage string
	// Type is pflag's name of the flag's type, such as "duration".
	Type string
}

// Vocabulary has the flags of each workload that a study may use.
type Vocabulary map[string][]Key

// Keys that are no flags. Limits become options of the cluster.
const (
	keyTitle       = "title"
	keyDescription = "description"
	keyDefaults    = "defaults"
	keySizes       = "sizes"
	keyExperiments = "experiments"
	keyWorkload    = "workload"
	keyMatrix      = "matrix"
	keyExclude     = "exclude"
	keyBecause     = "because"
	flagCluster    = "cluster"
	flagDatabase   = "db"
)

func limits() []string { return []string{"cpu", "memory", "disk", "fs", "bandwidth"} }

// parameterPrefix begins a cluster's options that set parameters of its servers. Each of them is a
// valid key.
const parameterPrefix = "set."

// ofCluster reports whether a key becomes an option of the cluster.
func ofCluster(key string) bool {
	return slices.Contains(limits(), key) || strings.HasPrefix(key, parameterPrefix)
}

func isWord(known []string, key string) bool { return slices.Contains(known, key) || ofCluster(key) }

func (v Vocabulary) words(workload string) []string {
	var all []string
	for _, k := range v[workload] {
		all = append(all, k.Name)
	}
	return append(all, limits()...)
}

// anyWords are the keys of settings that hold for any workload.
func (v Vocabulary) anyWords() []string {
	var all []string
	for workload := range v {
		all = append(all, v.words(workload)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

type reader struct {
	vocabulary Vocabulary
	size       string
	// common are the settings of all experiments: the defaults, then the size's.
	common []Flag
	// shared are the axes of all experiments.
	shared node
	sizes  map[string]bool
}

// Read reads a study in a size. The error is a *yamlfile.Error.
func Read(path string, text []byte, size string, v Vocabulary) (*Study, error) {
	r := &reader{vocabulary: v, size: size, sizes: map[string]bool{DefaultSize: true}}
	root, err := parse(text)
	var s *Study
	if err == nil {
		s, err = r.study(root)
	}
	if err != nil {
		if located, is := errors.AsType[*yamlfile.Error](err); is {
			located.Path = path
		}
		return nil, err
	}
	s.Path = path
	return s, nil
}

type parts struct {
	experiments, sizes, overviews, questions node
	asked                                    yamlfile.Position
}

// fields are the keys of a study. Their schemas refer to $defs.
func (r *reader) fields(s *Study, of *parts) []field {
	settings := func(about string) *jsonschema.Schema {
		return &jsonschema.Schema{Ref: "#/$defs/settings", Description: about}
	}
	mapping := func(of *jsonschema.Schema, about string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Description: about, AdditionalProperties: of}
	}
	experiments := mapping(&jsonschema.Schema{Ref: "#/$defs/experiment"}, "each a series of runs of one workload")
	experiments.PropertyNames = &jsonschema.Schema{Pattern: names().String()}
	return []field{
		textInto(&s.Title, keyTitle, "what the report is called"),
		{keyQuestion, text("what the study wants to know; Markdown"), func(p pair) (err error) {
			of.asked = p.at
			s.Question, err = word(p)
			return err
		}},
		textInto(&s.Description, keyDescription, "what all its experiments share; Markdown"),
		{keyDefaults, settings("flags of all experiments whose workload has them"), func(p pair) (err error) {
			r.common, err = r.settings(p.value, "", r.common)
			return err
		}},
		later(&of.sizes, keySizes, mapping(settings(""), "flags of all experiments in each size, on top of the defaults; "+DefaultSize+" is the size unless another is asked for")),
		later(&r.shared, keyMatrix, mapping(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{mapping(settings(""), ""), {Type: "array", Items: value()}}},
			"what varies in all experiments, each of which may add settings to the alternatives")),
		later(&of.experiments, keyExperiments, experiments),
		later(&of.overviews, keyOverview, &jsonschema.Schema{Type: "array", Description: "tables over several experiments, before these",
			Items: schemaOf(overviewFields(&compare.Overview{}, nil), keyTitle, keyRows, keyColumns)}),
		later(&of.questions, keyQuestions, &jsonschema.Schema{Type: "array", Description: "the parts of the question, each with what its runs are asked; assay writes the answers",
			Items: schemaOf((&Question{}).fields(s), keyAsk)}),
	}
}

func (r *reader) study(root node) (*Study, error) {
	s, of := &Study{}, &parts{}
	if err := root.read("a study", "title, defaults, sizes, experiments", r.fields(s, of)); err != nil {
		return nil, err
	}
	if err := r.commonSizes(of.sizes); err != nil {
		return nil, err
	}
	if of.experiments.at == (yamlfile.Position{}) {
		return nil, problem(root.at, "the study has no experiments")
	}
	if err := wantMapping(of.experiments, "experiments", "a name for each, such as transfers"); err != nil {
		return nil, err
	}
	for _, p := range of.experiments.pairs {
		e, err := r.experiment(p)
		if err != nil {
			return nil, err
		}
		s.Experiments = append(s.Experiments, e)
	}
	if err := of.overviews.each(keyOverview, " of title, rows and columns", s.readOverview); err != nil {
		return nil, err
	}
	if err := of.questions.each(keyQuestions, " of ask, compare and experiment, or ask and found", func(n node) error { return s.readQuestion(n, r.size) }); err != nil {
		return nil, err
	}
	if s.Question != "" && len(of.questions.items) == 0 {
		return nil, problem(of.asked, "nothing answers the question: add %s, each with %s, and %s or %s", keyQuestions, keyAsk, keyCompare, keyFound)
	}
	s.Sizes = slices.Sorted(maps.Keys(r.sizes))
	if !r.sizes[r.size] {
		return nil, problem(yamlfile.Position{}, "there is no size %q; the study has %s%s", r.size, strings.Join(s.Sizes, ", "), spelling.Hint(r.size, "", s.Sizes))
	}
	return s, nil
}

func (r *reader) commonSizes(sizes node) error {
	if sizes.at == (yamlfile.Position{}) {
		return nil
	}
	if err := wantMapping(sizes, keySizes, "a name for each, such as report"); err != nil {
		return err
	}
	for _, size := range sizes.pairs {
		r.sizes[size.key] = true
		read, err := r.settings(size.value, "", r.common)
		if err != nil {
			return err
		}
		if size.key == r.size {
			r.common = read
		}
	}
	return nil
}

func wantMapping(n node, what, want string) error {
	if n.mapping {
		return nil
	}
	return problem(n.at, "%s must be a mapping: %s", what, want)
}

func word(p pair) (string, error) {
	if p.value.mapping || p.value.list {
		return "", problem(p.value.at, "%s must be a text", p.key)
	}
	return p.value.text, nil
}

func unknown(p pair, where string, known []string) error {
	return problem(p.at, "there is no key %q in %s%s", p.key, where, spelling.Hint(p.key, "", known))
}
