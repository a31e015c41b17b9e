// Package study reads the file of a study: experiments, each a series of runs of one
// workload, with what varies in them, in sizes. It turns each configuration into the
// flags of the run, whose names are the file's keys.
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
)

// DefaultSize is the size of a study unless another one is asked for. A study need
// not define it.
const DefaultSize = "laptop"

// Study is one file, in one size.
type Study struct {
	// Path is the file's, as it was given.
	Path, Title string
	// Question is what it wants to know, Description its set-up; Markdown.
	Question, Description string
	// Sizes are the names of all sizes that the file has, and DefaultSize.
	Sizes       []string
	Experiments []Experiment
	// Overviews are tables over several experiments.
	Overviews []Overview
	Questions []Question
}

// Experiment is a series of runs of one workload.
type Experiment struct {
	Name, Workload string
	Prose
	// At is where the name stands.
	At Position
	// Configurations are what varies, without what is excluded. LeftOut is what is excluded of
	// it for a reason.
	Configurations []Configuration
	LeftOut        []LeftOut
	axes           []axis
}

// LeftOut is a combination that is not run, and why, as a clause. Its flags are those of the file,
// limits of nodes and parameters of servers apart.
type LeftOut struct {
	Configuration
	Why string
}

// Configuration is one combination of values.
type Configuration struct {
	// Values are its values of the axes.
	Values []Value
	// Flags are the flags of the run, in the order of the file.
	Flags []Flag
}

// Value is the value of an axis.
type Value struct{ Axis, Text string }

// Flag is a flag of assay run, given once for each of its values; before an experiment is
// put together also a limit of its nodes.
type Flag struct {
	Name   string
	Values []string
	At     Position // of the value
}

// Key is a flag that a study may use.
type Key struct {
	Name, Usage string
	// Type is what pflag calls the flag's type, such as "duration".
	Type string
}

// Vocabulary has the flags of each workload that a study may use.
type Vocabulary map[string][]Key

// The keys that are no flags. Those of limits become options of the cluster.
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
)

// limits are options of a cluster that a study has keys for.
func limits() []string { return []string{"cpu", "memory", "disk", "fs", "bandwidth"} }

// parameterPrefix begins the options of a cluster that set its servers' own parameters, which
// have keys too, whatever they are called.
const parameterPrefix = "set."

// ofCluster reports whether a key becomes an option of the cluster.
func ofCluster(key string) bool {
	return slices.Contains(limits(), key) || strings.HasPrefix(key, parameterPrefix)
}

// isWord reports whether a key is one of the known words, or a parameter of servers.
func isWord(known []string, key string) bool { return slices.Contains(known, key) || ofCluster(key) }

// words are all keys of an experiment's settings for a workload.
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

// reader reads one file.
type reader struct {
	vocabulary Vocabulary
	size       string
	// common are the settings for all experiments: the defaults, and behind them the
	// settings of the size.
	common []Flag
	// shared are the axes of all experiments, as the file has them.
	shared node
	sizes  map[string]bool
}

// Read reads a study in a size. The error is an *Error.
func Read(path string, text []byte, size string, v Vocabulary) (*Study, error) {
	r := &reader{vocabulary: v, size: size, sizes: map[string]bool{DefaultSize: true}}
	root, err := parse(text)
	var s *Study
	if err == nil {
		s, err = r.study(root)
	}
	if err != nil {
		if located, is := errors.AsType[*Error](err); is {
			located.Path = path
		}
		return nil, err
	}
	s.Path = path
	return s, nil
}

// parts are the parts of a study that are read once the others are.
type parts struct {
	experiments, sizes, overviews, questions node
	asked                                    Position
}

// fields are the keys of a study; $defs of the schema has what the references mean.
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
			Items: schemaOf((&Overview{}).fields(nil), keyTitle, keyRows, keyColumns)}),
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
	if of.experiments.at == (Position{}) {
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
		return nil, problem(Position{}, "there is no size %q; the study has %s%s", r.size, strings.Join(s.Sizes, ", "), spelling.Hint(r.size, "", s.Sizes))
	}
	return s, nil
}

// commonSizes reads the sizes that hold for all experiments, if there are any.
func (r *reader) commonSizes(sizes node) error {
	if sizes.at == (Position{}) {
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

// unknown is the error for a key that there is not.
func unknown(p pair, where string, known []string) error {
	return problem(p.at, "there is no key %q in %s%s", p.key, where, spelling.Hint(p.key, "", known))
}
