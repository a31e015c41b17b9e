package postgres

import (
	"context"
	"strconv"

	"assay/driver/sqldb"
	"assay/store"
)

// With an Open schema values travel as text. The server infers parameter types, and answers
// describe their columns.

// Object ids of types (pg_type) that are no text.
const (
	oidSmallint = 21
	oidOID      = 26
	oidReal     = 700
	oidDouble   = 701
	oidNumeric  = 1700
)

func (c *columns) AppendValues(into []any) ([]any, error) {
	for i, value := range c.values {
		v, err := valueOf(value, c.fields[i].DataTypeOID)
		if err != nil {
			return into, err
		}
		into = append(into, v)
	}
	return into, nil
}

func valueOf(value []byte, oid uint32) (any, error) {
	if value == nil {
		return nil, nil
	}
	text := string(value)
	switch oid {
	case oidBool:
		return text == "t", nil
	case oidBigint, oidInteger, oidSmallint, oidOID:
		return strconv.ParseInt(text, 10, 64)
	case oidReal, oidDouble, oidNumeric:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && oid == oidNumeric {
			return n, nil
		}
		return strconv.ParseFloat(text, 64)
	}
	return text, nil
}

// texts are parameters in text format, valid until the next call.
func (e *encoder) texts(parameters []store.Value) [][]byte {
	e.begin()
	for i := range parameters {
		if parameters[i].Kind == store.Nothing {
			e.data = append(e.data, nil)
			continue
		}
		at := len(e.buffer)
		e.buffer = appendText(e.buffer, &parameters[i])
		e.data = append(e.data, e.buffer[at:len(e.buffer):len(e.buffer)])
	}
	return e.data
}

func appendText(b []byte, v *store.Value) []byte {
	switch v.Kind {
	case store.Bool:
		return strconv.AppendBool(b, v.Number != 0)
	case store.Text:
		return append(b, v.Text...)
	case store.Real:
		return strconv.AppendFloat(b, v.Real, 'g', -1, 64)
	default:
		return strconv.AppendInt(b, v.Number, 10)
	}
}

func copyLines(rows store.Rows) (out []byte) {
	var values []store.Value
	var text []byte
	for i := range rows.Count {
		values = rows.Row(i, values[:0])
		for n := range values {
			if n > 0 {
				out = append(out, '\t')
			}
			if values[n].Kind == store.Nothing {
				out = append(out, '\\', 'N')
				continue
			}
			text = appendText(text[:0], &values[n])
			for _, c := range text {
				switch c {
				case '\\':
					out = append(out, '\\', c)
				case '\n':
					out = append(out, '\\', 'n')
				case '\r':
					out = append(out, '\\', 'r')
				case '\t':
					out = append(out, '\\', 't')
				default:
					out = append(out, c)
				}
			}
		}
		out = append(out, '\n')
	}
	return out
}

// anyViolated is the violated constraint of a table that the schema does not list.
func anyViolated(err error) store.Violation {
	switch {
	case hasCode(err, codeUniqueViolation):
		return store.Unique
	case hasCode(err, codeCheckViolation):
		return store.Floor
	case hasCode(err, codeNotNullViolation):
		return store.Absent
	}
	return store.NoViolation
}

func (c *connection) Prepare(ctx context.Context, statement sqldb.Statement) error {
	if c.prepared != nil {
		if err := c.prepare(ctx, []sqldb.Statement{statement}); err != nil {
			return err
		}
	}
	c.texts = append(c.texts, statement)
	return nil
}
