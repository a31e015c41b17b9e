package serverlog

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// postgres makes events of PostgreSQL's messages, whatever the form of the log. What the server
// writes when is in its postgres.c (exec_simple_query, exec_parse_message, exec_bind_message,
// exec_execute_message) and in the manual's "What to Log".
type postgres struct {
	sum      *Summary
	each     func(*Event) error
	sessions map[string]*pgSession
	last     int64 // number of the last session
	event    Event
	// connections is true once a line told of a connection.
	connections bool
	// resolution is how much later a moment may have been than its time says, in nanoseconds.
	resolution int64
}

// pgSession is what is kept of a session.
type pgSession struct {
	number         int64
	user, database string
	connected      bool // Connected was given
	began          bool // its beginning is in the log
	authorized     bool
	replication    bool
	since          int64 // when its connection began, if a line tells; else 0
	// lastEnd is when its last statement ended, as far as that is known: the next one cannot
	// have begun before, whatever the clock of the log says.
	lastEnd int64
	// pending is a statement whose beginning is in the log and whose end is not yet.
	pending *pgPending
	// extra is how long the parts before the execution took (parse, bind).
	extra int64
}

type pgPending struct {
	at         int64
	text       string
	extended   bool
	prepared   string
	parameters []*string
	rejected   string
}

func newPostgres(sum *Summary, each func(*Event) error) *postgres {
	return &postgres{sum: sum, each: each, sessions: map[string]*pgSession{}, resolution: int64(time.Millisecond)}
}

// message takes the next message of the log.
func (p *postgres) message(m *message) error {
	if p.sum.First == 0 {
		p.sum.First = m.at
	}
	p.sum.Last = max(p.sum.Last, m.at)
	if m.whole {
		p.resolution = int64(time.Second)
	}
	if m.session == "" {
		return nil
	}
	m.verbose()
	switch m.severity {
	case "LOG":
		return p.log(m)
	case "ERROR":
		return p.failed(m)
	case "FATAL", "PANIC":
		return p.fatal(m)
	}
	return nil
}

// verbose cuts the code that log_error_verbosity = verbose writes before a message.
func (m *message) verbose() {
	if len(m.text) < 7 || m.text[5] != ':' || m.text[6] != ' ' {
		return
	}
	for i := range 5 {
		if c := m.text[i]; !isDigit(c) && (c < 'A' || c > 'Z') {
			return
		}
	}
	m.code, m.text = m.text[:5], m.text[7:]
}

// session is the state of a message's session, a new one if there is none.
func (p *postgres) session(m *message) *pgSession {
	s := p.sessions[m.session]
	if s == nil {
		p.last++
		s = &pgSession{number: p.last, lastEnd: p.sum.First}
		s.began = m.first || m.start > p.sum.First
		p.sessions[m.session] = s
	}
	if s.user == "" && m.user != "[unknown]" {
		s.user, s.database = m.user, m.database
	}
	return s
}

func (p *postgres) log(m *message) error {
	first, rest, _ := strings.Cut(m.text, " ")
	switch first {
	case "duration:":
		return p.duration(m, rest)
	case "statement:":
		s := p.session(m)
		if err := p.flush(s, -1); err != nil {
			return err
		}
		s.pending = &pgPending{at: m.at, text: rest, rejected: tooLong(m)}
	case "execute":
		s := p.session(m)
		if err := p.flush(s, -1); err != nil {
			return err
		}
		s.pending = p.execution(m, rest)
		s.pending.at = m.at - s.extra
	case "fastpath":
		s := p.session(m)
		s.pending = &pgPending{at: m.at, rejected: FunctionCalls}
	case "received":
		if strings.HasPrefix(rest, "replication command:") {
			return p.did(p.session(m), &pgPending{at: m.at, rejected: Replication}, -1)
		}
	case "connection", "replication":
		return p.connection(m)
	case "disconnection:":
		return p.disconnected(m)
	}
	return nil
}

// connection takes a line about one that is being made.
func (p *postgres) connection(m *message) error {
	received := strings.HasPrefix(m.text, "connection received")
	if !received && !strings.Contains(m.text, "connection authorized") {
		return nil
	}
	p.connections = true
	if old := p.sessions[m.session]; old != nil && (received || old.authorized) {
		// The process id is that of an earlier session, whose end the log does not have.
		if err := p.close(m.session, old, m.at); err != nil {
			return err
		}
	}
	s := p.session(m)
	if s.began = true; s.since == 0 {
		s.since = m.at
	}
	if received {
		return nil
	}
	s.authorized = true
	s.replication = strings.HasPrefix(m.text, "replication")
	if user, database, is := authorized(m.text); is {
		s.user, s.database = cmp.Or(user, s.user), cmp.Or(database, s.database)
	}
	return p.connect(s, s.since)
}

func (p *postgres) connect(s *pgSession, at int64) error {
	if s.connected || s.replication {
		return nil
	}
	s.connected = true
	if s.since > 0 {
		at = s.since
	}
	s.lastEnd = max(at, p.sum.First)
	p.event = Event{Kind: Connected, Session: s.number, At: s.lastEnd, Duration: -1, Began: s.began, User: s.user, Database: s.database}
	return p.each(&p.event)
}

func (p *postgres) disconnected(m *message) error {
	p.connections = true
	s := p.sessions[m.session]
	if s == nil {
		return nil // nothing of it is in the log
	}
	return p.close(m.session, s, m.at)
}

