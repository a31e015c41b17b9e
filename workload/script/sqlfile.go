package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/store"
	"assay/workload/script/pgbench"
)

// parseSQL reads scripts in pgbench's language, one kind of operation each, or gives an *Error.
func parseSQL(c Config, defines map[string]string, known *statements) (*program, error) {
	p := &program{path: c.File, statements: known, protocol: c.protocol(), defines: defines}
	for _, own := range []string{pgbench.ClientID, pgbench.RandomSeed, pgbench.DefaultSeed, operationID} {
		if _, given := defines[own]; given {
			return nil, &Error{File: c.File, Reason: fmt.Sprintf("--define %s: the variable is set by assay", own)}
		}
	}
	var declared []func() error
	for _, of := range c.scripts() {
		read, err := pgbench.Parse(of.File, string(of.Text))
		if err != nil {
			return nil, ofPgbench(err)
		}
		f := &sqlFile{path: of.File, script: read, program: p, name: p.nameFor(of.File)}
		if err := f.look(); err != nil {
			return nil, err
		}
		p.transactions = append(p.transactions, transaction{name: f.name, weight: of.weight(), reads: f.reads, texts: f})
		for _, comment := range read.Comments {
			if err := f.declare(comment); err != nil {
				return nil, err
			}
		}
		declared = append(declared, f.declared...)
	}
	for _, declare := range declared {
		if err := declare(); err != nil {
			return nil, err
		}
	}
	if c.Setup != "" {
		var err error
		if p.setup, err = readSetup(c, defines); err != nil {
			return nil, err
		}
	}
	return p, p.finish()
}

// nameFor makes a file's transaction name unique.
func (p *program) nameFor(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for n := 2; ; n++ {
		if _, twice := p.kind(name); !twice {
			return name
		}
		name = fmt.Sprintf("%s %d", strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), n)
	}
}

func ofPgbench(err error) error {
	var at *pgbench.Error
	if errors.As(err, &at) {
		return &Error{File: at.Path, Line: at.Line, Column: at.Column, Reason: at.Reason, Advice: at.Advice}
	}
	return err
}

type sqlFile struct {
	path     string
	script   *pgbench.Script
	program  *program
	name     string
	declared []func() error
	// sends are the statements by command.
	sends []sqlStatement
	// reads is true if nothing sent has an effect; touches are the tables.
	reads   bool
	touches written
	// several is true if it may be more than one transaction.
	several bool
	// parts is true if a part of what it does may be committed alone: it is several, or has a text that
	// may commit, or one of several statements, which some products commit each.
	parts bool
	// scaled is true if it uses the variable scale, defines if it makes tables.
	scaled, defines bool
}

type sqlStatement struct {
	kind store.TextKind
	// extended is the text with $1 and so on at these bytes.
	extended string
	at       []int
	// of describes extended; nil if it is not understood.
	of *statement
}

// severalTransactions reports whether statements, some in branches, may be several transactions:
// not if there is one, or if BEGIN is first, COMMIT last and neither between.
func severalTransactions(kinds []store.TextKind) bool {
	last := len(kinds) - 1
	if last < 1 {
		return false
	}
	control := func(kind store.TextKind) bool {
		return kind == store.Begins || kind == store.Commits || kind == store.RollsBack
	}
	return kinds[0] != store.Begins || kinds[last] != store.Commits || slices.ContainsFunc(kinds[1:last], control)
}

func (f *sqlFile) fail(at pgbench.Position, reason, advice string) error {
	return &Error{File: f.path, Line: at.Line, Column: at.Column, Reason: reason, Advice: advice}
}

// wrong is a command's error. It wraps errors of the database and the context.
func (f *sqlFile) wrong(of *pgbench.Command, err error) error {
	var at *Error
	if err == nil || errors.As(err, &at) {
		return err
	}
	return &Error{File: f.path, Line: of.Line, Column: of.Column, Reason: err.Error(), Err: err}
}

func (f *sqlFile) look() error {
	f.sends = make([]sqlStatement, len(f.script.Commands))
	f.reads = true
	var kinds []store.TextKind
	for i := range f.script.Commands {
		of := &f.script.Commands[i]
		switch of.Kind {
		case pgbench.SQL:
			if err := f.lookAtStatement(of, &f.sends[i]); err != nil {
				return f.wrong(of, err)
			}
			kind := f.sends[i].kind
			kinds = append(kinds, kind)
			f.parts = f.parts || kind == store.Anything || kind == store.Defines || len(of.Statement.Parts) > 1
		case pgbench.StartPipeline, pgbench.SyncPipeline, pgbench.EndPipeline:
			if f.program.protocol == store.Simple {
				return f.fail(of.Position, "a pipeline cannot use the simple protocol", "give --protocol extended or prepared")
			}
			f.program.pipelines = true
		}
	}
	f.several = severalTransactions(kinds)
	f.parts = f.parts || f.several
	if len(kinds) == 0 {
		return &Error{File: f.path, Reason: "it has no statement", Advice: "write a statement of SQL"}
	}
	return nil
}

