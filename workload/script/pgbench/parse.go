package pgbench

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Parse reads a script; errors are *Error. It splits SQL without judging it, as pgbench does.
func Parse(path, text string) (*Script, error) {
	r := &reader{path: path, text: text, script: &Script{}}
	if at := invalid(text); at >= 0 {
		return nil, r.fail(at, "it is not text in UTF-8", "")
	}
	for r.at < len(text) {
		if err := r.statement(); err != nil {
			return nil, err
		}
		if r.at < len(text) && text[r.at] == '\\' {
			if err := r.meta(); err != nil {
				return nil, err
			}
		}
	}
	if len(r.open) > 0 {
		return nil, r.fail(r.open[len(r.open)-1].at, "\\if has no \\endif", "write \\endif behind its last command")
	}
	if len(r.script.Commands) == 0 {
		return nil, &Error{Path: path, Position: Position{1, 1}, Reason: "it has no statement and no command", Advice: "write a statement of SQL"}
	}
	return r.script, nil
}

// invalid is the first byte that is not text; -1 if there is none.
func invalid(text string) int {
	for i, c := range text {
		if c == 0 || c == utf8.RuneError && text[i] != 0xef { // U+FFFD itself begins with 0xef
			return i
		}
	}
	return -1
}

type reader struct {
	path, text string
	at         int
	script     *Script
	// line is the number of the line at lineStart, the last one asked for.
	line, lineStart int
	open            []*condition
}

// fail is an error at a byte of the text.
func (r *reader) fail(at int, reason, advice string) error {
	return &Error{Path: r.path, Position: r.position(at), Reason: reason, Advice: advice}
}

func (r *reader) position(at int) Position {
	at = min(at, len(r.text))
	if at < r.lineStart || r.line == 0 {
		r.line, r.lineStart = 1, 0
	}
	for {
		end := strings.IndexByte(r.text[r.lineStart:at], '\n')
		if end < 0 {
			return Position{r.line, utf8.RuneCountInString(r.text[r.lineStart:at]) + 1}
		}
		r.line, r.lineStart = r.line+1, r.lineStart+end+1
	}
}

// add enters a command and returns its number.
func (r *reader) add(at int, c Command) int {
	c.Position = r.position(at)
	r.script.Commands = append(r.script.Commands, c)
	return len(r.script.Commands) - 1
}

// statement reads up to a semicolon, a backslash command, or the end.
func (r *reader) statement() error {
	s := &splitter{reader: r, first: -1}
	ended, err := s.read()
	if err != nil || s.first < 0 {
		return err
	}
	if !ended && s.parentheses > 0 {
		return r.fail(s.first, "a parenthesis of the statement does not end", "a semicolon in parentheses ends no statement: close them")
	}
	if !ended && s.bodies > 0 {
		return r.fail(s.first, "BEGIN in the body of a function has no END", "write END; behind the body's last statement")
	}
	of := s.finish()
	if len(of.Parts) == 0 {
		return nil
	}
	if len(of.References) > MaxParameters {
		return r.fail(s.first, fmt.Sprintf("the statement has %d variables, and pgbench takes %d at most", len(of.References), MaxParameters), "")
	}
	r.add(s.first, Command{Kind: SQL, Statement: of})
	return nil
}
