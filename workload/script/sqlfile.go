package script

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// parseSQL reads a script in SQL: the part of the language of pgbench's scripts that
// docs/script.md has (PostgreSQL manual, "pgbench", "Custom Scripts"). The file is one
// transaction. The error is an *Error.
func parseSQL(c Config, defines map[string]string, known *statements) (*program, error) {
	p := &program{path: c.File, statements: known}
	r := &reader{path: c.File, text: string(c.Text), program: p, known: map[string]bool{"client_id": true, operationID: true}}
	r.name = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	constants := map[string]scalar{}
	for name, text := range defines {
		if r.known[name] {
			return nil, &Error{File: c.File, Reason: fmt.Sprintf("--define %s: the variable is set by assay", name)}
		}
		constants[name] = scalarOf(text)
		r.known[name] = true
	}
	if err := r.all(); err != nil {
		return nil, err
	}
	commands := r.commands
	p.transactions = []transaction{{name: r.name, weight: 1, alone: r.alone(), run: func(c *call) error {
		return runCommands(p.path, commands, constants, c)
	}}}
	for _, declare := range r.declared {
		if err := declare(); err != nil {
			return nil, err
		}
	}
	if c.Setup != "" {
		steps, err := readSetup(c, constants)
		if err != nil {
			return nil, err
		}
		p.setup = func(s *setup) error {
			for _, step := range steps {
				if err := s.exec(step.text); err != nil {
					return step.wrong(c.Setup, err)
				}
			}
			return nil
		}
	}
	return p, p.finish()
}

// reader reads a script in SQL.
type reader struct {
	path, text, name string
	at               int
	program          *program
	// known are the variables that are set.
	known    map[string]bool
	commands []command
	declared []func() error
	sent     int
	// begun and ended are whether BEGIN and END were read.
	begun, ended bool
}

// fail is an error at a byte of the text.
func (r *reader) fail(at int, reason, advice string) error {
	line, column := lineAndColumn(r.text, at)
	return &Error{File: r.path, Line: line, Column: column, Reason: reason, Advice: advice}
}

// lineAndColumn is the line and column, in characters from 1, of a byte of a text.
func lineAndColumn(text string, at int) (line, column int) {
	before := text[:min(at, len(text))]
	return strings.Count(before, "\n") + 1, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
}

const advicePart = "docs/script.md has the part of pgbench's language that is understood"

func (r *reader) all() error {
	for {
		if err := r.comments(); err != nil {
			return err
		}
		if r.at == len(r.text) {
			break
		}
		var err error
		if r.text[r.at] == '\\' {
			err = r.meta()
		} else {
			err = r.statement()
		}
		if err != nil {
			return err
		}
	}
	switch {
	case r.sent == 0:
		return &Error{File: r.path, Reason: "it has no statement", Advice: advicePart}
	case r.begun && !r.ended:
		return &Error{File: r.path, Reason: "BEGIN has no END", Advice: "write END; behind the last statement"}
	case !r.begun && r.sent > 1:
		return &Error{File: r.path, Reason: fmt.Sprintf("it has %d statements and no BEGIN", r.sent),
			Advice: "an operation is one transaction: write BEGIN; before them and END; behind them"}
	}
	return nil
}

// alone reports whether the script is one statement that can be sent by itself: without
// BEGIN, and no query that calls a function, which may have an effect.
func (r *reader) alone() bool {
	for i := range r.commands {
		of := &r.commands[i]
		s, err := r.program.statements.inTransaction(of.text, len(of.variables))
		switch {
		case of.variable != "":
		case of.sleep != 0, r.begun, err != nil, s.reads && strings.Contains(of.text, "("):
			return false
		}
	}
	return true
}

// comments goes over spaces and comments, and reads those that declare something.
func (r *reader) comments() error {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			r.at++
		case strings.HasPrefix(rest, "--"):
			line, _, _ := strings.Cut(rest, "\n")
			if declared, is := strings.CutPrefix(strings.TrimSpace(line[2:]), "assay:"); is {
				if err := r.declare(r.at, declared); err != nil {
					return err
				}
			}
			r.at += len(line)
		case strings.HasPrefix(rest, "/*"):
			l := lexer{text: r.text, at: r.at}
			if err := l.skip(); err != nil {
				return r.fail(r.at, err.Error(), "")
			}
			r.at = l.at
		default:
			return nil
		}
	}
	return nil
}

// meta reads a line that begins with a backslash.
func (r *reader) meta() error {
	start := r.at
	line := ""
	for more := true; more; { // a backslash at the end of a line continues it
		part, _, found := strings.Cut(r.text[r.at:], "\n")
		r.at += len(part)
		if found {
			r.at++
		}
		trimmed := strings.TrimRight(part, " \t\r")
		more = found && strings.HasSuffix(trimmed, "\\") && len(trimmed) > 1
		if more {
			part = trimmed[:len(trimmed)-1] + strings.Repeat(" ", len(part)-len(trimmed)+1)
		}
		line += part + " "
	}
	of := command{}
	of.line, of.column = lineAndColumn(r.text, start)
	e := &expressions{reader: r, start: start, lexer: lexer{text: line, at: 1, variables: true}}
	name, err := e.take()
	if err != nil {
		return err
	}
	switch {
	case name.is("set"):
		variable, err := e.take()
		if err != nil {
			return err
		}
		if variable.kind != word {
			return e.fail(variable, "\\set wants a variable and an expression", advicePart)
		}
		of.variable = variable.text
		if of.value, err = e.whole(); err != nil {
			return err
		}
		r.known[of.variable] = true
	case name.is("sleep"):
		if err := e.sleep(&of); err != nil {
			return err
		}
	default:
		return e.fail(name, fmt.Sprintf("\\%s is not understood", name.text), advicePart)
	}
	if r.ended {
		return r.fail(start, "there is something behind END", "an operation is one transaction: leave it out")
	}
	r.commands = append(r.commands, of)
	return nil
}

