package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"assay/application/wire"
)

// prepared is a statement that the server keeps, and the types of its parameters and columns by their
// numbers, as far as they are known: 0 is one that is not. The client may give those of parameters, and
// the server tells all when it is asked to describe the statement.
type prepared struct {
	statements []*wire.Statement

	mu         sync.Mutex
	parameters []uint32
	columns    []uint32
}

// portal is a prepared statement with its values.
type portal struct {
	statement *wire.Statement
	of        *prepared
	formats   []int // of the columns
}

// step is what the server answers of its own in a pipeline: the description of a statement or a portal,
// or an execution.
type step struct {
	kind    byte
	of      *prepared
	formats []int
}

// The kinds of a step.
const (
	describesStatement = 'S'
	describesPortal    = 'P'
	executes           = 'E'
)

// pipeline are the steps up to the server's ReadyForQuery that are not answered. The goroutine that reads
// requests adds some while the one that reads answers takes them.
type pipeline struct {
	mu    sync.Mutex
	steps []step
}

func (p *pipeline) add(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, s)
}

// next is the step that is answered now; false if there is none. over says that it is answered then, and
// failed that the others are not.
func (p *pipeline) next(over, failed bool) (s step, is bool) {
	if p == nil {
		return step{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if is = len(p.steps) > 0; !is {
		return step{}, false
	}
	s = p.steps[0]
	switch {
	case failed:
		p.steps = nil
	case over:
		p.steps = p.steps[1:]
	}
	return s, true
}

// take keeps what a message says, as far as it is there.
func (q *requests) take(message []byte) {
	m := fields(message[headerSize:])
	partial := len(message) < frame(message)
	q.some = true
	switch message[0] {
	case 'Q':
		text := m.text()
		q.deallocate(text)
		q.batch = append(q.batch, q.statements(text, partial)...)
		return
	case 'F':
		q.batch = append(q.batch, &wire.Statement{Shape: "function call"})
		return
	}
	if q.steps == nil {
		q.steps = &pipeline{}
	}
	switch message[0] {
	case 'P':
		name, text := m.text(), m.text()
		q.deallocate(text)
		of := &prepared{statements: q.statements(text, partial)}
		for range m.short() {
			of.parameters = append(of.parameters, m.number())
		}
		if q.keep(name, of); len(of.statements) > 0 {
			q.parsed = of.statements[0].Shape
		}
	case 'C':
		if kind, name := m.kindAndName(); kind == describesStatement {
			delete(q.prepared, name)
		} else {
			delete(q.portals, name)
		}
	case 'D':
		kind, name := m.kindAndName()
		of := q.named(name)
		if kind != describesStatement {
			of = q.portal(name).of
		}
		q.steps.add(step{kind: kind, of: of})
	case 'B':
		if q.portals == nil {
			q.portals = map[string]*portal{}
		}
		name, of := m.text(), q.named(m.text())
		q.portals[name] = bind(of, m, partial)
	case 'E':
		p := q.portal(m.text())
		q.steps.add(step{executes, p.of, p.formats})
		if p.statement != nil {
			again := *p.statement // a portal can be executed more than once
			q.batch = append(q.batch, &again)
		}
	}
}

// deallocate forgets what a text has the server forget, as psycopg's do.
func (q *requests) deallocate(text string) {
	words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(text[:min(len(text), mostDeallocating)]), ";"))
	if len(q.prepared) == 0 || len(words) != 2 && (len(words) != 3 || !strings.EqualFold(words[1], "PREPARE")) {
		return
	}
	first, name := strings.ToUpper(words[0]), words[len(words)-1]
	switch all := strings.EqualFold(name, "ALL"); {
	case all && (first == "DEALLOCATE" || first == "DISCARD"):
		clear(q.prepared)
	case first != "DEALLOCATE":
	case name[0] == '"':
		delete(q.prepared, strings.Trim(name, `"`))
	default:
		delete(q.prepared, strings.ToLower(name))
	}
}

