// Package serverlog reads the logs of database servers as what sessions did: PostgreSQL's in
// its three forms (stderr with a log_line_prefix, csvlog, jsonlog), and the general query log
// of MySQL and MariaDB. A log may be compressed with gzip or zstd.
//
// It reads a log as a stream: what it keeps is bounded for each session that is connected. It
// connects to no server, and must not know what its events are used for.
package serverlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Format is the form of a log.
type Format string

// The forms. Detect is to find out.
const (
	Detect  Format = ""
	Stderr  Format = "stderr"
	CSV     Format = "csvlog"
	JSON    Format = "jsonlog"
	General Format = "mysql-general"
)

// Formats are all forms, by name.
func Formats() []string {
	return []string{string(Stderr), string(CSV), string(JSON), string(General)}
}

// Kind is what an Event is about.
type Kind uint8

// The kinds.
const (
	// Connected is a session's first event. Began says that its beginning is in the log.
	Connected Kind = iota + 1
	// Did is a statement.
	Did
	// Disconnected is a session's last event.
	Disconnected
)

// Event is what a log says of a session. It is good until the callback that gets it returns.
type Event struct {
	Kind Kind
	// Session is its number, from 1.
	Session int64
	// At is when it began, in nanoseconds since 1970, and Duration how long it took; less than
	// 0 if the log does not say.
	At, Duration int64
	// Began, User and Database are of Connected.
	Began          bool
	User, Database string
	// Text is a statement, which came by the extended protocol if Extended is true, with
	// Parameters ($1, $2; nil is NULL), and as a prepared one of this name if Prepared is not
	// empty.
	Text       string
	Extended   bool
	Parameters []*string
	Prepared   string
	// Error is what the server answered, with its Code if the log has it.
	Error, Code string
	// Rejected says why it cannot be told what was sent; empty if it can.
	Rejected string
}

// Why it cannot be told what was sent.
const (
	RunningAtStart = "statements that were running when the log begins"
	NoParameters   = "statements whose parameters are not in the log"
	Fetches        = "further fetches from a cursor of the protocol"
	FunctionCalls  = "function calls by the fast-path protocol"
	Replication    = "replication commands"
	TooLong        = "statements longer than 16 MiB"
	NoConnection   = "connections that the server refused"
	UserChanges    = "changes of the user within a session"
)

// Options are what the caller knows of a log.
type Options struct {
	Format Format
	// Prefix is PostgreSQL's log_line_prefix; empty to find out.
	Prefix string
}

// Summary is what is known of a log at its end.
type Summary struct {
	Format Format
	Prefix string
	// MySQL says that the statements are in MySQL's language.
	MySQL bool
	// First and Last are the times of its first and last line, in nanoseconds since 1970.
	First, Last int64
	Lines       int64
	// Notes are what a reader should know of it, as sentences without a full stop.
	Notes []string
}

// FormatError is a log that cannot be read.
type FormatError struct {
	// Line is where, from 1; 0 if it is about the whole.
	Line   int64
	Reason string
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return "the log cannot be read: " + e.Reason
	}
	return fmt.Sprintf("the log cannot be read at line %d: %s", e.Line, e.Reason)
}

// ahead is how much of a log is looked at to find its form.
const ahead = 256 << 10

// Log is one that is being read.
type Log struct {
	// Summary has the form from the beginning, First when the first event is given, and the
	// rest at the end.
	Summary
	in     *bufio.Reader
	prefix *prefix
}

// Open looks at how a log begins. It returns a *FormatError, or an error of the reader.
func Open(log io.Reader, o Options) (*Log, error) {
	in := bufio.NewReaderSize(log, ahead)
	head, err := in.Peek(ahead)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) {
		head = head[len(mark):]
		_, _ = in.Discard(len(mark)) // it was peeked
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, &FormatError{Reason: "it is empty"}
	}
	l := &Log{in: in}
	if l.Format = o.Format; o.Format == Detect {
		l.Format = detect(head)
	}
	l.MySQL = l.Format == General
	switch {
	case l.Format == Stderr && o.Prefix != "":
		l.prefix, err = compile(o.Prefix)
	case l.Format == Stderr:
		l.prefix, err = findPrefix(head)
	case o.Prefix != "":
		return nil, &FormatError{Reason: fmt.Sprintf("a prefix belongs to a log in the form stderr, and this one is %s", l.Format)}
	case !slices.Contains(Formats(), string(l.Format)):
		return nil, &FormatError{Reason: fmt.Sprintf("there is no form %q; there are: %s", l.Format, strings.Join(Formats(), ", "))}
	default:
		err = nil
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return l, nil
}

// Events gives the log's events to each, in the order of the log: a statement when its end is in
// the log. It returns a *FormatError, an error of the reader, or the first error of each.
func (l *Log) Events(each func(*Event) error) error {
	var err error
	switch l.Format {
	case Stderr:
		err = readStderr(l.in, l.prefix, &l.Summary, each)
	case CSV:
		err = readCSV(l.in, &l.Summary, each)
	case JSON:
		err = readJSON(l.in, &l.Summary, each)
	default:
		err = readGeneral(l.in, &l.Summary, each)
	}
	if err == nil && l.First == 0 {
		err = &FormatError{Reason: fmt.Sprintf("no line of it is one of the form %s; name another form with --format, or the log_line_prefix with --prefix", l.Format)}
	}
	return err
}

// detect tells the form by how a log begins.
func detect(head []byte) Format {
	for line := range bytes.Lines(head) {
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case line[0] == '{':
			return JSON
		case isGeneral(line):
			return General
		case isCSV(line):
			return CSV
		}
	}
	return Stderr
}

// isCSV reports whether a line begins as csvlog's do: a time, a user and a database in
// quotes or nothing, a number.
func isCSV(line []byte) bool {
	_, n, _, ok := (&clock{}).read(string(line[:min(len(line), 64)]))
	return ok && n < len(line) && line[n] == ',' && bytes.Count(line, []byte(",")) >= 10
}

// Unpack is what a file holds that may be compressed with gzip or zstd.
func Unpack(file io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(file, 64<<10)
	head, _ := in.Peek(4) // an error comes again
	var plain io.Reader
	var err error
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		plain, err = gzip.NewReader(in)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		// One decoder at a time has no goroutine that would have to be ended.
		plain, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	case bytes.HasPrefix(head, []byte("BZh")), bytes.HasPrefix(head, []byte("\xfd7zX")), bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, &FormatError{Reason: "it is compressed by something else than gzip or zstd; decompress it first"}
	default:
		return in, nil
	}
	if err != nil {
		return nil, &FormatError{Reason: "the compressed file cannot be unpacked: " + err.Error()}
	}
	return plain, nil
}