// next reads up to the next semicolon, with what replace gives where a variable or a
// parameter stands. first is the first token, the zero token at the end of the text.
func (r *reader) next(replace func(t token) (string, error)) (of command, first token, err error) {
	l := lexer{text: r.text, at: r.at, variables: true}
	copied := 0
	for {
		t, found, err := l.next()
		if bad := (*sqlError)(nil); errors.As(err, &bad) {
			return of, first, r.fail(bad.at, bad.reason, "")
		}
		if !found && first.kind != 0 {
			err = r.fail(first.start, "the statement has no semicolon", "end it with ;")
		}
		if !found {
			return of, first, err
		}
		if first.kind == 0 {
			first, copied = t, t.start
			of.line, of.column = lineAndColumn(r.text, t.start)
		}
		switch {
		case t.kind == variable || t.kind == parameter:
			with, err := replace(t)
			if err != nil {
				return of, first, err
			}
			of.text += r.text[copied:t.start] + with
			copied = t.end
		case t.kind == sign && t.text == ";":
			of.text = strings.TrimSpace(of.text + r.text[copied:t.start])
			r.at = t.end
			return of, first, nil
		}
	}
}

func (r *reader) statement() error {
	var variables []string
	of, first, err := r.next(func(t token) (string, error) {
		if t.kind == parameter {
			return "", r.fail(t.start, "a parameter is written as :name", advicePart)
		}
		if !r.known[t.text] {
			return "", r.fail(t.start, fmt.Sprintf("the variable %s is not set", t.text), fmt.Sprintf("write \\set %s before, or give --define %s=VALUE", t.text, t.text))
		}
		at := slices.Index(variables, t.text)
		if at < 0 {
			at = len(variables)
			variables = append(variables, t.text)
		}
		return "$" + strconv.Itoa(at+1), nil
	})
	if err != nil {
		return err
	}
	of.variables = variables
	return r.enter(of, first)
}

// readSetup reads the SQL that makes tables and rows.
func readSetup(c Config, constants map[string]scalar) (steps []command, err error) {
	r := &reader{path: c.Setup, text: string(c.SetupText)}
	for {
		of, first, err := r.next(func(t token) (string, error) {
			v, given := constants[t.text]
			switch {
			case t.kind == parameter:
				return r.text[t.start:t.end], nil // which is refused with its statement
			case !given || v.isText:
				return "", r.fail(t.start, fmt.Sprintf("the variable %s is no number that --define gives", t.text), fmt.Sprintf("give --define %s=1", t.text))
			}
			return fmt.Sprint(v.any()), nil
		})
		if err != nil || first.kind == 0 {
			return steps, err
		}
		steps = append(steps, of)
	}
}

// enter takes a statement into the transaction.
func (r *reader) enter(of command, first token) error {
	only := !strings.ContainsAny(of.text, " \t\n")
	switch {
	case r.ended:
		return r.fail(first.start, "there is a statement behind END", "an operation is one transaction: leave it out, or write it before END")
	case first.is("begin") && only:
		if r.begun || r.sent > 0 {
			return r.fail(first.start, "BEGIN is not the first statement", "an operation is one transaction")
		}
		r.begun = true
		return nil
	case first.is("end", "commit") && only:
		if !r.begun {
			return r.fail(first.start, strings.ToUpper(first.text)+" without BEGIN", "write BEGIN; before the first statement")
		}
		r.ended = true
		return nil
	}
	if _, err := r.program.statements.inTransaction(of.text, len(of.variables)); err != nil {
		return of.wrong(r.path, err)
	}
	r.sent++
	r.commands = append(r.commands, of)
	return nil
}

// declare reads a comment that declares something, such as
// "invariant money equals 0: SELECT sum(balance) FROM account".
func (r *reader) declare(at int, text string) error {
	const advice = "write -- assay: invariant NAME [at_end] (empty | equals VALUE | at_least VALUE | at_most VALUE): QUERY, -- assay: counted NAME [start N] [each N]: QUERY, or -- assay: listed NAME [column NAME]: QUERY"
	head, query, found := strings.Cut(text, ":")
	words := strings.Fields(head)
	if !found || len(words) < 2 {
		return r.fail(at, "a declaration that is not understood", advice)
	}
	query = strings.TrimSpace(query)
	kind, name, words := words[0], words[1], words[2:]
	i := invariant{name: name, query: Statement{Text: query}}
	c := rowCount{name: name, query: i.query, transaction: r.name, each: 1}
	l := rowList{name: name, query: i.query, transaction: r.name, column: "id", each: 1}
	for len(words) > 0 {
		of, is := relations()[words[0]]
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
			i.wanted, words = append(i.wanted, bound{of, scalarOf(words[1]).any()}), words[2:]
		case kind == "counted" && words[0] == "start" && len(words) > 1:
			c.start, words = number, words[2:]
		case kind == "counted" && words[0] == "each" && len(words) > 1:
			c.each, words = number, words[2:]
		case kind == "listed" && words[0] == "column" && len(words) > 1:
			l.column, words = words[1], words[2:]
		default:
			return r.fail(at, fmt.Sprintf("%q is not understood", words[0]), advice)
		}
	}
	r.declared = append(r.declared, func() (err error) {
		switch kind {
		case "invariant":
			err = r.program.addInvariant(i)
		case "counted":
			err = r.program.addCount(c)
		case "listed":
			err = r.program.addList(l)
		default:
			err = fmt.Errorf("%q cannot be declared", kind)
		}
		if err != nil {
			return r.fail(at, err.Error(), advice)
		}
		return nil
	})
	return nil
}
