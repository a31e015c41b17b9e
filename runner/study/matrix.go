package study

import (
	"slices"
	"strings"

	"assay/internal/spelling"
	"assay/report"
)

const maxConfigurations = 10_000

// matrix reads the axes: flags with lists of values, and names with alternatives of several flags.
// An axis replaces an earlier one of its name, but adds to the alternatives of a shared axis.
func (r *reader) matrix(d *draft, n node, shared bool) error {
	if err := wantMapping(n, keyMatrix, "what varies, such as clients: [16, 64]"); err != nil {
		return err
	}
	for _, p := range n.pairs {
		a, err := r.axis(d, p, shared)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(d.axes, func(b axis) bool { return b.name == a.name })
		switch {
		case at < 0:
			d.axes = append(d.axes, a)
		case d.axes[at].shared && p.value.mapping:
			if d.axes[at], err = d.axes[at].with(a, p); err != nil {
				return err
			}
		default:
			d.axes[at] = a
		}
	}
	return nil
}

// with adds an experiment's settings to some alternatives of a shared axis.
func (a axis) with(more axis, from pair) (axis, error) {
	a.choices = slices.Clone(a.choices)
	for i, c := range more.choices {
		at := slices.IndexFunc(a.choices, func(b choice) bool { return b.text == c.text })
		if at < 0 {
			return a, problem(from.value.pairs[i].at, "axis %s of all experiments has no alternative %q; it has %s%s", a.name, c.text,
				strings.Join(a.values(), ", "), spelling.Hint(c.text, "", a.values()))
		}
		a.choices[at].settings = overlaid(a.choices[at].settings, c.settings)
	}
	return a, nil
}

func (a axis) values() (all []string) {
	for _, c := range a.choices {
		all = append(all, c.text)
	}
	return all
}

// axis reads one axis. From a shared axis it drops the flags of other workloads.
func (r *reader) axis(d *draft, p pair, shared bool) (axis, error) {
	a, known := axis{name: p.key, at: p.at, shared: shared}, r.vocabulary.words(d.Workload)
	workload := d.Workload
	if shared {
		workload = ""
	}
	switch {
	case p.value.mapping:
		if isWord(known, p.key) {
			return a, problem(p.value.at, "%s is a flag, whose values are a list; alternatives that set several flags have a name of their own", p.key)
		}
		for _, alternative := range p.value.pairs {
			settings, err := r.settings(alternative.value, workload, nil)
			if err != nil {
				return a, err
			}
			settings = slices.DeleteFunc(settings, func(s Flag) bool { return !isWord(known, s.Name) })
			a.choices = append(a.choices, choice{alternative.key, settings})
		}
	case !isWord(known, p.key):
		return a, problem(p.at, "%s has no flag %q whose values could be listed%s; alternatives of another name are a mapping of mappings", d.Workload, p.key, spelling.Hint(p.key, "", known))
	default:
		items := p.value.items
		if !p.value.list {
			return a, problem(p.value.at, "the values of %s must be a list, such as [1, 2]", p.key)
		}
		for _, item := range items {
			if item.mapping || item.list {
				return a, problem(item.at, "each value of %s must be one word or text", p.key)
			}
			s := Flag{Name: p.key, Values: []string{item.text}, At: item.at}
			if item.text == none && r.vocabulary.leavesOut(d.Workload, p.key) {
				s.Values = nil
			}
			a.choices = append(a.choices, choice{shown(p.key, item.text), []Flag{s}})
		}
	}
	if len(a.choices) == 0 {
		return a, problem(p.value.at, "%s has no values", p.key)
	}
	return a, nil
}

// none is the value that leaves a flag out, if it is no value of the flag itself.
const none = "none"

// leavesOut reports whether none leaves a key out: a repeatable flag, a number or a limit. For a
// flag that takes a word, and a server's parameter, none may be a value of its own.
func (v Vocabulary) leavesOut(workload, key string) bool {
	return !strings.HasPrefix(key, parameterPrefix) && !slices.ContainsFunc(v[workload], func(k Key) bool { return k.Name == key && k.Type == "string" })
}

