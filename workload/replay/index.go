package replay

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"assay/load"
	"assay/store"
	"assay/workload/replay/recording"
	"assay/workload/replay/statement"
)

// index is what a first reading of a recording finds: where each session's part is, and what
// statements there are apart from their values. Its size grows with the sessions, and not with
// their statements.
type index struct {
	head     recording.Head
	sessions []session
	// lanes are the sessions that one client replays, one after the other; there are as many as
	// sessions were open at a time.
	lanes      [][]session
	operations uint64
	// kinds are the statements without their values, by number; numbers has the numbers.
	kinds   []string
	numbers map[string]int
	touched statement.Touched
}

// session is where one is in the file, and when it was open, in milliseconds.
type session struct {
	number       int64
	offset, line int64
	begin, end   float64
	count        uint64 // of its operations
}

const (
	// maxKinds bounds the statements that are told apart; the others are one, number 0.
	maxKinds = 500
	others   = "other statements"
)

// readIndex reads a recording. Errors: *recording.FormatError, those of opening the file.
func readIndex(path string) (*index, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &store.OptionError{Option: "replay", Value: path, Reason: err.Error(), Want: "a file that assay capture has written"}
	}
	defer file.Close()
	r := recording.NewReader(path, file, 0, 1, 1<<20)
	head, err := r.Head()
	if err != nil {
		return nil, err
	}
	x := &index{head: *head, kinds: []string{others}, numbers: map[string]int{}}
	if err := x.read(path, r); err != nil {
		return nil, err
	}
	if x.operations == 0 {
		return nil, &recording.FormatError{Path: path, Line: 1, Reason: "it has no statement"}
	}
	x.assign()
	if len(x.lanes) > load.MaxClients {
		return nil, &recording.FormatError{Path: path, Line: 1, Reason: "more than 10000 sessions were open at a time; take some away"}
	}
	return x, nil
}

func (x *index) read(path string, r *recording.Reader) error {
	var record recording.Record
	var last *session
	seen := map[int64]bool{}
	for {
		offset, line := r.Offset(), r.Line()
		switch err := r.Next(&record); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		wrong := func(reason string) error { return &recording.FormatError{Path: path, Line: line, Reason: reason} }
		if last == nil || record.Session != last.number {
			if seen[record.Session] {
				return wrong("the lines of a session stand together, and this one is apart")
			}
			seen[record.Session] = true
			// The connection is an operation, whether a line tells of it or not.
			x.sessions = append(x.sessions, session{number: record.Session, offset: offset, line: line, begin: record.At, end: record.At, count: 1})
			last = &x.sessions[len(x.sessions)-1]
			x.operations++
		} else if record.Connect != nil {
			return wrong("a session connects once, in its first line")
		}
		if record.At < last.begin {
			return wrong("a session goes back in time")
		}
		last.end = max(last.end, record.At+took(&record))
		if record.Text != "" {
			last.count++
			x.operations++
			x.statement(record.Text)
		}
	}
}

func took(r *recording.Record) float64 {
	if r.Took == nil {
		return 0
	}
	return *r.Took
}

func (x *index) dialect() statement.Dialect { return statement.Dialect(x.head.Dialect) }

func (x *index) statement(text string) {
	kind := statement.Fingerprint(text, x.dialect())
	if _, known := x.numbers[kind]; known {
		return
	}
	if len(x.kinds) <= maxKinds {
		x.numbers[kind] = len(x.kinds)
		x.kinds = append(x.kinds, kind)
	}
	x.touched.Tables(text, x.dialect())
	x.touched.Read = slices.DeleteFunc(x.touched.Read, ofCatalog)
}

// ofCatalog reports whether a table is the server's own.
func ofCatalog(name string) bool {
	return strings.HasPrefix(name, "pg_catalog.") || strings.HasPrefix(name, "information_schema.")
}

// assign gives each session to a lane that is free when it begins.
func (x *index) assign() {
	slices.SortStableFunc(x.sessions, func(a, b session) int { return cmp.Compare(a.begin, b.begin) })
	var free laneEnds
	for _, s := range x.sessions {
		if len(free) > 0 && free[0].end <= s.begin {
			x.lanes[free[0].lane] = append(x.lanes[free[0].lane], s)
			free[0].end = s.end
			heap.Fix(&free, 0)
			continue
		}
		heap.Push(&free, laneEnd{s.end, len(x.lanes)})
		x.lanes = append(x.lanes, []session{s})
	}
}

// laneEnds is a heap of the ends of the lanes' last sessions.
type laneEnds []laneEnd

type laneEnd struct {
	end  float64
	lane int
}

func (l laneEnds) Len() int { return len(l) }
func (l laneEnds) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].end, l[j].end), cmp.Compare(l[i].lane, l[j].lane)) < 0
}
func (l laneEnds) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *laneEnds) Push(x any)   { *l = append(*l, x.(laneEnd)) }
func (l *laneEnds) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

// part reads one session's records, whose file is open as long as part is used.
type part struct {
	reader *recording.Reader
	number int64
	next   recording.Record
	more   bool
}

// openPart begins to read a session.
func openPart(path string, file io.ReaderAt, s session) (*part, error) {
	const whole = 1 << 62
	p := &part{number: s.number}
	p.reader = recording.NewReader(path, bufio.NewReaderSize(io.NewSectionReader(file, s.offset, whole), 16<<10), s.offset, s.line, 16<<10)
	return p, p.advance()
}

func (p *part) advance() error {
	err := p.reader.Next(&p.next)
	p.more = err == nil && p.next.Session == p.number
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