// mostDeallocating is how long a text is that does no more than that.
const mostDeallocating = 200

// named is a prepared statement, of which nothing is known if the protocol did not prepare it.
func (q *requests) named(name string) *prepared {
	if of := q.prepared[name]; of != nil {
		return of
	}
	return &prepared{}
}

func (q *requests) portal(name string) *portal {
	if p := q.portals[name]; p != nil {
		return p
	}
	return &portal{of: &prepared{}}
}

func (q *requests) keep(name string, of *prepared) {
	if q.prepared == nil {
		q.prepared = map[string]*prepared{}
	}
	q.prepared[name] = of
}

// statements takes a text apart. PREPARE and EXECUTE are told by what is prepared, as the protocol's are,
// whatever its name, of which there is one kind (PostgreSQL 18 manual, "PREPARE", "EXECUTE").
func (q *requests) statements(text string, partial bool) []*wire.Statement {
	all := wire.Statements(text)
	for _, s := range all {
		s.Partial = partial
		word, rest, _ := strings.Cut(s.Shape, " ")
		switch {
		case strings.EqualFold(word, "PREPARE"):
			q.prepare(s, rest)
		case strings.EqualFold(word, "EXECUTE"):
			q.execute(s, rest)
		}
	}
	return all
}

// prepare keeps what a text prepares, unless it is a transaction. Values among the types of its parameters
// would be taken for the statement's.
func (q *requests) prepare(s *wire.Statement, rest string) {
	name, behind := wire.Identifier(rest)
	for _, as := range [...]string{" AS ", " as "} {
		if types, what, is := strings.Cut(behind, as); is {
			s.Shape = "PREPARE ?" + behind
			if delete(q.prepared, name); !strings.Contains(types, "?") {
				q.keep(name, &prepared{statements: []*wire.Statement{{Shape: what, Values: s.Values, Partial: s.Partial}}})
			}
			return
		}
	}
}

// execute makes a statement what was prepared, with its own values if all of them are literals.
func (q *requests) execute(s *wire.Statement, rest string) {
	name, arguments := wire.Identifier(rest)
	of := q.named(name).statements
	if len(of) != 1 {
		return
	}
	values := wire.ValuesAfter(of[0].Values)
	literals := arguments == "" || strings.Trim(arguments, " ().?") == ""
	for _, v := range s.Values {
		if inside, quoted := strings.CutPrefix(v, "'"); quoted && strings.HasSuffix(inside, "'") {
			v = wire.Text([]byte(strings.ReplaceAll(strings.TrimSuffix(inside, "'"), "''", "'")))
		}
		literals = literals && !strings.HasPrefix(v, "$") && !values.Full()
		values.Add(v)
	}
	if !literals { // which no rows are looked for by
		s.Shape = "EXECUTE ?" + arguments + ": " + of[0].Shape
		return
	}
	s.Shape, s.Values, s.Partial = of[0].Shape, values.All(), s.Partial || of[0].Partial
}

// bind is a statement with the values of a message.
func bind(of *prepared, m fields, partial bool) *portal {
	s := &wire.Statement{Shape: "an unknown statement"}
	if len(of.statements) > 0 {
		*s = *of.statements[0]
	}
	of.mu.Lock()
	types := of.parameters
	of.mu.Unlock()
	formats := m.formats()
	values := wire.ValuesAfter(s.Values)
	for i := range m.short() {
		if partial && len(m) < sizeOfSize {
			break
		}
		b, size := m.value()
		switch {
		case len(b) < size:
			values.Add(wire.Beginning(printed(b, formatOf(formats, i), typeText), fmt.Sprintf("%d of %d", len(b), size), wire.Sum(b)))
		case values.Full():
			values.More(strconv.Itoa(size) + " " + string(b))
		default:
			values.Add(printed(b, formatOf(formats, i), typeOf(types, i)))
		}
	}
	results := m.formats()
	if partial {
		results = []int{formatNotKnown}
	}
	s.Values, s.Partial = values.All(), s.Partial || partial
	return &portal{s, of, results}
}
