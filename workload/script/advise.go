package script

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"assay/history"
	"assay/store"
	"assay/workload/script/access"
)

// Sent is what the transactions of runs have sent, from the runs' folders.
type Sent struct {
	templates []template
	overflown bool
	// Meetings are anomalies that pairs of transactions showed.
	Meetings []*Meeting
}

// Add takes a run's folder. Its error is a *history.FormatError.
func (s *Sent) Add(folder string) error {
	path := filepath.Join(folder, FileState)
	of, missing, err := readState(path)
	if err == nil && missing != "" {
		err = &history.FormatError{Path: path, Reason: missing}
	}
	if err != nil {
		return err
	}
	s.overflown = s.overflown || of.Overflown
	for _, t := range of.Templates {
		if i := slices.IndexFunc(s.templates, t.same); i >= 0 {
			s.templates[i].Count += t.Count
		} else if len(s.templates) < maxSequences {
			s.templates = append(s.templates, t)
		} else {
			s.overflown = true
		}
	}
	for _, m := range of.Meetings {
		alike := func(x *Meeting) bool {
			return x.Anomaly == m.Anomaly && x.Names == m.Names && slices.Equal(x.Tables, m.Tables)
		}
		if i := slices.IndexFunc(s.Meetings, alike); i >= 0 {
			s.Meetings[i].Count += m.Count
		} else {
			s.Meetings = append(s.Meetings, m)
		}
	}
	slices.SortStableFunc(s.Meetings, func(a, b *Meeting) int { return int(b.Count - a.Count) })
	return nil
}

func (t *template) same(other template) bool {
	if t.name() != other.name() || t.Alone != other.Alone || t.Fixed != other.Fixed || t.Unclear != other.Unclear || !slices.Equal(t.Statements, other.Statements) || len(t.Operations) != len(other.Operations) {
		return false
	}
	for i, a := range t.Operations {
		b := other.Operations[i]
		if a.Relation != b.Relation || a.Key != b.Key || a.Locks != b.Locks || a.Statement != b.Statement || !slices.Equal(a.Reads, b.Reads) || !slices.Equal(a.Writes, b.Writes) {
			return false
		}
	}
	return true
}

// Look says what the statements permit at an isolation level.
type Look struct {
	// Robust is true if every run of them is serializable; nil if unknown, because of Unclear.
	Robust  *bool  `json:"robust"`
	Unclear string `json:"unclear,omitempty"`
	// Dangers are the anomalies that the level permits.
	Dangers []Danger `json:"dangers,omitempty"`
}

// Danger is an anomaly that statements make possible.
type Danger struct {
	Anomaly string `json:"anomaly"`
	// Text says which statements of the Transactions cause it.
	Transactions []string `json:"transactions"`
	Text         string   `json:"text"`
}

// Look says what the statements permit where a model is promised under these settings.
func (s *Sent) Look(model string, settings []store.Setting) Look {
	l := lookAt(s.templates, s.overflown, levelOf(model, settings))
	out := Look{Unclear: l.unclear}
	if l.unclear == "" {
		out.Robust = &l.robust
	}
	for _, d := range l.dangers {
		names := []string{l.templates[d.Left].name(), l.templates[d.Over].name(), l.templates[d.Into].name()}
		slices.Sort(names)
		danger := Danger{d.Anomaly, slices.Compact(names), l.text(d)}
		if !slices.ContainsFunc(out.Dangers, func(x Danger) bool { return slices.Equal(x.Transactions, danger.Transactions) }) {
			out.Dangers = append(out.Dangers, danger)
		}
	}
	return out
}

// added is an update that adds its parameters instead of setting columns.
func added(text string) string {
	conditions := strings.LastIndex(strings.ToLower(text), "where")
	if conditions < 0 {
		conditions = len(text)
	}
	return shortened(regexp.MustCompile(`(\w+)\s*=\s*(\$\d+)`).ReplaceAllString(text[:conditions], "$1 = $1 + $2") + text[conditions:])
}

// Change is a mend that can be tried. Texts are what it changes, for people.
type Change struct {
	Name  string
	Texts []string
	Mend  Mend
}

// Names of changes.
const (
	ChangeForUpdate    = "FOR UPDATE"
	ChangeAtomic       = "atomic update"
	ChangeCheck        = "CHECK"
	ChangeSerializable = "SERIALIZABLE for"
	// ChangeWriteFirst is for databases whose reads cannot lock.
	ChangeWriteFirst = "lock by a write"
)

