package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"assay/history"
	"assay/workload"
	"assay/workload/candles"
)

// The statements of the workload. Each is a transaction of its own.
const (
	latestCandles = ownStatements + iota
	intervalCandles
	spanCandles
)

func candleTexts() []text {
	from := `SELECT ` + candleColumns() + ` FROM ` + candleSchema + `.candle WHERE `
	return []text{
		latestCandles - ownStatements:   {"assay_latest", from + `ticker = $1 ORDER BY moment DESC LIMIT $2`},
		intervalCandles - ownStatements: {"assay_interval", from + `ticker = $1 AND moment >= $2 AND moment < $3`},
		spanCandles - ownStatements:     {"assay_span", from + `moment >= $1 AND moment < $2`},
	}
}

// candleSession implements candles.Session on one connection.
type candleSession struct{ *connection }

// Session implements candles.Store.
func (s *candleStore) Session(ctx context.Context) (candles.Session, error) {
	l, err := s.dial(ctx, candleTexts()...)
	if err != nil {
		return nil, err
	}
	return &candleSession{l}, nil
}

// Insert implements candles.Session by COPY or by INSERT, as the dialect has it,
// in one transaction. What goes wrong is judged as an error of COMMIT, since the
// server commits before it answers.
func (n *candleSession) Insert(ctx context.Context, batch []candles.Candle) candles.Reply {
	n.unreplicated = false
	var err error
	if n.schema.dialect.copies {
		_, err = n.conn.CopyFrom(ctx, bytes.NewReader(copyCandles(batch)),
			`COPY `+candleSchema+`.candle (`+candleColumns()+`) FROM STDIN WITH (FORMAT binary)`)
	} else {
		err = n.insert(ctx, batch)
	}
	switch {
	case errors.Is(err, errRolledBack):
		return candles.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: operation("insert", err), Broken: n.conn.IsClosed()}
	case err != nil:
		reply := classify(err, committing)
		reply.Broken = reply.Broken || n.leave(ctx) != nil || n.useless(reply.Class)
		if reply.Err = operation("insert", err); hasCode(err, codeUniqueViolation) {
			reply.Class = workload.ClassDuplicate
		}
		return reply
	case n.unreplicated:
		return candles.Reply{Class: classNotReplicated, Err: errNotReplicated, Broken: true}
	default:
		return candles.Reply{Outcome: history.Committed, Broken: n.conn.IsClosed()}
	}
}

// candleRows is the most rows of one INSERT: a message of the protocol holds at
// most 65,535 parameters (PostgreSQL manual, "Message Formats", Bind).
const candleRows = 1000

// insert writes a batch by INSERT, in one round trip. One that is too long for
// one statement gets a transaction around several.
func (n *candleSession) insert(ctx context.Context, batch []candles.Candle) error {
	several := len(batch) > candleRows
	answers := (len(batch) + candleRows - 1) / candleRows
	p := n.conn.StartPipeline(ctx)
	if several {
		answers++
		n.send(p, begin)
	}
	columns := append(candles.NumberNames(), candles.TextNames()...)
	for first := 0; first < len(batch); first += candleRows {
		some := batch[first:min(first+candleRows, len(batch))]
		values, types := candleParameters(some)
		p.SendQueryParams(insertText(candleSchema+".candle", columns, len(some)), values, types, []int16{binaryFormat}, nil)
	}
	if several {
		n.send(p, commit)
	}
	err := p.Sync()
	for range answers {
		if err == nil {
			_, err = readAnswer(p)
		}
	}
	if several && err == nil {
		err = readCommit(p)
	}
	if ended := p.Close(); err == nil {
		err = ended
	}
	return err
}

// candleParameters are the rows as parameters in binary format.
func candleParameters(batch []candles.Candle) (values [][]byte, types []uint32) {
	for i := range batch {
		for _, number := range batch[i].Numbers() {
			values, types = append(values, bigintBytes(*number)), append(types, oidBigint)
		}
		for _, text := range batch[i].Texts() {
			values, types = append(values, []byte(*text)), append(types, oidText)
		}
	}
	return values, types
}

// copyCandles are the rows in the binary format of COPY (PostgreSQL manual,
// "COPY", "Binary Format").
func copyCandles(batch []candles.Candle) []byte {
	out := append(make([]byte, 0, 400*len(batch)+32), "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for i := range batch {
		numbers, texts := batch[i].Numbers(), batch[i].Texts()
		out = binary.BigEndian.AppendUint16(out, uint16(len(numbers)+len(texts)))
		for _, n := range numbers {
			out = binary.BigEndian.AppendUint32(out, 8)
			out = binary.BigEndian.AppendUint64(out, uint64(*n))
		}
		for _, t := range texts {
			out = binary.BigEndian.AppendUint32(out, uint32(len(*t)))
			out = append(out, *t...)
		}
	}
	return binary.BigEndian.AppendUint16(out, 0xffff)
}

// Latest implements candles.Session.
func (n *candleSession) Latest(ctx context.Context, ticker string, limit int, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "latest", latestCandles, row, []byte(ticker), bigintBytes(int64(limit)))
}

// Interval implements candles.Session.
func (n *candleSession) Interval(ctx context.Context, ticker string, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "interval", intervalCandles, row, []byte(ticker), bigintBytes(from), bigintBytes(to))
}

// Span implements candles.Session.
func (n *candleSession) Span(ctx context.Context, from, to int64, row func(*candles.Candle)) candles.Reply {
	return n.ask(ctx, "span", spanCandles, row, bigintBytes(from), bigintBytes(to))
}

// ask runs one query, whose parameters are bigint but for the ticker.
func (n *candleSession) ask(ctx context.Context, doing string, which statement, row func(*candles.Candle), parameters ...[]byte) candles.Reply {
	types := make([]uint32, len(parameters))
	for i := range types {
		types[i] = oidBigint
	}
	if which != spanCandles {
		types[0] = oidText
	}
	var c candles.Candle
	p := n.conn.StartPipeline(ctx)
	n.sendBinary(p, which, parameters, types)
	return n.query(doing, p, func(columns [][]byte) error {
		err := candleOf(columns, &c)
		if err == nil {
			row(&c)
		}
		return err
	})
}
