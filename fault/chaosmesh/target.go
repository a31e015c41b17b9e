package chaosmesh

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/fault"
)

// selection is whom one mode and selector mean.
type selection struct {
	word string // of a target, such as any
	// role is primary or secondary where labels say so and no pods are there to look at.
	role string
	// labels are the selector's, for pods a part of the target.
	labels string
}

// target is the selection as a fault has it.
func (s selection) target(pods bool) string {
	if pods && s.labels != "" {
		return s.word + "[" + s.labels + "]"
	}
	return s.word
}

// selection reads mode, value and selector.
func (d *document) selection(m *mapping) selection {
	s := selection{word: d.mode(m)}
	of := m.sub("selector")
	if !m.has("selector") {
		m.refuse("selector", "write one with labelSelectors", "it is missing")
	}
	of.none("select by labelSelectors", "nodes", "nodeSelectors", "fieldSelectors", "annotationSelectors", "podPhaseSelectors")
	d.namespaces(of)
	labels := d.labels(of)
	s.labels = strings.Join(labels, ",")
	if named := of.sub("pods"); len(named.fields) > 0 {
		d.namedPod(of, named, &s)
	} else if d.pods() && s.labels == "" {
		of.refuse("labelSelectors", "write the labels that the database's pods have", "without labels it selects every pod of the namespace")
	}
	of.done()
	if !d.pods() {
		d.onNodes(m, labels, &s)
	}
	return s
}

// mode is how many of the selected are meant.
func (d *document) mode(m *mapping) string {
	mode, value := m.needed("mode", "write one, all, fixed, fixed-percent or random-max-percent"), m.text("value")
	number := func(most int) string {
		if n, err := strconv.Atoi(value); err != nil || n < 1 || n > most {
			m.refuse("value", fmt.Sprintf("write a whole number from 1 to %d", most), "%q is no number for mode %s", value, mode)
		}
		return value
	}
	switch mode {
	case "one":
		return fault.TargetAny
	case "all":
		return fault.TargetAll
	case "fixed":
		return number(9999)
	case "fixed-percent":
		return number(100) + "%"
	case "random-max-percent":
		return "0.." + number(100) + "%"
	}
	m.refuse("mode", "write one, all, fixed, fixed-percent or random-max-percent", "there is no mode %q", mode)
	return fault.TargetAny
}

// namespaces must be that of the pods that --kubernetes names.
func (d *document) namespaces(of *mapping) {
	all := of.list("namespaces")
	if len(all) == 0 && d.namespace != "" {
		all = []string{d.namespace}
	}
	for _, n := range all {
		if d.pods() && n != d.where.Namespace {
			of.refuse("namespaces", "write "+d.where.Namespace+", or name that namespace with --kubernetes", "the pods of the run are in namespace %s, not in %s", d.where.Namespace, n)
		}
	}
}

// labels are the requirements of a selector, as kubectl -l takes them, in order.
func (d *document) labels(of *mapping) (all []string) {
	plain := of.sub("labelSelectors")
	for _, f := range plain.fields {
		all = append(all, f.key+"="+plain.text(f.key))
	}
	for _, n := range of.items("expressionSelectors") {
		e := d.r.mapping(n, of.name("expressionSelectors"))
		key, operator, values := e.needed("key", ""), e.needed("operator", ""), e.list("values")
		switch {
		case operator == "Exists":
			all = append(all, key)
		case operator == "DoesNotExist":
			all = append(all, "!"+key)
		case operator == "In" && len(values) == 1:
			all = append(all, key+"="+values[0])
		case operator == "NotIn":
			for _, v := range values {
				all = append(all, key+"!="+v)
			}
		default:
			e.refuse("operator", "write In with one value, NotIn, Exists or DoesNotExist", "%s of %d values cannot be a part of a fault's target", operator, len(values))
		}
		e.done()
	}
	slices.Sort(all)
	return all
}

// namedPod reads a selector that names pods.
func (d *document) namedPod(of, named *mapping, s *selection) {
	var all []string
	for _, f := range named.fields {
		if d.pods() && f.key != d.where.Namespace {
			named.refuse(f.key, "name pods of that namespace", "the pods of the run are in namespace %s", d.where.Namespace)
		}
		all = append(all, named.list(f.key)...)
	}
	switch {
	case !d.pods():
		of.refuse("pods", "select by labelSelectors, or write the fault with a node's name, such as --fault 'kill n2'", "nodes that assay starts have other names than pods")
	case len(all) != 1 || s.word != fault.TargetAny && s.word != fault.TargetAll:
		of.refuse("pods", "write a document for each pod, with mode one", "a fault names one pod, and this selector names %d", len(all))
	case s.labels != "":
		of.refuse("pods", "take the labels out: Chaos Mesh does not look at them where pods are named", "it names a pod and labels")
	default:
		s.word = fault.PodPrefix + all[0]
	}
}

// onNodes decides what labels mean where there are no pods to look at: one that says who
// takes writes means that node, any other one is taken to mean every node, and this is said.
func (d *document) onNodes(m *mapping, labels []string, s *selection) {
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		if !strings.Contains(strings.ToLower(key), "role") {
			continue
		}
		switch strings.ToLower(value) {
		case "primary", "master", "leader":
			s.word, s.role = fault.TargetPrimary, fault.TargetPrimary
			d.note("the label " + l + " means the primary")
			return
		case "secondary", "standby", "replica", "slave", "follower":
			s.role = fault.TargetSecondary
			d.note("the label " + l + " means nodes that are not the primary")
			if s.word == fault.TargetAny {
				s.word = fault.TargetSecondary
			} else if s.word != fault.TargetAll {
				m.refuse("mode", "write mode: one", "a number of nodes that are not the primary is no target of a fault")
			}
			return
		}
	}
	if len(labels) > 0 {
		d.note("the labels " + s.labels + " are taken to mean every node")
	}
}

// single is the target of a fault that has one side.
func (d *document) single(m *mapping) string {
	s := d.selection(m)
	if s.role == fault.TargetSecondary && s.word == fault.TargetAll {
		m.refuse("mode", "write mode: one", "all nodes that are not the primary are no target of a fault")
	}
	return s.target(d.pods())
}

// pair is the target of a partition: the selected ones, and those of the field target.
func (d *document) pair(m *mapping) string {
	direction := m.text("direction")
	from := d.selection(m)
	other := m.sub("target")
	if !m.has("target") {
		m.refuse("target", "write a target, or --fault 'isolate "+from.target(d.pods())+"' in place of the file", "a partition without a target cuts off from nothing in particular")
		return ""
	}
	to := d.selection(other)
	other.done()
	for _, s := range [][2]selection{{from, to}, {to, from}} {
		if s[0].role == fault.TargetSecondary && s[0].word == fault.TargetAll && s[1].word != fault.TargetPrimary {
			other.refuse("mode", "write mode: one", "all nodes that are not the primary can be parted from the primary only")
		}
	}
	if from.word == fault.TargetAll && to.word == fault.TargetAll && !d.pods() {
		m.refuse("mode", "write --fault 'partition halves' in place of the file", "which nodes are on which side is not known without pods")
	}
	left, right := from.target(d.pods()), to.target(d.pods())
	switch direction {
	case "both":
		return left + "," + right
	case "", "to":
		return left + ">" + right
	case "from":
		return right + ">" + left
	}
	m.refuse("direction", "write to, from or both", "there is no direction %q", direction)
	return ""
}