func (p *postgres) close(key string, s *pgSession, at int64) error {
	delete(p.sessions, key)
	err := p.flush(s, -1)
	if err == nil && s.connected {
		p.event = Event{Kind: Disconnected, Session: s.number, At: max(at, s.lastEnd), Duration: -1}
		err = p.each(&p.event)
	}
	return err
}

// flush gives the statement that is under way, which ended after so long; -1 if that is not
// known.
func (p *postgres) flush(s *pgSession, took int64) error {
	pending := s.pending
	if pending == nil {
		return nil
	}
	s.pending = nil
	return p.did(s, pending, took)
}

// did gives a statement.
func (p *postgres) did(s *pgSession, of *pgPending, took int64) error {
	return p.ended(s, of, took, "", "")
}

func (p *postgres) ended(s *pgSession, of *pgPending, took int64, failed, code string) error {
	s.extra = 0
	if s.replication {
		of.rejected = Replication
	}
	if of.rejected == "" && of.at+p.resolution < p.sum.First {
		of.rejected = RunningAtStart
	}
	if err := p.connect(s, of.at); err != nil {
		return err
	}
	at := max(s.lastEnd, of.at)
	s.lastEnd = at + max(took, 0)
	p.event = Event{Kind: Did, Session: s.number, At: at, Duration: took, Text: of.text, Extended: of.extended, Prepared: of.prepared,
		Parameters: of.parameters, Rejected: of.rejected, Error: failed, Code: code}
	return p.each(&p.event)
}

func tooLong(m *message) string {
	if m.cut {
		return TooLong
	}
	return ""
}

// duration takes "duration: 0.123 ms" with what may follow it.
func (p *postgres) duration(m *message, rest string) error {
	number, rest, _ := strings.Cut(rest, " ms")
	millis, err := strconv.ParseFloat(number, 64)
	if err != nil || !(millis >= 0 && millis < 1e12) {
		return nil
	}
	took := int64(millis * float64(time.Millisecond))
	rest = strings.TrimLeft(rest, " ")
	what, text, _ := strings.Cut(rest, " ")
	if what == "plan:" || strings.HasPrefix(what, "plan:") {
		return nil // auto_explain's
	}
	_, old := p.sessions[m.session]
	s := p.session(m)
	switch what {
	case "":
		if s.pending != nil {
			took += s.extra
			return p.flush(s, took)
		}
		if !old && !s.began && m.at-took+p.resolution < p.sum.First {
			return p.did(s, &pgPending{at: m.at - took, rejected: RunningAtStart}, took)
		}
		s.extra += took // of parse or bind
		return nil
	case "parse", "bind":
		s.extra += took
		return nil
	case "statement:":
		return p.did(s, &pgPending{at: m.at - took, text: text, rejected: tooLong(m)}, took)
	case "execute":
		took += s.extra
		of := p.execution(m, text)
		of.at = m.at - took
		return p.did(s, of, took)
	case "fastpath":
		return p.did(s, &pgPending{at: m.at - took, rejected: FunctionCalls}, took)
	}
	return nil
}

// execution reads what follows "execute": the name, the text, and the parameters in the detail.
func (p *postgres) execution(m *message, rest string) *pgPending {
	name, text, _ := strings.Cut(rest, ": ")
	of := &pgPending{text: text, extended: true, parameters: []*string{}, rejected: tooLong(m)}
	if strings.HasPrefix(name, "fetch from ") {
		of.rejected, name = Fetches, "<unnamed>"
	}
	name, _, _ = strings.Cut(name, "/") // the portal's
	if name != "<unnamed>" {
		of.prepared = name
	}
	of.parameters = parametersOf(m.detail)
	if of.parameters == nil {
		of.parameters = []*string{}
		if usesParameters(text) && of.rejected == "" {
			of.rejected = NoParameters
		}
	}
	return of
}

// failed takes an error with the statement that it is about.
func (p *postgres) failed(m *message) error {
	if _, known := p.sessions[m.session]; !known && m.statement == "" {
		return nil
	}
	s := p.session(m)
	of := s.pending
	s.pending = nil
	switch {
	case of != nil && (m.statement == "" || m.statement == of.text):
	case m.statement == "":
		return nil // not about a statement
	default:
		if of != nil {
			if err := p.did(s, of, -1); err != nil {
				return err
			}
		}
		of = p.refused(m)
	}
	return p.ended(s, of, -1, m.text, m.code) // the times of lines are too coarse for a duration
}

// refused is a statement that only its error tells of. It is as it is said to be: the time is
// that of the error, and the parameters are in the context, if the server is set to write them
// (log_parameter_max_length_on_error).
func (p *postgres) refused(m *message) *pgPending {
	of := &pgPending{at: m.at, text: m.statement, rejected: tooLong(m)}
	of.parameters = parametersOf(m.context)
	of.extended = of.parameters != nil
	if !of.extended && usesParameters(m.statement) && of.rejected == "" && !strings.Contains(m.statement, "$$") {
		of.rejected = NoParameters
	}
	return of
}

// fatal takes an error that ends its session.
func (p *postgres) fatal(m *message) error {
	s := p.sessions[m.session]
	if s == nil || !s.connected && s.pending == nil {
		delete(p.sessions, m.session)
		p.event = Event{Kind: Did, Session: 0, At: m.at, Duration: -1, Rejected: NoConnection}
		return p.each(&p.event)
	}
	if m.statement != "" || s.pending != nil {
		if err := p.failed(m); err != nil {
			return err
		}
	}
	return p.close(m.session, s, m.at)
}

// end gives what is under way at the end of the log.
func (p *postgres) end() error {
	for _, s := range p.inOrder() {
		if err := p.flush(s, -1); err != nil {
			return err
		}
	}
	return nil
}
