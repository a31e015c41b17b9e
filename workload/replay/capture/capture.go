// Package capture makes a recording of a server's log: it decides what of the log can be
// replayed, and counts what is left out, by the reason. No statement gets into a recording that
// gives or sets a password; values of columns do, whatever the column's name is.
//
// It must not know any database driver.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"assay/workload/replay/recording"
	"assay/workload/replay/serverlog"
	"assay/workload/replay/statement"
)

// Options are what is asked of a capture.
type Options struct {
	Log serverlog.Options
	// Database and User, unless they are empty, leave out the sessions on and of others.
	Database, User string
	// Names are those of the logs, for the head; Folder is where what does not fit into memory
	// is put aside.
	Names  []string
	Folder string
}

// Why statements that the log has whole are left out, beside serverlog's reasons.
const (
	Secrets   = "statements that carry a password"
	Copies    = "COPY and LOAD DATA, whose rows are not in the log"
	Headless  = "statements of transactions that began before the log"
	Empty     = "empty statements"
	Encoding  = "statements that are not UTF-8"
	Elsewhere = "statements on other databases or of other users"
)

// Write reads a log and writes its recording. Errors: *serverlog.FormatError, and those of
// reading and writing.
func Write(ctx context.Context, log io.Reader, o Options, to io.Writer) (head *recording.Head, err error) {
	w := recording.NewWriter(o.Folder)
	defer func() { err = errors.Join(err, w.Close()) }()
	from, err := serverlog.Open(log, o.Log)
	if err != nil {
		return nil, err
	}
	c := &capture{options: o, log: from, writer: w, sessions: map[int64]*session{}, databases: map[string]int64{}, dialect: statement.Postgres}
	if from.MySQL {
		c.dialect = statement.MySQL
	}
	c.head.LeftOut = map[string]int64{}
	err = from.Events(func(e *serverlog.Event) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return c.event(e)
	})
	if err != nil {
		return nil, err
	}
	c.finish()
	if c.head.Statements == 0 {
		return nil, &serverlog.FormatError{Reason: c.nothing()}
	}
	return &c.head, w.WriteTo(to, &c.head)
}

// capture is one in progress.
type capture struct {
	options   Options
	writer    *recording.Writer
	head      recording.Head
	log       *serverlog.Log
	dialect   statement.Dialect
	sessions  map[int64]*session
	databases map[string]int64
	record    recording.Record
}

// session is one that is connected.
type session struct {
	elsewhere bool
	// open is whether a transaction is under way, as far as its statements tell.
	open bool
	// doubtful is true until the first statement that begins or ends a transaction, if the
	// session's beginning is not in the log: what came may be part of a transaction that began
	// before. counts are then what cutting it takes away.
	doubtful bool
	counts   counts
}

type counts struct{ transactions, statements, timed, failed int64 }

func (c *capture) event(e *serverlog.Event) error {
	s := c.sessions[e.Session]
	switch e.Kind {
	case serverlog.Connected:
		s = &session{doubtful: !e.Began, elsewhere: other(c.options.Database, e.Database) || other(c.options.User, e.User)}
		c.sessions[e.Session] = s
		if s.elsewhere {
			return nil
		}
		c.databases[e.Database]++
		c.head.Sessions++
		who := e.User + "@" + e.Database
		return c.add(e, recording.Record{Connect: &who})
	case serverlog.Disconnected:
		delete(c.sessions, e.Session)
		if s == nil || s.elsewhere {
			return nil
		}
		return c.add(e, recording.Record{Disconnect: true})
	}
	if reason := c.leaveOut(e, s); reason != "" {
		c.head.LeftOut[reason]++
		return nil
	}
	return c.statement(e, s)
}

// other reports whether a name is not the one that was asked for, if one was.
func other(asked, name string) bool { return asked != "" && name != asked }

// leaveOut says why a statement is left out; empty if it is not.
func (c *capture) leaveOut(e *serverlog.Event, s *session) string {
	switch {
	case e.Rejected != "":
		return e.Rejected
	case s == nil || s.elsewhere:
		return Elsewhere
	case c.holdsSecret(e):
		return Secrets
	}
	return ""
}

func (c *capture) holdsSecret(e *serverlog.Event) bool {
	if statement.HoldsSecret(e.Text, c.dialect) || statement.MayHoldSecret(e.Error) {
		return true
	}
	return slices.ContainsFunc(e.Parameters, func(p *string) bool { return p != nil && statement.MayHoldSecret(*p) })
}