// exclusions reads a list of mappings from axes to one value or several.
func (d *draft) exclusions() (all []exclusion, err error) {
	err = d.excludes.each(keyExclude, ", such as - {clients: 512}", func(item node) error {
		if err := wantMapping(item, "an exclusion", "axes of the matrix with the values that are left out together"); err != nil {
			return err
		}
		x := exclusion{values: map[string][]string{}}
		for _, p := range item.pairs {
			var err error
			if p.key == keyBecause {
				x.why, err = word(p)
			} else {
				x.values[p.key], err = d.excluded(p)
			}
			if err != nil {
				return err
			}
		}
		all = append(all, x)
		return nil
	})
	return all, err
}

func (d *draft) excluded(p pair) ([]string, error) {
	var axes []string
	for _, a := range d.axes {
		axes = append(axes, a.name)
	}
	at := slices.Index(axes, p.key)
	if at < 0 {
		return nil, problem(p.at, "the matrix has no axis %q; it has %s%s", p.key, strings.Join(axes, ", "), spelling.Hint(p.key, "", axes))
	}
	s, err := settingOf(p)
	if err != nil {
		return nil, err
	}
	had := d.axes[at].values()
	for i := range s.Values {
		v := shown(p.key, s.Values[i])
		if s.Values[i] = v; !slices.Contains(had, v) {
			return nil, problem(s.At, "axis %s has no value %q; it has %s%s", p.key, v, strings.Join(had, ", "), spelling.Hint(v, "", had))
		}
	}
	return s.Values, nil
}

func (x exclusion) holds(values []report.Setting) bool {
	for name, excluded := range x.values {
		if !slices.ContainsFunc(values, func(v report.Setting) bool { return v.Name == name && slices.Contains(excluded, v.Value) }) {
			return false
		}
	}
	return len(x.values) > 0
}

// combine makes all combinations of the axes, the last one varying fastest, without exclusions. It
// enters exclusions that have a reason as left out.
func (r *reader) combine(d *draft, exclusions []exclusion) ([]Configuration, error) {
	known := r.vocabulary.words(d.Workload)
	base := slices.DeleteFunc(slices.Clone(r.common), func(s Flag) bool { return !isWord(known, s.Name) })
	all := []Configuration{{Flags: overlaid(base, d.own)}}
	for _, a := range d.axes {
		var more []Configuration
		if len(all)*len(a.choices) > maxConfigurations {
			return nil, problem(a.at, "experiment %s has more than %d configurations", d.Name, maxConfigurations)
		}
		for _, c := range all {
			for _, choice := range a.choices {
				more = append(more, Configuration{append(slices.Clone(c.Values), report.Setting{Name: a.name, Value: choice.text}), overlaid(c.Flags, choice.settings)})
			}
		}
		all = more
	}
	all = slices.DeleteFunc(all, func(c Configuration) bool {
		at := slices.IndexFunc(exclusions, func(x exclusion) bool { return x.holds(c.Values) })
		if at >= 0 && exclusions[at].why != "" {
			d.LeftOut = append(d.LeftOut, LeftOut{c, "not run: " + exclusions[at].why})
		}
		return at >= 0
	})
	for i := range all {
		var err error
		if all[i].Flags, err = flagsOf(all[i].Flags); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func overlaid(base, more []Flag) []Flag {
	all := slices.Clone(base)
	for _, s := range more {
		all = append(without(all, s), s)
	}
	return all
}

// flagsOf turns settings into flags: limits of nodes and parameters of servers become options of
// the cluster, where a value with a comma needs single quotes.
func flagsOf(settings []Flag) ([]Flag, error) {
	var flags []Flag
	var options string
	var at *Flag
	for i, s := range settings {
		switch {
		case len(s.Values) == 0:
		case ofCluster(s.Name):
			value := strings.Join(s.Values, ",")
			if strings.Contains(value, ",") || strings.HasPrefix(value, "'") {
				value = "'" + strings.ReplaceAll(value, "'", "''") + "'"
			}
			options += "," + s.Name + "=" + value
			at = &settings[i]
		default:
			flags = append(flags, s)
		}
	}
	if options == "" {
		return flags, nil
	}
	cluster := slices.IndexFunc(flags, func(f Flag) bool { return f.Name == flagCluster })
	if cluster < 0 {
		return nil, problem(at.At, "%s is of the nodes of a cluster, and there is no %s", at.Name, flagCluster)
	}
	flags[cluster].Values = []string{strings.Join(flags[cluster].Values, ",") + options}
	return flags, nil
}
