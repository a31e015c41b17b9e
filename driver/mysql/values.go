package mysql

import (
	"encoding/hex"
	"strconv"
	"strings"

	"assay/store"
)

// appendValue appends a literal, which saves the round trip of preparing. Each connection's
// sql_mode has backslash escapes (see prologue). In UTF-8 no other character contains a quote's
// byte (MySQL manual, "String Literals").
func appendValue(b []byte, v store.Value) []byte {
	switch v.Kind {
	case store.Bool:
		return strconv.AppendBool(b, v.Number != 0)
	case store.Text:
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
	case store.Bytes:
		return append(hex.AppendEncode(append(b, "x'"...), v.Bytes), '\'')
	case store.List:
		return append(appendNumbers(append(b, '\''), v.Numbers), '\'')
	case store.Keys:
		return appendNumbers(b, v.Numbers)
	case store.Real:
		return strconv.AppendFloat(b, v.Real, 'g', -1, 64)
	case store.Nothing:
		return append(b, "NULL"...)
	default:
		return strconv.AppendInt(b, v.Number, 10)
	}
}

func appendNumbers(b []byte, numbers []int64) []byte {
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

func readElements(list string, into []int64) ([]int64, error) {
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
