// Package recording is the file of a recorded workload: sessions with their statements, each
// with when it was sent and how long it took. It is JSON lines, so that a person can read it
// and thin it out with an editor or grep. docs/capture.md describes it.
//
// The lines of a session stand together, in the order in which it sent them, so that each
// session of a replay reads its own part of the file and nothing is kept in memory. A Writer
// brings them together with a bounded use of memory.
//
// It must not know any server's log, database driver or workload.
package recording

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Version is the form of the file, which its head says.
const Version = 1

// Head is the first line: where the recording is from, and what was left out.
type Head struct {
	Version int `json:"recording"`
	// Dialect is whose SQL it is: postgres or mysql.
	Dialect string `json:"dialect"`
	From    Source `json:"from"`
	// Start is the moment of the log's first line, which times count from, and Seconds how
	// long the log goes on.
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"`
	// What is in the file. Timed are the statements with a duration, Failed those with an
	// error.
	Sessions     int64 `json:"sessions"`
	Transactions int64 `json:"transactions"`
	Statements   int64 `json:"statements"`
	Timed        int64 `json:"timed"`
	Failed       int64 `json:"failed"`
	// LeftOut counts what is in the log and not in the file, by the reason.
	LeftOut map[string]int64 `json:"left_out"`
	// Notes say what else a reader should know.
	Notes []string `json:"notes,omitzero"`
}

// Source is what was read.
type Source struct {
	Logs   []string `json:"logs"`
	Format string   `json:"format"`
	// Prefix is the log_line_prefix that was found or given.
	Prefix string `json:"prefix,omitzero"`
}

// Record is another line: one session's connection, one statement, or its end.
type Record struct {
	// Session is its number, from 1.
	Session int64 `json:"s"`
	// At is when it was sent, in milliseconds since Head.Start.
	At float64 `json:"t"`
	// Took is its duration in milliseconds; nil if the log does not say.
	Took *float64 `json:"d,omitzero"`
	// Connect begins a session and Disconnect ends it. Connect is USER@DATABASE, as far as
	// that is known.
	Connect    *string `json:"connect,omitzero"`
	Disconnect bool    `json:"disconnect,omitzero"`
	// Text is a statement, with $1 where its Parameters stand (null is NULL). Without
	// Parameters it is sent by the simple protocol. Prepared is the name of one that was
	// prepared.
	Text       string    `json:"q,omitzero"`
	Parameters []*string `json:"p,omitzero"`
	Prepared   string    `json:"n,omitzero"`
	// Rows is how many it gave or changed; nil if the log does not say.
	Rows *int64 `json:"rows,omitzero"`
	// Error is what the server answered instead, and Code its code, if the log has it.
	Error string `json:"e,omitzero"`
	Code  string `json:"c,omitzero"`
}

// milliseconds writes a time as the file has it.
func milliseconds(into []byte, v float64) []byte { return strconv.AppendFloat(into, v, 'f', -1, 64) }

// appendTo writes the record as a line. A text that is not UTF-8 is an error.
func (r *Record) appendTo(b []byte) ([]byte, error) {
	var err error
	text := func(key, v string) {
		b = append(b, key...)
		var failed error
		if b, failed = jsontext.AppendQuote(b, v); failed != nil {
			err = failed
		}
	}
	b = append(b, `{"s":`...)
	b = strconv.AppendInt(b, r.Session, 10)
	b = milliseconds(append(b, `,"t":`...), r.At)
	if r.Took != nil {
		b = milliseconds(append(b, `,"d":`...), *r.Took)
	}
	switch {
	case r.Connect != nil:
		text(`,"connect":`, *r.Connect)
	case r.Disconnect:
		b = append(b, `,"disconnect":true`...)
	default:
		text(`,"q":`, r.Text)
	}
	if r.Parameters != nil {
		b = append(b, `,"p":[`...)
		for i, p := range r.Parameters {
			if i > 0 {
				b = append(b, ',')
			}
			if p == nil {
				b = append(b, "null"...)
			} else {
				text("", *p)
			}
		}
		b = append(b, ']')
	}
	if r.Prepared != "" {
		text(`,"n":`, r.Prepared)
	}
	if r.Rows != nil {
		b = strconv.AppendInt(append(b, `,"rows":`...), *r.Rows, 10)
	}
	if r.Code != "" {
		text(`,"c":`, r.Code)
	}
	if r.Error != "" {
		text(`,"e":`, r.Error)
	}
	return append(b, "}\n"...), err
}

// FormatError is a file that is no recording, or is damaged.
type FormatError struct {
	Path   string
	Line   int64
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s, line %d: %s; docs/capture.md describes the form, and assay capture writes it", e.Path, e.Line, e.Reason)
}

// check says what is wrong with a record; empty if nothing is.
func (r *Record) check() string {
	is := 0
	for _, given := range []bool{r.Connect != nil, r.Disconnect, r.Text != ""} {
		if given {
			is++
		}
	}
	switch {
	case r.Session < 1:
		return "s is not the number of a session, from 1"
	case !(r.At >= 0 && r.At <= maxMillis):
		return "t is not milliseconds since the start"
	case r.Took != nil && !(*r.Took >= 0 && *r.Took <= maxMillis):
		return "d is not milliseconds"
	case is != 1:
		return "it needs one of q, connect and disconnect"
	case r.Rows != nil && *r.Rows < 0:
		return "rows is less than 0"
	case len(r.Parameters) > maxParameters:
		return "it has more than 65535 parameters"
	}
	return ""
}

const (
	// maxMillis bounds times: a hundred years.
	maxMillis = 100 * 366 * 24 * 3600 * 1000.0
	// maxParameters is PostgreSQL's limit (protocol, "Bind": Int16 of their number).
	maxParameters = 65535
)

func (h *Head) line() ([]byte, error) {
	b, err := json.Marshal(h, json.Deterministic(true))
	return append(b, '\n'), err
}
