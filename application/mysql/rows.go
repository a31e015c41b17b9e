package mysql

import "assay/application/wire"

// define takes a definition of a column, where rows are kept. A prepared statement has them for executions
// whose answers leave them out.
func (t *talk) define(b []byte, length int, r *wire.Request) {
	a := &t.reading
	if a.second > 0 || r.Answering().Keeps() == nil { // it is of a parameter, or nobody wants it
		return
	}
	of := kind{code: typeNotKnown}
	if len(b) == length {
		of = defines(b)
	}
	a.columns = append(a.columns, of)
	if p, is := r.Noted.(*prepared); is && a.left == 1 {
		p.columns = a.columns
	}
}

// takeRow keeps a row, of a text or of a statement that was prepared (MySQL 8.4 source documentation, "Text
// Resultset Row" and "Binary Protocol Resultset Row").
func (a *answer) takeRow(keeps *wire.Answer, b []byte, length int, command byte) {
	if keeps.Cut = keeps.Cut || len(b) < length; keeps.Cut {
		return
	}
	if command != comQuery {
		a.takeBinaryRow(keeps, b)
		return
	}
	keeps.Row(func() (text string, more bool) {
		if len(b) == 0 {
			return "", false
		}
		if b[0] == 0xfb {
			b = b[1:]
			return wire.Null, true
		}
		size, n := number(b)
		end := n + int(min(size, uint64(len(b)-n)))
		text, b = wire.Text(b[n:end]), b[end:]
		return text, true
	})
}

func (a *answer) takeBinaryRow(keeps *wire.Answer, b []byte) {
	const reserved = 2 // bits
	columns, start := a.columns, 1+(len(a.columns)+reserved+7)/8
	if len(columns) == 0 || len(b) < start {
		columns, start = []kind{{code: typeNotKnown}}, 0
	}
	null, rest, at := b[min(1, start):start], b[start:], -1
	keeps.Row(func() (text string, more bool) {
		if at++; at == len(columns) {
			return "", false
		}
		if bit := at + reserved; bit/8 < len(null) && null[bit/8]>>(bit%8)&1 == 1 {
			return wire.Null, true
		}
		text, n := value(rest, columns[at])
		rest = rest[n:]
		return text, true
	})
}

// behindCursor says that rows are not looked at which a cursor keeps: they come by requests of their own.
func behindCursor(status uint16, r *wire.Request) {
	if keeps := r.Answering().Keeps(); keeps != nil && status&statusCursor != 0 {
		keeps.Cut = true
	}
}
