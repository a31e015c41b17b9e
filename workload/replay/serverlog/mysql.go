package serverlog

import (
	"bufio"
	"bytes"
	"strings"
)

// general makes events of MySQL's and MariaDB's general query log: a line for each command, with
// its time, the connection's id, the command and its argument. A statement may go on over lines,
// which have nothing before them; MariaDB leaves out a time that is the one of the line before.
type general struct {
	sum      *Summary
	each     func(*Event) error
	sessions map[string]*generalSession
	last     int64
	clock    clock
	at       int64
	seconds  bool
	event    Event
	// The command under way.
	pending bool
	id      string
	command string
	text    strings.Builder
	cut     bool
}

type generalSession struct {
	number int64
	// executing is true behind a statement EXECUTE, whose text the log has again with its values.
	executing bool
}

// commands are those of the protocol, as the log names them (MySQL's sql_class.cc, MariaDB's
// sql_parse.cc: Command_names).
func commands() []string {
	return []string{"Query", "Connect", "Quit", "Prepare", "Execute", "Init DB", "Close stmt", "Reset stmt", "Field List", "Statistics", "Ping", "Fetch",
		"Long Data", "Binlog Dump", "Binlog Dump GTID", "Register Slave", "Register Replica", "Change user", "Reset Connection", "Reset connection", "Set option", "Sleep", "Refresh",
		"Shutdown", "Processlist", "Kill", "Debug", "Time", "Delayed insert", "Table Dump", "Connect Out", "Create DB", "Drop DB", "Error", "Daemon", "Bulk_execute", "Bulk execute", "Clone",
		"Slave_worker", "Slave_IO", "Slave_SQL", "Com_multi", "Subscribe Group Replication Stream"}
}

var knownCommands = commands()

func isGeneral(line []byte) bool {
	if bytes.HasPrefix(line, []byte("Time ")) && bytes.Contains(line, []byte("Id Command")) {
		return true
	}
	var g general
	_, _, _, ok := g.begins(string(chomp(line)))
	return ok && line[0] != '\t'
}