func (c *capture) statement(e *serverlog.Event, s *session) error {
	effect := statement.EffectOf(e.Text, c.dialect)
	switch effect {
	case statement.Empty:
		c.head.LeftOut[Empty]++
		return nil
	case statement.Copies:
		c.head.LeftOut[Copies]++
		return nil
	case statement.Replicates:
		c.head.LeftOut[serverlog.Replication]++
		return nil
	}
	ends := effect == statement.Commits || effect == statement.RollsBack
	if s.doubtful && ends && !s.open && e.Error == "" {
		c.cut(e.Session, s)
		return nil
	}
	r := recording.Record{Text: e.Text, Prepared: e.Prepared, Error: e.Error, Code: e.Code}
	if e.Extended {
		if r.Parameters = e.Parameters; r.Parameters == nil {
			r.Parameters = []*string{}
		}
	}
	if e.Duration >= 0 {
		took := millis(e.Duration)
		r.Took = &took
	}
	if err := c.add(e, r); errors.Is(err, recording.ErrText) {
		c.head.LeftOut[Encoding]++
		return nil
	} else if err != nil {
		return err
	}
	c.count(e, s, effect)
	return nil
}

// count takes account of a statement that is in the recording.
func (c *capture) count(e *serverlog.Event, s *session, effect statement.Effect) {
	var n counts
	n.statements = 1
	if e.Duration >= 0 {
		n.timed = 1
	}
	if e.Error != "" {
		n.failed = 1
	}
	switch {
	case effect == statement.Begins && e.Error == "":
		if !s.open {
			n.transactions = 1
		}
		s.open, s.doubtful = true, false
	case effect == statement.Commits || effect == statement.RollsBack:
		s.open = false
	case !s.open && effect != statement.Other && effect != statement.Begins:
		n.transactions = 1
	}
	if s.doubtful {
		s.counts.add(n, 1)
	}
	c.head.Transactions += n.transactions
	c.head.Statements += n.statements
	c.head.Timed += n.timed
	c.head.Failed += n.failed
}

func (n *counts) add(other counts, sign int64) {
	n.transactions += sign * other.transactions
	n.statements += sign * other.statements
	n.timed += sign * other.timed
	n.failed += sign * other.failed
}

// cut leaves out what a session has done until now: it was the rest of a transaction whose
// beginning is not in the log, and the statement that ends it goes too.
func (c *capture) cut(number int64, s *session) {
	c.writer.Cut(number)
	c.head.LeftOut[Headless] += s.counts.statements + 1
	c.head.Transactions -= s.counts.transactions
	c.head.Statements -= s.counts.statements
	c.head.Timed -= s.counts.timed
	c.head.Failed -= s.counts.failed
	s.doubtful, s.counts = false, counts{}
}

func (c *capture) add(e *serverlog.Event, r recording.Record) error {
	r.Session, r.At = e.Session, millis(max(e.At-c.log.First, 0))
	c.record = r
	return c.writer.Add(&c.record)
}

// millis is a time of nanoseconds in milliseconds, to the microsecond.
func millis(ns int64) float64 { return math.Round(float64(ns)/1e3) / 1e3 }

func (c *capture) finish() {
	h, sum := &c.head, &c.log.Summary
	h.Version, h.Dialect = recording.Version, string(c.dialect)
	h.From = recording.Source{Logs: c.options.Names, Format: string(sum.Format), Prefix: sum.Prefix}
	h.Start = time.Unix(0, sum.First).UTC()
	h.Seconds = float64((sum.Last - sum.First)) / 1e9
	h.Notes = sum.Notes
	if open := int64(len(c.sessions)); open > 0 {
		h.Notes = append(h.Notes, fmt.Sprintf("%d sessions have no end in the log", open))
	}
	if missing := h.Statements - h.Timed; missing > 0 && h.Timed > 0 {
		h.Notes = append(h.Notes, fmt.Sprintf("%d statements have no duration in the log, as those that failed or did not end", missing))
	}
	if len(c.databases) > 1 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(c.databases)) {
			all = append(all, fmt.Sprintf("%s %d", name, c.databases[name]))
		}
		h.Notes = append(h.Notes, "sessions by database: "+strings.Join(all, ", ")+"; a replay goes to one database, and --database takes one of them")
	}
}

// nothing says why there is no recording.
func (c *capture) nothing() string {
	text := "no statement of it can be replayed"
	for _, reason := range slices.Sorted(maps.Keys(c.head.LeftOut)) {
		text += fmt.Sprintf("; left out: %d %s", c.head.LeftOut[reason], reason)
	}
	for _, note := range c.log.Notes {
		text += "; " + note
	}
	if len(c.head.LeftOut) == 0 {
		text += "; the server has to log them: PostgreSQL with log_min_duration_statement = 0, MySQL with general_log = ON"
	}
	return text
}
