package chaosmesh

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"assay/fault"
)

// selection is what one mode and selector mean.
type selection struct {
	word string // of a target, such as any
	// role is primary or secondary if labels say so and there are no pods.
	role string
	// labels are the selector's. For pods they are part of the target.
	labels string
}

func (s selection) target(pods bool) string {
	if pods && s.labels != "" {
		return s.word + "[" + s.labels + "]"
	}
	return s.word
}

func (d *document) selection(m *mapping) selection {
	s := selection{word: d.mode(m)}
	of := m.sub("selector")
	if !m.has("selector") {
		m.refuse("selector", "write one with labelSelectors", "it is missing")
	}
	of.none("select by labelSelectors", "nodes", "nodeSelectors", "fieldSelectors", "annotationSelectors", "podPhaseSelectors")
	d.namespaces(of)
	labels := d.labels(of)
	if d.pods() {
		s.labels = selector(labels)
	}
	if named := of.sub("pods"); len(named.fields) > 0 {
		d.namedPod(of, named, &s)
	} else if d.pods() && len(labels) == 0 {
		of.refuse("labelSelectors", "write the labels that the database's pods have", "without labels it selects every pod of the namespace")
	}
	of.done()
	if !d.pods() {
		d.onNodes(m, of, labels, &s)
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

// namespaces must be the namespace of --kubernetes.
func (d *document) namespaces(of *mapping) {
	all := of.list("namespaces")
	switch {
	case len(all) > 0 && !d.pods():
		d.note("the namespace " + strings.Join(all, ", ") + " is taken to mean the run's nodes")
	case len(all) == 0 && d.namespace != "":
		all = []string{d.namespace}
	}
	for _, n := range all {
		if d.pods() && n != d.where.Namespace {
			of.refuse("namespaces", "write "+d.where.Namespace+", or name that namespace with --kubernetes", "the pods of the run are in namespace %s, not in %s", d.where.Namespace, n)
		}
	}
}

// requirement is a selector's condition on one label: a Kubernetes operator with its values.
type requirement struct {
	key, operator string
	values        []string
}

// The operators of Kubernetes' LabelSelectorRequirement.
const (
	in           = "In"
	notIn        = "NotIn"
	exists       = "Exists"
	doesNotExist = "DoesNotExist"
)

// String is the requirement for kubectl -l.
func (r requirement) String() string {
	switch r.operator {
	case in:
		return r.key + "=" + r.values[0]
	case exists:
		return r.key
	case doesNotExist:
		return "!" + r.key
	}
	return r.key + "!=" + strings.Join(r.values, ","+r.key+"!=")
}

func selector(all []requirement) string {
	texts := make([]string, len(all))
	for i, r := range all {
		texts[i] = r.String()
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

func (d *document) labels(of *mapping) (all []requirement) {
	plain := of.sub("labelSelectors")
	for _, f := range plain.fields {
		all = append(all, requirement{f.key, in, []string{plain.text(f.key)}})
	}
	for _, n := range of.items("expressionSelectors") {
		e := d.r.mapping(n, of.name("expressionSelectors"))
		r := requirement{e.needed("key", ""), e.needed("operator", ""), e.list("values")}
		switch n := len(r.values); {
		case r.operator == in && n == 1, r.operator == notIn && n > 0, (r.operator == exists || r.operator == doesNotExist) && n == 0:
			all = append(all, r)
		default:
			e.refuse("operator", "write In with one value, NotIn with values, Exists or DoesNotExist", "%s of %d values cannot be a part of a fault's target", r.operator, n)
		}
		e.done()
	}
	return all
}

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

// ofEveryPod reports labels that all pods of a database have, so that they select every node:
// Kubernetes' recommended labels and those of operators and charts.
func ofEveryPod(key string) bool {
	return slices.Contains([]string{
		"app", "k8s-app", "application", "release", "chart", "heritage", "cluster", "cluster-name", "helm.sh/chart", "cnpg.io/cluster",
		"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/part-of", "app.kubernetes.io/managed-by",
	}, key)
}

// ofSomePods reports a name that tells pods of a database apart, such as redis-replica: its charts give
// each role a name of its own, or these pods are beside the servers.
func ofSomePods(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{
			"primary", "master", "leader", "secondary", "standby", "replica", "replicas", "slave", "follower", "witness", "arbiter", "hidden",
			"sentinel", "pooler", "pgbouncer", "proxy", "router", "mongos", "configsvr", "exporter", "metrics", "backup", "operator",
		}, word)
	})
}

// roleOf is the role that a requirement means; empty for none. What is not the primary is a
// secondary. What is not a secondary may be neither.
func (r requirement) roleOf() (role string) {
	key := strings.ToLower(r.key)
	if !strings.HasSuffix(key, "role") && !strings.HasSuffix(key, "component") {
		return ""
	}
	for _, value := range r.values {
		one := ""
		switch strings.ToLower(value) {
		case "primary", "master", "leader":
			one = fault.TargetPrimary
		case "secondary", "standby", "replica", "slave", "follower":
			one = fault.TargetSecondary
		}
		if one == "" || role != "" && one != role {
			return ""
		}
		role = one
	}
	switch {
	case r.operator == in:
		return role
	case r.operator == notIn && role == fault.TargetPrimary:
		return fault.TargetSecondary
	}
	return ""
}

// onNodes decides and notes what labels mean without pods: a role, or every node. It refuses other
// labels, which may select anything.
func (d *document) onNodes(m, of *mapping, labels []requirement, s *selection) {
	const want = "select by a label that all pods have, such as app, or by a role; or write the fault with a node's name, such as --fault 'kill n2'"
	var every []requirement
	for _, l := range labels {
		role := l.roleOf()
		switch {
		case l.operator == in && ofEveryPod(l.key) && !ofSomePods(l.values[0]):
			every = append(every, l)
		case role == "":
			of.refuse("", want, "which of the nodes that assay starts have the label %s is not known", l)
		case s.role != "" && s.role != role:
			of.refuse("", want, "no node is both primary and not")
		case role == fault.TargetPrimary:
			d.note("the label " + l.String() + " means the primary")
		default:
			d.note("the label " + l.String() + " means nodes that are not the primary")
		}
		s.role = cmp.Or(role, s.role)
	}
	if len(every) > 0 {
		d.note("the labels " + selector(every) + " are taken to mean every node")
	}
	few := s.word != fault.TargetAny && s.word != fault.TargetAll
	switch {
	case s.role == fault.TargetPrimary && few && s.word != "1" && s.word != "100%":
		m.refuse("mode", "write mode: one", "a number or share of the primary is no target of a fault")
	case s.role == fault.TargetPrimary:
		s.word = fault.TargetPrimary
	case s.role == fault.TargetSecondary && few:
		m.refuse("mode", "write mode: one", "a number of nodes that are not the primary is no target of a fault")
	case s.role == fault.TargetSecondary && s.word == fault.TargetAny:
		s.word = fault.TargetSecondary
	}
}

func (d *document) single(m *mapping) string {
	s := d.selection(m)
	if s.role == fault.TargetSecondary && s.word == fault.TargetAll {
		m.refuse("mode", "write mode: one", "all nodes that are not the primary are no target of a fault")
	}
	return s.target(d.pods())
}

// pair is the target of a partition: the selected nodes, and those of the field target.
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
