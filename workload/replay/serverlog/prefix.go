package serverlog

import (
	"fmt"
	"strings"
)

// prefix is a log_line_prefix: what stands before each message (PostgreSQL's manual, "Error
// Reporting and Logging").
type prefix struct {
	format   string
	elements []element
	// optional is from which element on only sessions have it (%q); -1 without.
	optional int
	clock    clock
	// rivals are prefixes that the lines may as well begin with, by which users or databases
	// are others.
	rivals []string
}

// element is a literal or, with a letter, an escape.
type element struct {
	literal string
	escape  byte
	// padded is true of a width, such as %10u, that may be filled with spaces before.
	padded bool
}

// found is what a prefix tells.
type found struct {
	at             int64
	session        string
	user, database string
	backend        string
	code           string
	literal        int   // bytes of the prefix that are its own and no escape's
	start          int64 // of the session; 0 if it does not tell
	first          bool  // the session's first line
	whole          bool  // at is to the second
}

// compile reads a log_line_prefix.
func compile(format string) (*prefix, error) {
	p := &prefix{format: format, optional: -1}
	session, timed := false, false
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			end := i + 1
			for end < len(format) && format[end] != '%' {
				end++
			}
			p.literal(format[i:end])
			i = end - 1
			continue
		}
		begin := i + 1
		for i++; i < len(format) && (format[i] == '-' || isDigit(format[i])); i++ {
		}
		if i == len(format) {
			return nil, &FormatError{Reason: fmt.Sprintf("the prefix %q ends within an escape", format)}
		}
		switch c := format[i]; c {
		case '%':
			p.literal("%")
			continue
		case 'q':
			p.optional = len(p.elements)
			continue
		case 'p', 'c':
			session = true
		case 'm', 't', 'n':
			timed = true
		case 'a', 'u', 'd', 'r', 'h', 'L', 'b', 'P', 'l', 'i', 'e', 's', 'v', 'x', 'Q':
		default:
			return nil, &FormatError{Reason: fmt.Sprintf("the prefix %q has the escape %%%c, which PostgreSQL does not have", format, c)}
		}
		p.elements = append(p.elements, element{escape: format[i], padded: i > begin})
	}
	if !session || !timed {
		return nil, &FormatError{Reason: fmt.Sprintf("the prefix %q tells no sessions apart (%%p or %%c) or has no time (%%m, %%t or %%n); set log_line_prefix to '%%m [%%p] ' or use csvlog", format)}
	}
	return p, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (p *prefix) literal(text string) {
	if n := len(p.elements); n > 0 && p.elements[n-1].escape == 0 && p.optional != n {
		p.elements[n-1].literal += text
		return
	}
	p.elements = append(p.elements, element{literal: text})
}

// match reads a line's prefix, and its severity behind it; ok is false for a line that does not
// begin a message.
func (p *prefix) match(line string) (f found, severity, rest string, ok bool) {
	if severity, rest, ok = p.through(line, len(p.elements), &f); ok || p.optional < 0 {
		return f, severity, rest, ok
	}
	severity, rest, ok = p.through(line, p.optional, &f)
	return f, severity, rest, ok
}

func (p *prefix) through(line string, elements int, f *found) (severity, rest string, ok bool) {
	*f = found{}
	for i, e := range p.elements[:elements] {
		if e.escape == 0 {
			if !strings.HasPrefix(line, e.literal) {
				return "", "", false
			}
			line = line[len(e.literal):]
			f.literal += len(e.literal)
			continue
		}
		if line, ok = p.field(e, line, i, elements, f); !ok {
			return "", "", false
		}
	}
	severity, rest, ok = cutSeverity(line)
	return severity, rest, ok
}

// field reads what stands for an escape, and returns the rest of the line.
func (p *prefix) field(e element, line string, i, elements int, f *found) (rest string, ok bool) {
	if e.padded {
		line = strings.TrimLeft(line, " ")
	}
	switch escape := e.escape; escape {
	case 'm', 't', 's':
		at, n, fraction, ok := p.clock.read(line)
		if !ok || escape == 'm' && !fraction || escape == 't' && fraction {
			return line, escape == 's' && !ok // a process without a session has none
		}
		if escape == 's' {
			f.start = at
		} else {
			f.at, f.whole = at, !fraction
		}
		return line[n:], true
	case 'n':
		at, n, ok := epoch(line)
		f.at = at
		return line[n:], ok
	}
	end := p.end(line, i, elements)
	if end < 0 {
		return line, false
	}
	value := strings.TrimRight(line[:end], " ")
	switch e.escape {
	case 'p':
		if _, ok := digits(value, len(value)); !ok || value == "" {
			return line, false
		}
		if f.session == "" {
			f.session = value
		}
	case 'c':
		if strings.Trim(value, "0123456789abcdef.") != "" || value == "" {
			return line, false
		}
		f.session = value
	case 'l':
		if _, ok := digits(value, len(value)); !ok {
			return line, false
		}
		f.first = value == "1"
	case 'u':
		f.user = value
	case 'd':
		f.database = value
	case 'b':
		f.backend = value
	case 'e':
		f.code = value
	}
	return line[end:], true
}

// end is where a field ends: before the literal that follows it, or before the severity.
func (p *prefix) end(line string, i, elements int) int {
	if i+1 < elements {
		if next := p.elements[i+1]; next.escape == 0 {
			if e := p.elements[i].escape; i+2 == elements && (e == 'a' || e == 'b') {
				return beforeSeverity(line, next.literal) // such names have spaces
			}
			return strings.Index(line, next.literal)
		}
		n := 0
		for n < len(line) && line[n] != ' ' {
			n++
		}
		return n
	}
	return beforeSeverity(line, "")
}

// beforeSeverity is where a literal begins that a severity follows; -1 if there is none.
func beforeSeverity(line, literal string) int {
	for at := 0; at+len(literal) < len(line); at++ {
		if strings.HasPrefix(line[at:], literal) {
			if _, _, is := cutSeverity(line[at+len(literal):]); is {
				return at
			}
		}
	}
	return -1
}

// severities are what a line of a message can be, in the server's own words (elog.c of
// PostgreSQL with lc_messages C).
func severities() []string {
	return []string{"LOG", "ERROR", "FATAL", "PANIC", "STATEMENT", "DETAIL", "HINT", "CONTEXT", "QUERY", "LOCATION", "BACKTRACE", "WARNING", "NOTICE", "INFO",
		"DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5"}
}

var known = severities()

// cutSeverity cuts "LOG:  " and the like from a line.
func cutSeverity(line string) (severity, rest string, ok bool) {
	if line == "" || line[0] < 'A' || line[0] > 'Z' {
		return "", "", false
	}
	end := strings.IndexByte(line[:min(len(line), 12)], ':')
	if end < 0 || !strings.HasPrefix(line[end:], ":  ") {
		return "", "", false
	}
	for _, s := range known {
		if line[:end] == s {
			return s, line[end+3:], true
		}
	}
	return "", "", false
}
