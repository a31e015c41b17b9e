package exchange

import "io"

// logReader finds the operations in the lines of a log. It ignores text before an operation
// (time, level, logger) and all other lines.
type logReader struct {
	in    *input
	tree  *tree
	line  []byte
	found bool
}

func newLogReader(in *input, t *tree) *logReader { return &logReader{in: in, tree: t} }

func (l *logReader) next() (place, error) {
	for {
		number := l.in.line
		more, err := l.readLine()
		if err != nil {
			return place{}, err
		}
		if at := operationIn(l.line); at >= 0 {
			l.found = true
			if !more { // of [1 23] or 123 a part would read as another value
				return place{}, &FormatError{Line: number, Reason: "the last line does not end; is the file cut short"}
			}
			return place{number, at + 1}, l.parse(number, at)
		}
		if more {
			continue
		}
		if !l.found {
			return place{}, &FormatError{Line: 1, Reason: "no operation was found; expected a history of Jepsen's, " +
				"as EDN, as JSON, or as lines such as: 0 :invoke :read nil"}
		}
		return place{}, io.EOF
	}
}

// readLine reads one line without its end. more is false at the end of the file.
func (l *logReader) readLine() (more bool, err error) {
	l.line = l.line[:0]
	for {
		c, ok := l.in.take()
		if !ok {
			return false, l.in.broken()
		}
		switch c {
		case '\n':
			return true, nil
		case 0:
			return false, l.in.zero(l.in.base + int64(l.in.pos) - 1)
		}
		if l.line = append(l.line, c); len(l.line) > maxText {
			return false, l.in.bad("a line longer than %d bytes", maxText)
		}
	}
}

// operationIn returns where in a line an operation begins, which is a process, a type and a
// function; -1 if there is none.
func operationIn(line []byte) int {
	process, typed := -1, -1 // where these words began, if they are the last ones
	for at := 0; at < len(line); {
		if logSpace(line[at]) {
			at++
			continue
		}
		end := at
		for end < len(line) && !logSpace(line[end]) {
			end++
		}
		word := line[at:end]
		if typed >= 0 && word[0] == ':' {
			return typed
		}
		typed = -1
		switch string(word) {
		case ":invoke", ":ok", ":fail", ":info":
			typed = process
		}
		process = -1
		if digits(word, 0) == len(word) || string(word) == ":nemesis" {
			process = at
		}
		at = end
	}
	return -1
}

func logSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// parse builds the map that EDN would have.
func (l *logReader) parse(number, begin int) error {
	t, text := l.tree, l.line[begin:]
	in := &input{buf: text, end: len(text), err: io.EOF, line: number, lineAt: int64(-begin)}
	edn := &ednReader{in: in, tree: t}
	at := t.open(mapNode)
	for _, field := range []string{"process", "type", "f", "value"} {
		if err := edn.blank(0); err != nil {
			return err
		}
		if _, more := in.peek(); !more {
			return in.bad("an operation without a %s", field)
		}
		start := len(t.text)
		t.text = append(t.text, field...)
		t.addText(keywordNode, start)
		if err := edn.value(1); err != nil {
			return err
		}
	}
	t.close(at)
	return nil
}