// begins reads the beginning of a line: its time, which stays the one before if it has none,
// the connection and the command.
func (g *general) begins(line string) (id, command, argument string, ok bool) {
	rest := line
	if strings.HasPrefix(line, "\t\t") {
		rest = line[1:]
	} else {
		at, n, fraction, is := g.clock.read(line)
		if !is {
			at, n, is = g.short(line)
		}
		if !is || n >= len(line) || line[n] != '\t' {
			return "", "", "", false
		}
		g.at = at
		g.seconds = g.seconds || !fraction
		rest = line[n:]
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	id, rest, ok = strings.Cut(rest, " ")
	if _, number := digits(id, len(id)); !ok || !number || id == "" {
		return "", "", "", false
	}
	command, argument, _ = strings.Cut(rest, "\t")
	for _, c := range knownCommands {
		if c == command {
			return id, command, argument, true
		}
	}
	return "", "", "", false
}

// short reads MariaDB's time, 261126 21:38:44, whose hours may have a space in place of a zero.
func (g *general) short(line string) (at int64, n int, ok bool) {
	const form = len("060102 15:04:05")
	if len(line) < form || line[6] != ' ' || line[9] != ':' || line[12] != ':' {
		return 0, 0, false
	}
	text := "20" + line[:2] + "-" + line[2:4] + "-" + line[4:6] + " " + strings.Replace(line[7:form], " ", "0", 1)
	at, _, _, ok = g.clock.read(text)
	return at, form, ok
}

func readGeneral(in *bufio.Reader, sum *Summary, each func(*Event) error) error {
	g := &general{sum: sum, each: each, sessions: map[string]*generalSession{}}
	l := &lines{in: in}
	if err := l.each(g.line); err != nil {
		return err
	}
	sum.Lines = l.number - 1
	sum.Notes = append(sum.Notes, "a general query log has neither durations nor errors nor numbers of rows")
	if g.seconds {
		sum.Notes = append(sum.Notes, "times are to the second: statements of one second follow one another without a pause")
	}
	return g.flush()
}

func (g *general) line(line string, cut bool) error {
	before := g.at
	id, command, argument, ok := g.begins(line)
	if !ok {
		switch {
		case !g.pending || isHeader(line):
		case g.text.Len()+len(line) > maxText:
			g.cut = true
		default:
			g.text.WriteByte('\n')
			g.text.WriteString(line)
			g.cut = g.cut || cut
		}
		return nil
	}
	at := g.at
	g.at = before
	if err := g.flush(); err != nil {
		return err
	}
	g.at = max(at, before)
	if g.sum.First == 0 {
		g.sum.First = g.at
	}
	g.sum.Last = g.at
	g.pending, g.id, g.command, g.cut = true, id, command, cut
	g.text.Reset()
	g.text.WriteString(argument)
	return nil
}

// isHeader reports whether a line is one of those that a server writes when it opens the log.
func isHeader(line string) bool {
	return strings.HasPrefix(line, "Time ") && strings.Contains(line, "Id Command") || strings.HasPrefix(line, "Tcp port: ") ||
		strings.Contains(line, ", Version: ") && strings.HasSuffix(line, "started with:")
}

// flush gives the command that is under way.
func (g *general) flush() error {
	if !g.pending {
		return nil
	}
	g.pending = false
	text := g.text.String()
	switch g.command {
	case "Connect":
		return g.connect(text)
	case "Query":
		err := g.did(text, "")
		if s := g.sessions[g.id]; s != nil {
			s.executing = len(text) > 7 && strings.EqualFold(text[:7], "execute")
		}
		return err
	case "Execute":
		if s := g.sessions[g.id]; s != nil && s.executing {
			s.executing = false
			return nil
		}
		return g.did(text, "")
	case "Init DB":
		return g.did("USE `"+strings.ReplaceAll(text, "`", "``")+"`", "")
	case "Quit":
		return g.quit()
	case "Fetch":
		return g.did("", Fetches)
	case "Change user":
		return g.did("", UserChanges)
	case "Binlog Dump", "Binlog Dump GTID", "Register Slave", "Register Replica", "Table Dump":
		return g.did("", Replication)
	}
	return nil // of the protocol alone, such as Ping, or another form of what has its own line
}

// connect reads "user@host on database using TCP/IP", or why the server refused.
func (g *general) connect(text string) error {
	if strings.HasPrefix(text, "Access denied") || strings.Contains(text, "Access denied for user") {
		delete(g.sessions, g.id)
		g.event = Event{Kind: Did, At: g.at, Duration: -1, Rejected: NoConnection}
		return g.each(&g.event)
	}
	if err := g.quit(); err != nil {
		return err
	}
	who, rest, _ := strings.Cut(text, " on ")
	user, _, _ := strings.Cut(who, "@")
	database, _, _ := strings.Cut(rest, " using ")
	return g.open(Event{Began: true, User: user, Database: strings.TrimSpace(database)})
}

func (g *general) open(e Event) error {
	g.last++
	g.sessions[g.id] = &generalSession{number: g.last}
	e.Kind, e.Session, e.At, e.Duration = Connected, g.last, g.at, -1
	g.event = e
	return g.each(&g.event)
}

func (g *general) did(text, rejected string) error {
	s := g.sessions[g.id]
	if s == nil {
		if err := g.open(Event{}); err != nil {
			return err
		}
		s = g.sessions[g.id]
	}
	if g.cut {
		rejected = TooLong
	}
	g.event = Event{Kind: Did, Session: s.number, At: g.at, Duration: -1, Text: text, Rejected: rejected}
	return g.each(&g.event)
}

func (g *general) quit() error {
	s := g.sessions[g.id]
	if s == nil {
		return nil
	}
	delete(g.sessions, g.id)
	g.event = Event{Kind: Disconnected, Session: s.number, At: g.at, Duration: -1}
	return g.each(&g.event)
}
