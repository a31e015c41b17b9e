package fault

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/cluster"
	"assay/cluster/kubernetes"
)

const or = " or "

// Lists of targets describe these in more than a word.
const (
	aNode     = "a node's name such as n2 or pod/NAME, or names to choose from each time, such as n2 or n3"
	aNumber   = "a number such as 2, 50% or 0..50% of the nodes with data"
	aSelector = "any, all or a number of the pods with labels such as any[role=standby]"
	aRole     = "a role such as pooler, proxy, dcs or monitor; 2 dcs or all dcs for several, dcs1 for one by its name"
	aPair     = "two sides such as n1,n2 or primary,n3 or any,all, and n1>n2 for what n1 sends to n2"
)

func nodeTargets() []string {
	return []string{TargetPrimary, TargetSecondary, TargetAny, TargetAll, aNumber, aSelector, aNode}
}

type side struct {
	// word is one of the Target constants, a number, or names of nodes separated by or.
	word string
	// role is one of cluster.Roles for servers beside the nodes; otherwise empty.
	role string
	// selector selects pods by labels; empty for all nodes.
	selector string
	// count or percent is the word's number of nodes, otherwise 0. upTo means a new share from 0
	// to percent each time.
	count, percent int
	upTo           bool
	named          bool
}

var numberOfNodes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-9][0-9]{0,3}|(0\.\.)?([1-9][0-9]?|100)%)$`) })

// parseSide returns false for a text that means no nodes, such as a shape.
func parseSide(text string) (side, bool) {
	if names := strings.Split(text, or); len(names) > 1 {
		for i, name := range names {
			s, is := parseSide(name)
			if !is || !s.named || s.role != "" || slices.Contains(names[:i], s.word) {
				return side{}, false
			}
			names[i] = s.word
		}
		return side{word: strings.Join(names, or), named: true}, true
	}
	word, selector, selects := strings.Cut(text, "[")
	word, role, several := strings.Cut(word, " ")
	switch {
	case slices.Contains(cluster.Roles(), word): // one server of the role
		word, role, several = TargetAny, word, !several
	case cluster.RoleOf(word) != "" && !several:
		return side{word: word, role: cluster.RoleOf(word), named: true}, !selects && roleName().MatchString(word)
	}
	s := side{word: word, role: role, selector: strings.TrimSuffix(selector, "]")}
	if several != slices.Contains(cluster.Roles(), role) || several && selects {
		return s, false
	}
	if selects && (!strings.HasSuffix(selector, "]") || s.selector == "" || kubernetes.CheckSelector(s.selector) != nil) {
		return s, false
	}
	switch {
	case word == TargetAny || word == TargetAll:
		return s, true
	case word == TargetPrimary || word == TargetSecondary:
		return s, !selects && !several
	case nodeName().MatchString(word) || podName().MatchString(word):
		s.named, s.word = true, strings.TrimPrefix(word, PodPrefix)
		return s, !selects && !several
	case !numberOfNodes().MatchString(word):
		return s, false
	}
	digits, isShare := strings.CutSuffix(word, "%")
	digits, s.upTo = strings.CutPrefix(digits, "0..")
	n, err := strconv.Atoi(digits)
	if isShare {
		s.percent = n
	} else {
		s.count = n
	}
	return s, err == nil
}

// kind is the side's description in lists of targets.
func (s side) kind() string {
	switch {
	case s.role != "":
		return aRole
	case s.named:
		return aNode
	case s.selector != "":
		return aSelector
	case s.count > 0 || s.percent > 0:
		return aNumber
	}
	return s.word
}

// sides are the one or two sides of a target; none for a shape. oneway means only what the first
// side sends to the second.
func sides(target string) (all []side, oneway bool) {
	texts, from, depth := []string{}, 0, 0
	for i, c := range target {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0 && (c == ',' || c == '>'):
			oneway = oneway || c == '>'
			texts, from = append(texts, target[from:i]), i+1
		}
	}
	for _, text := range append(texts, target[from:]) {
		s, is := parseSide(text)
		if !is {
			return nil, false
		}
		all = append(all, s)
	}
	return all, oneway
}

func (a Action) aims(target string) bool {
	if slices.Contains(a.Targets, target) {
		return true
	}
	all, _ := sides(target)
	switch len(all) {
	case 1:
		return slices.Contains(a.Targets, all[0].kind())
	case 2:
		return slices.Contains(a.Targets, aPair) && (all[0] != all[1] || all[0].word == TargetAny || all[0].word == TargetSecondary)
	}
	return false
}

// AimsAtPrimary reports whether it is done to the primary, alone or separated from others.
func (f Fault) AimsAtPrimary() bool {
	all, _ := sides(f.Target)
	return f.Target == shapeOne || len(all) > 0 && all[0].word == TargetPrimary
}

// Scope is the target without the choice of a node.
func (f Fault) Scope() string {
	all, _ := sides(f.Target)
	if len(all) == 1 && (all[0].named || all[0].word == TargetAny || all[0].word == TargetSecondary) {
		return cmp.Or(all[0].role, aNode)
	}
	return f.Target
}

// needsPrimary reports whether the fault needs a known primary.
func (f Fault) needsPrimary() bool {
	all, _ := sides(f.Target)
	return slices.ContainsFunc(all, func(s side) bool { return s.word == TargetPrimary || s.word == TargetSecondary })
}

// meansAll reports whether the target is every node, or every server of a role.
func (f Fault) meansAll() bool {
	all, _ := sides(f.Target)
	return len(all) == 1 && all[0].word == TargetAll && all[0].selector == ""
}

func (s side) among(members []member) []member {
	members = ofRole(s.role, members)
	if s.selector == "" {
		return members
	}
	return slices.DeleteFunc(members, func(m member) bool { return !kubernetes.Selects(s.selector, m.labels) })
}

func (s side) missing(members []member) []string {
	return without(strings.Split(s.word, or), names(members))
}

// check returns a *TargetError if the side means none of these nodes.
func (s side) check(f Fault, members []member) error {
	selected := s.among(members)
	withData := holders(selected)
	refuse := func(want, problem string, a ...any) error {
		return &TargetError{Fault: f, Problem: fmt.Sprintf(problem, a...), Want: want}
	}
	kind := "nodes with data"
	if s.role != "" {
		kind = "servers that are its " + s.role
	}
	switch {
	case len(selected) == 0 && s.role != "":
		want := "another target, or with --kubernetes the pod's name"
		if example := cluster.ExampleOf(s.role); example != "" {
			want = "--cluster " + example + ", or " + want
		}
		return refuse(want, "the cluster has no %s", s.role)
	case len(selected) == 0:
		return refuse("labels that pods have, with --kubernetes; or any, all or a number without labels", "no node has the labels %s", s.selector)
	case s.named && len(s.missing(selected)) > 0:
		return refuse("one of "+joined(names(selected)), "there is no node %s", joined(s.missing(selected)))
	case s.word == TargetSecondary && len(withData) < 2:
		return refuse(TargetPrimary+" or more nodes", "there is only one node with data")
	case s.count > len(withData):
		return refuse(fmt.Sprintf("at most %d, or more nodes", len(withData)), "there are only %d %s", len(withData), kind)
	case s.percent > 0 && len(withData)*s.percent < 100:
		return refuse("a greater share, or more nodes", "%s of %d %s is none", s.word, len(withData), kind)
	}
	return nil
}

// choose picks the side's nodes, in the order of the members. primary is empty if there is none or
// it is unknown.
func (s side) choose(members []member, primary string, random *rand.Rand) ([]string, error) {
	members = s.among(members)
	withData := holders(members)
	number := s.count
	switch {
	case s.named:
		there := without(strings.Split(s.word, or), s.missing(members))
		switch len(there) {
		case 0:
			return nil, fmt.Errorf("there is no node %s", s.word)
		case 1:
			return there, nil
		}
		return []string{there[random.IntN(len(there))]}, nil
	case s.word == TargetAll:
		return names(members), nil
	case s.word == TargetPrimary && primary == "":
		return nil, errors.New("there is no primary")
	case s.word == TargetPrimary:
		return []string{primary}, nil
	case s.word == TargetSecondary && primary == "":
		return nil, errors.New("there is no primary, and so no secondary")
	case s.word == TargetSecondary:
		withData = without(without(withData, []string{primary}), primaries(members))
	case s.percent > 0:
		share := s.percent
		if s.upTo {
			share = random.IntN(share + 1)
		}
		if number = len(withData) * share / 100; number == 0 {
			return nil, fmt.Errorf("%d%% of %d nodes, which was drawn of %s, is none", share, len(withData), s.word)
		}
	}
	switch {
	case len(withData) == 0 || number > len(withData):
		return nil, fmt.Errorf("there is no node to choose as %s", s.word)
	case number == 0:
		return []string{withData[random.IntN(len(withData))]}, nil
	}
	var chosen []string
	for _, i := range slices.Sorted(slices.Values(random.Perm(len(withData))[:number])) {
		chosen = append(chosen, withData[i])
	}
	return chosen, nil
}
