package serverlog

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// Columns of csvlog (PostgreSQL's manual, "Using CSV-Format Log Output"). Later versions add
// columns at the end.
const (
	csvTime = iota
	csvUser
	csvDatabase
	_ // process_id
	_ // connection_from
	csvSession
	csvLine
	_ // command_tag
	csvStart
	_ // virtual_transaction_id
	_ // transaction_id
	csvSeverity
	csvCode
	csvMessage
	csvDetail
	_ // hint
	_ // internal_query
	_ // internal_query_pos
	csvContext
	csvQuery
	csvColumns // the least that a line has
)

// bounded is a reader that ends a record which is longer than anything in a log: a quote that is not
// closed would have all the rest of the file kept.
type bounded struct {
	in   io.Reader
	left int
}

var errRecord = errors.New("a quote is not closed within 64 MiB")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRecord
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func readCSV(in *bufio.Reader, sum *Summary, each func(*Event) error) error {
	const most = 64 << 20
	limited := &bounded{in: in, left: most}
	r := csv.NewReader(limited)
	r.FieldsPerRecord, r.ReuseRecord = -1, true
	to := newPostgres(sum, each)
	var at, start clock
	for {
		limited.left = most
		f, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			note(sum, &at)
			return to.end()
		case errors.Is(err, errRecord), errors.Is(err, csv.ErrQuote), errors.Is(err, csv.ErrBareQuote):
			if _, more := in.Peek(1); errors.Is(more, io.EOF) && to.sum.First != 0 {
				sum.Notes = append(sum.Notes, "the log ends within a line")
				return to.end()
			}
			return &FormatError{Line: sum.Lines + 1, Reason: err.Error()}
		case err != nil:
			return err
		case len(f) < csvColumns:
			return &FormatError{Line: lineOf(r), Reason: fmt.Sprintf("it has %d columns, and csvlog has %d or more", len(f), csvColumns)}
		}
		sum.Lines = lineOf(r)
		when, _, _, ok := at.read(f[csvTime])
		if !ok {
			return &FormatError{Line: sum.Lines, Reason: "its first column is no time"}
		}
		began, _, _, _ := start.read(f[csvStart])
		m := message{found: found{at: when, session: f[csvSession], user: f[csvUser], database: f[csvDatabase], code: f[csvCode], start: began, first: f[csvLine] == "1"},
			severity: f[csvSeverity], text: f[csvMessage], detail: f[csvDetail], context: f[csvContext], statement: f[csvQuery]}
		if err := to.message(&m); err != nil {
			return err
		}
	}
}

// lineOf is the line on which the record begins that was read last.
func lineOf(r *csv.Reader) int64 {
	line, _ := r.FieldPos(0)
	return int64(line)
}

func note(sum *Summary, c *clock) {
	if c.zone != "" {
		sum.Notes = append(sum.Notes, "times are in the zone "+c.zone+", which is taken for UTC")
	}
}
