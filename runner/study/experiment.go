package study

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"assay/internal/spelling"
	"assay/internal/yamlfile"
)

type axis struct {
	name    string
	at      yamlfile.Position
	choices []choice
	// shared axes are of all experiments. An experiment may add settings to them.
	shared bool
}

type choice struct {
	text     string
	settings []Flag
}

// exclusion leaves out combinations by the values of axes. why may be empty.
type exclusion struct {
	values map[string][]string
	why    string
}

// names matches experiments' names, which are folders' names too.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`) })

// settings reads flags and limits on top of others; a later value replaces an earlier one. Without
// a workload, the flags of all workloads are allowed.
func (r *reader) settings(n node, workload string, before []Flag) ([]Flag, error) {
	what, known := "the settings of "+workload, r.vocabulary.words(workload)
	if workload == "" {
		what, known = "the settings of any workload", r.vocabulary.anyWords()
	}
	if err := wantMapping(n, "settings", "flags of assay run, such as clients"); err != nil {
		return nil, err
	}
	var given []Flag
	for _, p := range n.pairs {
		if !isWord(known, p.key) {
			return nil, unknown(p, what, known)
		}
		s, err := settingOf(p)
		if err != nil {
			return nil, err
		}
		given = append(given, s)
	}
	return overlaid(before, given), nil
}

// instead are pairs of flags that exclude each other: the later one stands.
func instead() map[string]string {
	return map[string]string{"ops": "duration", "duration": "ops", "cluster": "db", "db": "cluster"}
}

// without removes what a new setting replaces or excludes. A manifest does not exclude the address
// of its database.
func without(all []Flag, given Flag) []Flag {
	return slices.DeleteFunc(all, func(s Flag) bool {
		return s.Name == given.Name || s.Name == instead()[given.Name] && !s.manifest() && !given.manifest()
	})
}

// manifest reports whether it is a cluster by a Kubernetes manifest.
func (s Flag) manifest() bool {
	return s.Name == flagCluster && !slices.ContainsFunc(s.Values, func(v string) bool { return !strings.HasPrefix(v, "k8s:") })
}

func settingOf(p pair) (Flag, error) {
	s := Flag{Name: p.key, At: p.value.at}
	values := []node{p.value}
	if p.value.list {
		values = p.value.items
	}
	for _, v := range values {
		if v.mapping || v.list {
			return s, problem(v.at, "%s must be a value, or a list of values of a flag that can be given several times", p.key)
		}
		s.Values = append(s.Values, v.text)
	}
	return s, nil
}

type draft struct {
	Experiment
	own      []Flag
	charts   []string
	excludes node
	reported node
	groupAt  yamlfile.Position
}

func (r *reader) experiment(p pair) (Experiment, error) {
	if !names().MatchString(p.key) {
		return Experiment{}, problem(p.at, "the experiment's name %q is the name of its folder too; use small letters, digits and -", p.key)
	}
	if err := wantMapping(p.value, "experiment "+p.key, "workload, matrix, exclude, sizes, and flags of assay run"); err != nil {
		return Experiment{}, err
	}
	d := &draft{Experiment: Experiment{Name: p.key, At: p.at}}
	if err := r.workload(d, p); err != nil {
		return Experiment{}, err
	}
	if r.shared.at != (yamlfile.Position{}) {
		if err := r.matrix(d, r.shared, true); err != nil {
			return Experiment{}, err
		}
	}
	if err := r.fill(d, p.value, false); err != nil {
		return Experiment{}, err
	}
	exclusions, err := d.exclusions()
	if err != nil {
		return Experiment{}, err
	}
	if err := d.groups(); err != nil {
		return Experiment{}, err
	}
	if err := d.reported.each(keyReported, ", such as - {clients: 16, throughput: 4663}", d.readReported); err != nil {
		return Experiment{}, err
	}
	d.Configurations, err = r.combine(d, exclusions)
	if err == nil && len(d.Configurations) == 0 {
		err = problem(d.At, "everything of experiment %s is excluded", d.Name)
	}
	if err != nil {
		return Experiment{}, err
	}
	if err := d.layout(); err != nil {
		return Experiment{}, problem(d.At, "%s", err.Error())
	}
	if d.Title == "" {
		d.Title = strings.ToUpper(d.Name[:1]) + strings.ReplaceAll(d.Name[1:], "-", " ")
	}
	return d.Experiment, nil
}

// workload reads the key that decides which other keys exist.
func (r *reader) workload(d *draft, p pair) error {
	known := slices.Sorted(maps.Keys(r.vocabulary))
	for _, q := range p.value.pairs {
		if q.key != keyWorkload {
			continue
		}
		text, err := word(q)
		if err != nil {
			return err
		}
		if !slices.Contains(known, text) {
			return problem(q.value.at, "there is no workload %q; one of %s%s", text, strings.Join(known, ", "), spelling.Hint(text, "", known))
		}
		d.Workload = text
		return nil
	}
	return problem(p.at, "experiment %s names no workload", p.key)
}

// fill reads the keys of an experiment, or of its part for a size.
func (r *reader) fill(d *draft, n node, ofSize bool) error {
	flags := node{mapping: true, at: n.at}
	var sizes node
	prose := d.prose()
	for _, p := range n.pairs {
		var err error
		switch own := fieldOf(prose, p.key); {
		case p.key == keyMatrix:
			err = r.matrix(d, p.value, false)
		case p.key == keyExclude:
			d.excludes = p.value
		case !ofSize && p.key == keyWorkload:
		case own != nil && (!ofSize || p.key == keyReported): // a size has figures of its own
			err = own.read(p)
		case !ofSize && p.key == keySizes:
			sizes = p.value
		case isWord(r.vocabulary.words(d.Workload), p.key):
			flags.pairs = append(flags.pairs, p)
		default:
			known := append(r.vocabulary.words(d.Workload), keyMatrix, keyExclude)
			if !ofSize {
				known = append(append(known, keyWorkload, keySizes), keysOf(prose)...)
			}
			err = unknown(p, "an experiment of workload "+d.Workload, known)
		}
		if err != nil {
			return err
		}
	}
	var err error
	if d.own, err = r.settings(flags, d.Workload, d.own); err != nil || sizes.at == (yamlfile.Position{}) {
		return err
	}
	if err := wantMapping(sizes, keySizes, "a name for each, such as report"); err != nil {
		return err
	}
	for _, p := range sizes.pairs {
		r.sizes[p.key] = true
		into := d
		if p.key != r.size { // still checked
			into = &draft{Experiment: d.Experiment, own: d.own}
			into.axes = slices.Clone(d.axes)
		}
		if err := wantMapping(p.value, "size "+p.key, "flags of assay run, matrix, exclude"); err != nil {
			return err
		}
		if err := r.fill(into, p.value, true); err != nil {
			return err
		}
	}
	return nil
}