// Changes need no knowledge of the application; untried says why others are not tried. left are
// the transactions with unprotected reads.
func (c *Config) Changes(s *Sent, product string, left []string) (all []Change, untried []string, err error) {
	p, err := c.compile(0)
	if err == nil {
		_, err = p.rehearsed()
	}
	if err != nil {
		return nil, nil, err
	}
	f := finder{program: p, sent: s}
	if product == "MongoDB" {
		all, untried = f.ofDocuments()
		return all, untried, nil
	}
	f.find()
	if len(f.locks) > 0 {
		change := Change{Name: ChangeForUpdate, Mend: Mend{ForUpdate: f.locks}}
		for _, text := range f.locks {
			change.Texts = append(change.Texts, shortened(text)+" FOR UPDATE")
		}
		all = append(all, change)
	} else {
		untried = append(untried, "FOR UPDATE: no plain SELECT of one table comes before an UPDATE or DELETE of that table in a transaction")
	}
	if len(f.updates) > 0 {
		change := Change{Name: ChangeAtomic, Mend: Mend{Difference: f.updates, Setup: p.constraints()}}
		for _, text := range f.updates {
			change.Texts = append(change.Texts, added(text)+", whose parameter is the new value less the value that was read")
		}
		change.Texts = append(change.Texts, change.Mend.Setup...)
		all = append(all, change)
	} else {
		if checks := p.constraints(); len(checks) > 0 {
			all = append(all, Change{Name: ChangeCheck, Texts: checks, Mend: Mend{Setup: checks}})
		}
		untried = append(untried, "an atomic update: no UPDATE sets a column to a parameter that a SELECT of that column alone, of the same row by its key, has read before")
	}
	if f.inserts {
		untried = append(untried, "a unique constraint: a SELECT comes before an INSERT into its table, and FOR UPDATE locks no row that is not there yet; a constraint would refuse the second, and which columns are to be unique the script does not say")
	}
	serializable, not := f.serializable(product, left)
	return append(all, serializable...), append(untried, not...), nil
}

// serializable gives transactions with unprotected reads the strongest level.
func (f *finder) serializable(product string, left []string) (all []Change, untried []string) {
	first := f.sent.templates
	one := func(t template) bool { return t.name() == first[0].name() }
	switch {
	case len(first) == 0 || !slices.ContainsFunc(first, func(t template) bool { return !one(t) }):
		return nil, nil
	case product != "PostgreSQL":
		return nil, []string{"SERIALIZABLE for one of the transactions: " + product + " takes no other level within a transaction"}
	}
	for _, name := range left {
		fixed := func(t template) bool { return t.name() == name && (t.Alone || t.Fixed) }
		if slices.ContainsFunc(first, fixed) {
			untried = append(untried, ChangeSerializable+" "+name+": it is a statement outside of BEGIN and COMMIT, or in a pipeline, and nothing can be put before it")
			continue
		}
		all = append(all, Change{Name: ChangeSerializable + " " + name, Texts: []string{serializableFirst + " at the beginning of " + name},
			Mend: Mend{First: serializableFirst, Transactions: []string{name}}})
	}
	return all, untried
}

const serializableFirst = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"

type finder struct {
	program        *program
	sent           *Sent
	locks, updates []string
	// inserts is true if a transaction reads a table and then inserts into it.
	inserts bool
}

func (f *finder) find() {
	for _, t := range f.sent.templates {
		kind, known := f.program.kind(t.Transaction)
		if !known || t.Fixed || f.program.transactions[kind].reads {
			continue
		}
		for i, text := range t.Statements {
			first := f.accessOf(text)
			if first == nil || first.Verb != access.Read {
				continue
			}
			for k, later := range t.Statements[i+1:] {
				second := f.accessOf(later)
				f.inserts = f.inserts || second != nil && second.Table == first.Table && second.Verb == access.Insert
				if second == nil || second.Table != first.Table || second.Verb == access.Insert || second.Verb == access.Read {
					continue
				}
				if first.Simple && !slices.Contains(f.locks, text) {
					f.locks = append(f.locks, text)
				}
				_, sets := second.Sets[first.Only]
				if sets && t.rowOf(i) != "" && t.rowOf(i) == t.rowOf(i+1+k) && !slices.Contains(f.updates, later) {
					f.updates = append(f.updates, later)
				}
			}
		}
	}
}

// accessOf returns a text's only access; nil if it is not understood.
func (f *finder) accessOf(text string) *access.Access {
	all, known := f.program.catalog.Of(wordsIn(text))
	if !known || len(all) == 0 {
		return nil
	}
	return &all[0]
}

func (t *template) rowOf(statement int) string {
	for _, o := range t.Operations {
		if o.Statement == statement {
			return o.Key
		}
	}
	return ""
}

// constraints express invariants that bound a column of every row of a table by a number.
func (p *program) constraints() (all []string) {
	for i := range p.invariants {
		n := &p.invariants[i]
		if !n.empty || n.query.Command != nil {
			continue
		}
		from := slices.IndexFunc(wordsIn(n.query.Text), func(w access.Word) bool { return strings.EqualFold(w.Text, "from") })
		w := wordsIn(n.query.Text)
		if from < 0 || len(w) != from+6 || !strings.EqualFold(w[from+2].Text, "where") || !slices.Contains([]string{"<", ">", "="}, w[from+4].Text) ||
			w[from+5].Kind != access.Literal || p.catalog.Tables[strings.ToLower(w[from+1].Text)] == nil {
			continue
		}
		all = append(all, fmt.Sprintf("ALTER TABLE %s ADD CHECK (NOT (%s %s %s))", w[from+1].Text, w[from+3].Text, w[from+4].Text, w[from+5].Text))
	}
	return all
}