func (f *sqlFile) lookAtStatement(of *pgbench.Command, into *sqlStatement) error {
	into.kind = store.NoEffect
	for _, part := range of.Statement.Parts {
		w, err := f.program.statements.asWritten(part)
		if err != nil {
			return err
		}
		into.kind = together(into.kind, w.kind, len(of.Statement.Parts))
		f.touches.reads = append(f.touches.reads, w.reads...)
		f.touches.writes = append(f.touches.writes, w.writes...)
	}
	effect := into.kind == store.Writes || into.kind == store.Defines || into.kind == store.Anything
	f.reads, f.defines = f.reads && !effect, f.defines || into.kind == store.Defines || into.kind == store.Anything
	if f.program.protocol != store.Simple {
		for _, r := range of.Statement.References {
			if r.Hidden {
				return &Error{File: f.path, Line: of.Line, Column: of.Column, Reason: fmt.Sprintf("the variable %s stands in quotes or a comment, where the protocol %s has no parameter", r.Name, f.program.protocol),
					Advice: "leave the quotes out, put the text together with ||, or give --protocol simple"}
			}
		}
	}
	into.extended = of.Statement.Extended()
	added := 0
	for i, r := range of.Statement.References {
		into.at = append(into.at, r.Start+added)
		added += len("$"+strconv.Itoa(i+1)) - (r.End - r.Start)
		f.scaled = f.scaled || r.Name == pgbench.Scale
	}
	if of, err := f.program.statements.inTransaction(into.extended, len(into.at)); err == nil {
		into.of = of
	}
	return nil
}

// together is the kind of statements sent as one.
func together(so, next store.TextKind, parts int) store.TextKind {
	control := next == store.Begins || next == store.Commits || next == store.RollsBack
	switch {
	case parts == 1:
		return next
	case so == store.Anything || next == store.Anything || control:
		return store.Anything
	case so == store.NoEffect:
		return next
	case next == store.NoEffect || so == store.Defines:
		return so
	}
	return next
}

// readSetup reads the SQL that makes tables and rows. Its variables come from --define.
func readSetup(c Config, defines map[string]string) (func(*setup) error, error) {
	read, err := pgbench.Parse(c.Setup, string(c.SetupText))
	if err != nil {
		return nil, ofPgbench(err)
	}
	f := &sqlFile{path: c.Setup}
	variables := &pgbench.Variables{}
	for name, text := range defines {
		variables.SetText(name, text)
	}
	for i := range read.Commands {
		if of := &read.Commands[i]; of.Kind != pgbench.SQL || of.Statement.End != pgbench.Semicolon {
			return nil, f.fail(of.Position, "the setup is plain SQL, and this is a command of pgbench", "write it without")
		}
	}
	return func(s *setup) error {
		for i := range read.Commands {
			of := &read.Commands[i]
			text := of.Statement.Simple(variables)
			err := s.program.statements.inSetupFile(text)
			if err == nil {
				err = s.execute(Statement{Text: text})
			}
			if err != nil {
				return f.wrong(of, err)
			}
		}
		return nil
	}, nil
}

func plainOf(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x
	}
	return text
}

// declare reads a comment such as "invariant money equals 0: SELECT sum(balance) FROM account".
func (f *sqlFile) declare(of pgbench.Comment) error {
	const advice = "write -- assay: invariant NAME [at_end] (empty | equals VALUE | at_least VALUE | at_most VALUE): QUERY, -- assay: counted NAME [start N] [each N]: QUERY, or -- assay: listed NAME [column NAME]: QUERY"
	text, is := strings.CutPrefix(strings.TrimSpace(of.Text), "assay:")
	if !is {
		return nil
	}
	head, query, found := strings.Cut(text, ":")
	words := strings.Fields(head)
	if !found || len(words) < 2 {
		return f.fail(of.Position, "a declaration that is not understood", advice)
	}
	query = strings.TrimSpace(query)
	kind, name, words := words[0], words[1], words[2:]
	d := declaration{name: name, query: Statement{Text: query}}
	i := invariant{declaration: d}
	c := rowCount{declaration: d, transaction: f.name, each: 1}
	l := rowList{declaration: d, transaction: f.name, column: "id", each: 1}
	for len(words) > 0 {
		_, is := relations()[words[0]]
		number := int64(0)
		if len(words) > 1 {
			number, _ = strconv.ParseInt(words[1], 10, 64)
		}
		switch {
		case kind == "invariant" && words[0] == "at_end":
			i.atEnd, words = true, words[1:]
		case kind == "invariant" && words[0] == "empty":
			i.empty, words = true, words[1:]
		case kind == "invariant" && is && len(words) > 1:
			i.wanted, words = append(i.wanted, bound{words[0], plainOf(words[1])}), words[2:]
		case kind == "counted" && words[0] == "start" && len(words) > 1:
			c.start, words = number, words[2:]
		case kind == "counted" && words[0] == "each" && len(words) > 1:
			c.each, words = number, words[2:]
		case kind == "listed" && words[0] == "column" && len(words) > 1:
			l.column, words = words[1], words[2:]
		default:
			return f.fail(of.Position, fmt.Sprintf("%q is not understood", words[0]), advice)
		}
	}
	f.declared = append(f.declared, func() (err error) {
		switch kind {
		case "invariant":
			err = f.program.addInvariant(i)
		case "counted":
			err = f.program.addCount(c)
		case "listed":
			err = f.program.addList(l)
		default:
			err = fmt.Errorf("%q cannot be declared", kind)
		}
		if err != nil {
			return f.fail(of.Position, err.Error(), advice)
		}
		return nil
	})
	return nil
}
