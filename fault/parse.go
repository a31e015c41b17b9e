package fault

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"assay/cluster"
	"assay/internal/quantity"
	"assay/internal/spelling"
)

// ParseError is a text that is no fault.
type ParseError struct {
	// Text is the whole text. Position is the byte where it goes wrong, from 1; one past its length
	// if something is missing at the end.
	Text     string
	Position int
	// Problem is what is wrong there, Want what is right.
	Problem, Want string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("fault %q: at position %d: %s; want %s", e.Text, e.Position, e.Problem, e.Want)
}

// The bounds of times. A fault cannot be injected and healed more often than each 100 ms, and a
// year is longer than any run.
const (
	leastEvery = 100 * time.Millisecond
	mostTime   = 366 * 24 * time.Hour
)

var (
	words          = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^ \t\r\n]+`) })
	nodeName       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^n[1-9][0-9]{0,3}$`) })
	roleName       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]+[1-9][0-9]{0,3}$`) })
	podName        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pod/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`) })
	containerNames = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(,[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)
	})
	bareNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`) })
)

// Parse reads
//
//	ACTION[=VALUE] [TARGET] [while loading] [at T | every T | when EVENT [after T]] [for T | for ever] [# SOURCE]
//
// where T is a duration with a unit, such as 20s or 1m30s. The clauses may come in any order. A
// fault that lasts for ever happens once. An action's only target may be left out, and some values
// are a word of their own:
//
//	rolling-restart [set.NAME=VALUE,...] [cluster] ...
//
// The error is a *ParseError.
func Parse(text string) (Fault, error) {
	p := &parser{text: text, fault: Fault{At: -1}}
	for _, at := range words().FindAllStringIndex(text, -1) {
		if source, comment := strings.CutPrefix(text[at[0]:], commentMark); comment {
			p.fault.Source = strings.TrimSpace(source)
			break
		}
		p.words = append(p.words, word{text[at[0]:at[1]], at[0] + 1})
	}
	if err := p.parse(); err != nil {
		return Fault{}, err
	}
	return p.fault, nil
}

type word struct {
	text string
	at   int // byte in the text, from 1 on
}

type parser struct {
	text  string
	words []word
	fault Fault
	about Action
}

func (p *parser) fail(at int, want, problem string, a ...any) error {
	return &ParseError{Text: p.text, Position: at, Problem: fmt.Sprintf(problem, a...), Want: want}
}

func (p *parser) next() (word, bool) {
	if len(p.words) == 0 {
		return word{at: len(p.text) + 1}, false
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w, true
}

func (p *parser) parse() error {
	first, _ := p.next()
	if err := p.action(first); err != nil {
		return err
	}
	if err := p.ownWord(); err != nil {
		return err
	}
	if err := p.target(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for {
		w, found := p.next()
		switch {
		case found:
		case seen["after"] && !seen["when"]:
			return p.fail(w.at, "when EVENT after T, or at T", "after has no event before it")
		default:
			if seen["when"] {
				p.fault.At = max(p.fault.At, 0)
			}
			return nil
		}
		if err := p.clause(w, seen); err != nil {
			return err
		}
	}
}

// loss is another word for flaky, as in tc-netem(8) and Chaos Mesh.
const loss = "loss"

func (p *parser) action(w word) error {
	name, value, valued := strings.Cut(w.text, "=")
	at := w.at + len(name) + 1
	if name == loss {
		name = "flaky"
	}
	about, known := Lookup(name)
	if !known {
		var names []string
		for _, a := range Actions() {
			names = append(names, a.Name)
		}
		return p.fail(w.at, "one of "+strings.Join(names, ", ")+spelling.Hint(name, "", names), "there is no action %q", name)
	}
	p.about, p.fault.Action = about, name
	switch {
	case valued:
	case about.asks:
		return p.fail(at-1, name+"="+about.Value.Form+", "+about.Value.want, "%s is of nothing", name)
	default:
		return nil
	}
	if about.Value.Form == "" {
		return p.fail(at-1, name+" TARGET", "%s takes no value", name)
	}
	return p.value(word{value, at})
}

func (p *parser) value(w word) (err error) {
	if p.fault.Value, err = p.about.Value.parse(w.text); err != nil {
		return p.fail(w.at, p.about.Value.want, p.about.Value.wrong, w.text)
	}
	return nil
}

// ownWord reads a value that is a word of its own, if there is one.
func (p *parser) ownWord() error {
	begins := p.about.Value.begins
	if begins == "" || p.fault.Value != nil || len(p.words) == 0 || !strings.HasPrefix(p.words[0].text, begins) {
		return nil
	}
	w, _ := p.next()
	return p.value(w)
}

func (p *parser) target() error {
	if only := p.about.Targets; len(only) == 1 && (len(p.words) == 0 || isClause(p.words[0].text)) {
		p.fault.Target = only[0]
		return nil
	}
	w, found := p.next()
	want := "one of " + strings.Join(p.about.Targets, ", ")
	if !found {
		return p.fail(w.at, want, "the target is missing")
	}
	for len(p.words) > 0 && beginsWithRole(p.words[0].text) { // 2 dcs
		next, _ := p.next()
		w.text += " " + next.text
	}
	for len(p.words) > 1 && p.words[0].text == strings.TrimSpace(or) { // n2 or n3
		p.words = p.words[1:]
		next, _ := p.next()
		w.text += or + next.text
	}
	if !p.about.aims(w.text) {
		want += spelling.Hint(w.text, "", p.about.Targets)
		return p.fail(w.at, want, "%s knows no target %q", p.fault.Action, w.text)
	}
	p.fault.Target = w.text
	return nil
}

func isClause(word string) bool {
	return slices.Contains([]string{"while", "at", "every", "when", "after", "for"}, word)
}

// beginsWithRole reports whether a word is a role, or continues a pair after one.
func beginsWithRole(word string) bool {
	if end := strings.IndexAny(word, ",>"); end >= 0 {
		word = word[:end]
	}
	return slices.Contains(cluster.Roles(), word)
}

func (p *parser) clause(w word, seen map[string]bool) error {
	kind := w.text
	least := time.Duration(0)
	switch kind {
	case "while":
		return p.phase(w, seen)
	case "when":
		return p.event(w, seen)
	case "at", "after":
	case "every":
		least = leastEvery
	case "for":
		least = 1
		if !p.about.Lasts {
			return p.fail(w.at, "stop TARGET ... for T, to have it down for a while", "%s does not last", p.fault.Action)
		}
	default:
		return p.fail(w.at, "at T, every T, when EVENT, for T, for ever or "+whileLoading+spelling.Hint(kind, "", []string{"every", "for", "while", "when", "after"}), "%q has no meaning here", kind)
	}
	if seen[kind] {
		return p.fail(w.at, "it once", "%s was said already", kind)
	}
	seen[kind] = true
	if seen["at"] && seen["every"] {
		return p.fail(w.at, "either at T, once, or every T, first after T", "at and every do not go together")
	}
	if seen["when"] && (seen["at"] || seen["every"]) {
		return p.fail(w.at, "when EVENT after T", "when and %s do not go together", kind)
	}
	t, found := p.next()
	d, err := p.duration(t, found, kind, least)
	if err != nil {
		return err
	}
	if kind == "for" && d == Ever && seen["every"] || kind == "every" && p.fault.For == Ever {
		return p.fail(w.at, "at T for ever, or every T for T", "every and for ever do not go together")
	}
	switch kind {
	case "at", "after":
		p.fault.At = d
	case "every":
		p.fault.Every = d
	case "for":
		p.fault.For = d
	}
	return nil
}

func (p *parser) phase(w word, seen map[string]bool) error {
	if seen["while"] {
		return p.fail(w.at, "it once", "while was said already")
	}
	seen["while"] = true
	which, found := p.next()
	if !found || which.text != "loading" {
		return p.fail(which.at, whileLoading, "the only phase that can be named is loading")
	}
	p.fault.Loading = true
	return nil
}

func (p *parser) duration(w word, found bool, kind string, least time.Duration) (time.Duration, error) {
	want := "a duration such as 20s, 500ms or 1m30s"
	if kind == "for" {
		want += ", or " + forEver
	}
	if !found {
		return 0, p.fail(w.at, want, "the time after %q is missing", kind)
	}
	if kind == "for" && w.text == forEver {
		return Ever, nil
	}
	if bareNumber().MatchString(w.text) {
		return 0, p.fail(w.at, "a unit, such as "+w.text+"s", "%q has no unit", w.text)
	}
	d, err := time.ParseDuration(w.text)
	switch {
	case err != nil:
		if kind == "for" {
			want += spelling.Hint(w.text, "", []string{forEver})
		}
		return 0, p.fail(w.at, want, "%q is no duration", w.text)
	case d < least && least == leastEvery:
		return 0, p.fail(w.at, "at least "+quantity.Duration(least), "every %s is too often", w.text)
	case d < least:
		return 0, p.fail(w.at, "a time to come", "%s %s is too short", kind, w.text)
	case d > mostTime:
		return 0, p.fail(w.at, "at most a year", "%s %s is too long", kind, w.text)
	}
	return d, nil
}
