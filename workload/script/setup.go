package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"assay/workload/script/access"
)

// setup is one execution of a program's setup.
type setup struct {
	program *program
	// execute and load only check their arguments in a rehearsal.
	execute func(s Statement) error
	load    func(l tableLoad) error
	// made are the collections made so far.
	made map[string]bool
}

// tableLoad is the rows of a table, or documents of a collection, without columns.
type tableLoad struct {
	table   string
	columns []string
	count   int64
	// rows returns a function that gives the values of row i, from 0, to one goroutine.
	rows func() func(i int64) ([]any, error)
}

// maxLoaded bounds the rows of one db.insert.
const maxLoaded = 1_000_000_000

// rehearsed runs setup without a database and returns how many rows it loads. Afterwards
// declarations may use only the collections that it makes.
func (p *program) rehearsed() (rows int64, err error) {
	p.catalog = access.Catalog{}
	s := &setup{program: p, execute: func(s Statement) error {
		if s.Command == nil {
			p.catalog.Made(wordsIn(s.Text))
		}
		return nil
	}, load: func(l tableLoad) error {
		rows += l.count
		if l.count == 0 {
			return nil
		}
		_, err := l.rows()(0)
		return err
	}, made: map[string]bool{}}
	if err = p.setUp(s); err != nil {
		return rows, err
	}
	if p.statements.language == Documents || len(s.made) > 0 {
		p.statements.made = s.made
	}
	return rows, p.collectionsAreMade()
}

func (p *program) setUp(s *setup) error {
	if p.setup != nil {
		if err := p.setup(s); err != nil {
			return err
		}
	}
	for _, text := range p.mend.Setup {
		if err := s.exec(text); err != nil {
			return err
		}
	}
	return nil
}

// collectionsAreMade refuses declarations on collections that setup does not make.
func (p *program) collectionsAreMade() error {
	return p.each(func(_ string, d *declaration, _ *string) error {
		if d.query.Command == nil {
			return nil
		}
		err := p.statements.onDocuments(d.query.Command)
		if err != nil {
			err = &Error{File: p.path, Line: d.line, Column: d.column, Reason: err.Error(), Err: err}
		}
		return err
	})
}

func (s *setup) exec(text string) error {
	if err := s.program.statements.inLanguage(SQL, "db.exec", "db.create, which makes a collection, and db.index"); err != nil {
		return err
	}
	text, err := s.program.statements.inSetup(text)
	if err != nil {
		return err
	}
	return s.execute(Statement{Text: text})
}

// add loads rows. Names go into statements unquoted, so they must be plain.
func (s *setup) add(l tableLoad) error {
	for _, name := range append([]string{l.table}, l.columns...) {
		all, err := tokens(name)
		if err != nil || len(all) != 1 || all[0].Kind != access.Name {
			return fmt.Errorf("%q is no name of a table or column, without a qualifier and quotes", name)
		}
	}
	if len(l.columns) == 0 || len(l.columns) > 200 {
		return errors.New("want 1 to 200 columns")
	}
	return s.insert(l)
}

func (s *setup) insert(l tableLoad) error {
	if l.count < 0 || l.count > maxLoaded {
		return fmt.Errorf("want at most %d rows", maxLoaded)
	}
	return s.load(l)
}

func setupMembers() map[string]member[*setup] {
	return map[string]member[*setup]{
		"create": method((*setup).collection), "exec": method((*setup).statement), "index": method((*setup).index), "insert": method((*setup).table),
	}
}

func (s *setup) statement(a arguments) (starlark.Value, error) {
	var text string
	if err := a.unpack("statement", &text); err != nil {
		return nil, err
	}
	return starlark.None, s.exec(text)
}

// rowSource gives all rows, or a function for each.
type rowSource struct {
	all   starlark.Iterable
	count int64
	each  starlark.Callable
}

func (r rowSource) into(l *tableLoad, usage string, read func(starlark.Value) ([]any, error)) error {
	switch {
	case r.all != nil && r.each == nil && r.count < 0:
		var all []starlark.Value
		for row := range starlark.Elements(r.all) {
			all = append(all, row)
		}
		l.count = int64(len(all))
		l.rows = func() func(int64) ([]any, error) {
			return func(i int64) ([]any, error) { return read(all[i]) }
		}
	case r.all == nil && r.each != nil && r.count >= 0:
		l.count = r.count
		r.each.Freeze() // several goroutines call it
		l.rows = func() func(int64) ([]any, error) {
			return func(i int64) ([]any, error) {
				v, err := starlark.Call(newThread(), r.each, starlark.Tuple{starlark.MakeInt64(i)}, nil)
				if err != nil {
					return nil, err
				}
				return read(v)
			}
		}
	default:
		return errors.New(usage)
	}
	return nil
}

func (s *setup) table(a arguments) (starlark.Value, error) {
	var l tableLoad
	var columns starlark.Iterable
	rows, documents := rowSource{count: -1}, rowSource{}
	if err := a.unpack("table", &l.table, "columns?", &columns, "rows?", &rows.all, "count?", &rows.count, "row?", &rows.each,
		"documents?", &documents.all, "document?", &documents.each); err != nil {
		return nil, err
	}
	if columns == nil {
		if rows.all != nil || rows.each != nil {
			return nil, errors.New("rows need the names of their columns; documents are given as documents, or as count and document")
		}
		documents.count = rows.count
		return starlark.None, s.documents(l, documents)
	}
	if err := s.program.statements.inLanguage(SQL, "db.insert with columns", "db.insert(collection, documents = [...]), or count and document"); err != nil {
		return nil, err
	}
	for name := range starlark.Elements(columns) {
		text, is := starlark.AsString(name)
		if !is {
			return nil, fmt.Errorf("a column's name is a string, not a %s", name.Type())
		}
		l.columns = append(l.columns, text)
	}
	if documents.all != nil || documents.each != nil {
		return nil, errors.New("documents have no columns")
	}
	err := rows.into(&l, "give either rows, or count and row, a function from 0 to count - 1 to the values of a row",
		func(v starlark.Value) ([]any, error) { return values(v, len(l.columns)) })
	if err != nil {
		return nil, err
	}
	return starlark.None, s.add(l)
}

func values(row starlark.Value, columns int) (all []any, err error) {
	list, is := row.(starlark.Indexable)
	if _, text := row.(starlark.String); !is || text {
		return nil, fmt.Errorf("a row is a tuple or a list, not a %s", row.Type())
	}
	if list.Len() != columns {
		return nil, fmt.Errorf("a row has %d values, and there are %d columns", list.Len(), columns)
	}
	for i := range columns {
		v, err := plain(list.Index(i))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}
