package mysql

import (
	"database/sql/driver"
	"encoding/hex"
	"strconv"
	"strings"

	"assay/driver/sqldb"
)

// appendStatement appends a statement with its parameters $1, $2, ... written into
// it, which saves the round trip that preparing takes.
func appendStatement(b []byte, text string, parameters []sqldb.Value) []byte {
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at+1 == len(text) {
			return append(b, text...)
		}
		n, end := 0, at+1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			n, end = 10*n+int(text[end]-'0'), end+1
		}
		if n == 0 || n > len(parameters) {
			b, text = append(b, text[:end]...), text[end:]
			continue
		}
		b = appendValue(append(b, text[:at]...), parameters[n-1])
		text = text[end:]
	}
}

// appendValue appends a value as a literal. Every connection's sql_mode is one in
// which a backslash escapes (see prologue), and its characters are those of
// UTF-8, in which no other character has the byte of a quote (MySQL manual,
// "String Literals").
func appendValue(b []byte, v sqldb.Value) []byte {
	switch v.Kind {
	case sqldb.Bool:
		return strconv.AppendBool(b, v.Number != 0)
	case sqldb.Text:
		b = append(b, '\'')
		for i := range len(v.Text) {
			switch c := v.Text[i]; c {
			case '\\', '\'':
				b = append(b, '\\', c)
			default:
				b = append(b, c)
			}
		}
		return append(b, '\'')
	case sqldb.Bytes:
		return append(hex.AppendEncode(append(b, "x'"...), v.Bytes), '\'')
	case sqldb.List:
		return append(appendNumbers(append(b, '\''), v.Numbers), '\'')
	case sqldb.Keys:
		return appendNumbers(b, v.Numbers)
	default:
		return strconv.AppendInt(b, v.Number, 10)
	}
}

// appendNumbers appends a list as its elements separated by commas.
func appendNumbers(b []byte, numbers []int64) []byte {
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// appendInsert appends one INSERT of all rows.
func appendInsert(b []byte, table string, rows sqldb.Rows) []byte {
	b = append(b, "INSERT INTO "+table+" ("+strings.Join(rows.Columns, ", ")+") VALUES "...)
	var values []sqldb.Value
	for i := range rows.Count {
		values = rows.Row(i, values[:0])
		for n, v := range values {
			switch {
			case n > 0:
				b = append(b, ',')
			case i > 0:
				b = append(b, ",("...)
			default:
				b = append(b, '(')
			}
			b = appendValue(b, v)
		}
		b = append(b, ')')
	}
	return b
}

// readElements appends the elements of a list to into.
func readElements(value driver.Value, into []int64) ([]int64, error) {
	list := text(value)
	if list == "" {
		return into, nil
	}
	for element := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(element, 10, 64)
		if err != nil {
			return into, err
		}
		into = append(into, n)
	}
	return into, nil
}

// columns is a row as a sqldb.Row.
type columns []driver.Value

// scanner gives each row to a callback as a Row.
func scanner(row func(sqldb.Row) error) func([]driver.Value) error {
	var c columns
	return func(values []driver.Value) error {
		c = values
		return row(&c)
	}
}

// Scan implements sqldb.Row.
func (c *columns) Scan(into ...any) error { return sqldb.ScanRow(&format, *c, into) }

// format is that of the library: columns of integer types are numbers, and all others,
// sums among them, text.
var format = sqldb.Format[driver.Value]{
	Null:    func(value driver.Value) bool { return value == nil },
	Integer: number,
	Bool: func(value driver.Value) (bool, error) {
		n, err := number(value)
		return n != 0, err
	},
	Text: text,
	List: readElements,
}
