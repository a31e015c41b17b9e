package serverlog

import (
	"bufio"
	"fmt"
	"strings"
	"time"
)

// message is one message of PostgreSQL's log, whatever the log's form.
type message struct {
	found
	severity, text             string
	detail, context, statement string
	// cut is true if a part of it was too long to keep.
	cut bool
}

// stderr puts the lines of a message together.
type stderr struct {
	prefix  *prefix
	to      *postgres
	message message
	// part is what the last line belongs to; nil if nothing is under way.
	part    *strings.Builder
	parts   [4]strings.Builder // text, detail, context, statement
	pending bool
	ignored strings.Builder
}

func readStderr(in *bufio.Reader, p *prefix, sum *Summary, each func(*Event) error) error {
	sum.Prefix = p.format
	s := &stderr{prefix: p, to: newPostgres(sum, each)}
	l := &lines{in: in}
	if err := l.each(s.line); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	sum.Lines = l.number - 1
	s.notes(sum)
	return s.to.end()
}

func (s *stderr) notes(sum *Summary) {
	if s.to.resolution == int64(time.Second) {
		sum.Notes = append(sum.Notes, "times are to the second (%t): statements of one second follow one another without a pause; %m has milliseconds")
	}
	if !strings.Contains(s.prefix.format, "%c") && !s.to.connections {
		sum.Notes = append(sum.Notes, "sessions are told apart by the process id alone: one that took the id of another is taken for it; log_connections = on or %c tells them apart")
	}
	if rivals := s.prefix.rivals; len(rivals) > 0 {
		sum.Notes = append(sum.Notes, fmt.Sprintf("the prefix may as well be %q, by which users and databases are others; if it is, name it with --prefix", rivals))
	}
	if zone := s.prefix.clock.zone; zone != "" {
		sum.Notes = append(sum.Notes, "times are in the zone "+zone+", which is taken for UTC")
	}
}

func (s *stderr) line(line string, cut bool) error {
	if len(line) > 0 && line[0] == '\t' { // PostgreSQL writes a tab behind each line's end within a message
		s.more(line[1:], cut)
		return nil
	}
	f, severity, rest, ok := s.prefix.match(line)
	if !ok {
		s.more(line, cut)
		return nil
	}
	at := -1
	switch severity {
	case "DETAIL":
		at = 1
	case "CONTEXT":
		at = 2
	case "STATEMENT":
		at = 3
	case "HINT", "QUERY", "LOCATION", "BACKTRACE":
		at = len(s.parts)
	}
	if at > 0 {
		if s.pending && f.session == s.message.session {
			s.begin(at, rest, cut)
		} else {
			s.part = nil
		}
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.message = message{found: f, severity: severity}
	s.pending = true
	s.begin(0, rest, cut)
	return nil
}

func (s *stderr) begin(part int, text string, cut bool) {
	s.part = &s.ignored
	if part < len(s.parts) {
		s.part = &s.parts[part]
	}
	s.part.Reset()
	s.part.WriteString(text)
	s.message.cut = s.message.cut || cut
}

// more adds a line to what is under way.
func (s *stderr) more(line string, cut bool) {
	switch {
	case s.part == nil || s.part == &s.ignored:
	case s.part.Len()+len(line) > maxText:
		s.message.cut = true
	default:
		s.part.WriteByte('\n')
		s.part.WriteString(line)
		s.message.cut = s.message.cut || cut
	}
}

func (s *stderr) flush() error {
	if !s.pending {
		return nil
	}
	m := &s.message
	m.text, m.detail, m.context, m.statement = s.parts[0].String(), s.parts[1].String(), s.parts[2].String(), s.parts[3].String()
	for i := range s.parts {
		s.parts[i].Reset()
	}
	s.pending, s.part = false, nil
	return s.to.message(m)
}
