package hunt

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/report"
)

// Seen is what one run reached.
type Seen struct {
	States []string
	// Pairs are faults with the cluster's state when they were injected.
	Pairs []Pair
	// Errors are classes of errors and of findings, Lines patterns of the servers' log lines.
	Errors, Lines []string
}

// Pair is the action of a fault and the cluster's state when it was injected.
type Pair struct{ Action, State string }

// Coverage counts the runs that reached each thing. Its size is bounded.
type Coverage struct {
	States map[string]int            `json:"states"`
	Pairs  map[string]map[string]int `json:"faults_by_state"` // by action, then state
	Errors map[string]int            `json:"errors"`
	Lines  map[string]int            `json:"log_lines"`
}

const (
	mostPairs  = 100 // states, of each action
	mostErrors = 200
	mostLines  = 3000
)

// Add counts what a run reached, and returns how much of it was new.
func (c *Coverage) Add(s Seen) (fresh int) {
	if c.States == nil {
		*c = Coverage{States: map[string]int{}, Pairs: map[string]map[string]int{}, Errors: map[string]int{}, Lines: map[string]int{}}
	}
	for _, name := range s.States {
		fresh += count(c.States, name, len(c.States)+1)
	}
	for _, p := range s.Pairs {
		if c.Pairs[p.Action] == nil {
			c.Pairs[p.Action] = map[string]int{}
		}
		fresh += count(c.Pairs[p.Action], p.State, mostPairs)
	}
	for _, name := range s.Errors {
		fresh += count(c.Errors, name, mostErrors)
	}
	for _, name := range s.Lines {
		fresh += count(c.Lines, name, mostLines)
	}
	return fresh
}

func count(in map[string]int, name string, most int) int {
	if _, known := in[name]; !known && len(in) >= most {
		return 0
	}
	in[name]++
	if in[name] == 1 {
		return 1
	}
	return 0
}

// classes are the classes of a run's errors and findings, whatever their verdict, with the
// isolation level.
func classes(r *report.Result) (all []string) {
	for _, e := range r.Errors {
		all = append(all, e.Class)
	}
	level := ""
	if used := report.ValueOf(r.Database.Settings, "isolation"); used != "" {
		level = " at " + used
	}
	all = append(all, r.Workload+level)
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			all = append(all, c.Name+" "+f.Kind+level)
		}
	}
	return all
}

const (
	mostLog     = 8 << 20
	mostPattern = 8 // words
)

func linesOf(folder string) (all []string) {
	files, _ := filepath.Glob(filepath.Join(folder, "nodes", "*.log"))
	seen := map[string]bool{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(text[:min(len(text), mostLog)]))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if p := pattern(lines.Text()); p != "" {
				seen[p] = true
			}
		}
	}
	for p := range seen {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// pattern is a regular expression of a line's first words, without words that have digits and
// text in quotes or brackets, which differ from line to line.
func pattern(line string) string {
	var words []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'{}[](),:=", r) }) {
		if strings.ContainsAny(word, "0123456789/|") || len(word) > 24 || !utf8.ValidString(word) {
			continue
		}
		if words = append(words, regexp.QuoteMeta(word)); len(words) == mostPattern {
			break
		}
	}
	if len(words) < 2 {
		return ""
	}
	return strings.Join(words, ".*")
}

// again are patterns that several runs had, so that a fault may wait for them.
func (c Coverage) again() (all []string) {
	for line, runs := range c.Lines {
		if runs > 1 {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}
