package serverlog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// jsonLine is a line of jsonlog (PostgreSQL's manual, "Using JSON-Format Log Output").
type jsonLine struct {
	Timestamp    string `json:"timestamp"`
	User         string `json:"user"`
	Database     string `json:"dbname"`
	Session      string `json:"session_id"`
	Line         int64  `json:"line_num"`
	SessionStart string `json:"session_start"`
	Severity     string `json:"error_severity"`
	Code         string `json:"state_code"`
	Message      string `json:"message"`
	Detail       string `json:"detail"`
	Context      string `json:"context"`
	Statement    string `json:"statement"`
}

func readJSON(in *bufio.Reader, sum *Summary, each func(*Event) error) error {
	to := newPostgres(sum, each)
	l := &lines{in: in}
	var at, start clock
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			note(sum, &at)
			return to.end()
		}
		if err != nil {
			return err
		}
		sum.Lines = l.number
		if len(line) == 0 {
			continue
		}
		var j jsonLine
		if !j.read(line) {
			err = json.Unmarshal(line, &j)
		}
		when, _, _, ok := at.read(j.Timestamp)
		if err != nil || !ok {
			if _, more := in.Peek(1); errors.Is(more, io.EOF) && sum.First != 0 {
				sum.Notes = append(sum.Notes, "the log ends within a line")
				return to.end()
			}
			return &FormatError{Line: l.number, Reason: "it is no line of jsonlog"}
		}
		began, _, _, _ := start.read(j.SessionStart)
		m := message{found: found{at: when, session: j.Session, user: j.User, database: j.Database, code: j.Code, start: began, first: j.Line == 1},
			severity: j.Severity, text: j.Message, detail: j.Detail, context: j.Context, statement: j.Statement, cut: l.cut}
		if err := to.message(&m); err != nil {
			return err
		}
	}
}

// read takes a line apart that is as PostgreSQL writes them: strings and whole numbers under
// names without escapes. ok is false for all others, of which a parser has to say what they
// are; what was read until then is overwritten by it or is the same.
func (j *jsonLine) read(line []byte) (ok bool) {
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	for line = line[1:]; ; line = line[1:] {
		name, escaped, rest, is := cutString(line)
		if !is || escaped || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		to := j.field(name)
		if line = rest[1:]; len(line) > 0 && line[0] == '"' {
			value, escaped, rest, is := cutString(line)
			if !is || to != nil && !take(to, value, escaped, line[:len(line)-len(rest)]) {
				return false
			}
			line = rest
		} else {
			n := 0
			for n < len(line) && isDigit(line[n]) {
				n++
			}
			if n == 0 || n > 18 || line[0] == '0' && n > 1 || to != nil {
				return false
			}
			if string(name) == "line_num" {
				j.Line, _ = strconv.ParseInt(string(line[:n]), 10, 64) // digits
			}
			line = line[n:]
		}
		switch {
		case len(line) == 1 && line[0] == '}':
			return true
		case len(line) == 0 || line[0] != ',':
			return false
		}
	}
}

// field is where the string of this name goes; nil if it is not kept.
func (j *jsonLine) field(name []byte) *string {
	switch string(name) {
	case "timestamp":
		return &j.Timestamp
	case "user":
		return &j.User
	case "dbname":
		return &j.Database
	case "session_id":
		return &j.Session
	case "session_start":
		return &j.SessionStart
	case "error_severity":
		return &j.Severity
	case "state_code":
		return &j.Code
	case "message":
		return &j.Message
	case "detail":
		return &j.Detail
	case "context":
		return &j.Context
	case "statement":
		return &j.Statement
	}
	return nil
}

// take keeps the value of a string, which is quoted in the line.
func take(to *string, value []byte, escaped bool, quoted []byte) bool {
	if escaped {
		plain, err := jsontext.AppendUnquote(nil, quoted)
		*to = string(plain)
		return err == nil
	}
	*to = string(value)
	return utf8.Valid(value)
}

// cutString cuts a string in quotes from the beginning of a text.
func cutString(text []byte) (value []byte, escaped bool, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, false, nil, false
	}
	for at := 1; ; at++ {
		n := bytes.IndexAny(text[at:], "\"\\")
		if n < 0 {
			return nil, false, nil, false
		}
		if at += n; text[at] == '"' {
			return text[1:at], escaped, text[at+1:], true
		}
		if escaped, at = true, at+1; at >= len(text) {
			return nil, false, nil, false
		}
	}
}
