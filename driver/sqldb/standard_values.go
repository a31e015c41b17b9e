package sqldb

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"time"
)

// AppendValues implements Row. Some libraries give decimals, which sums are, as text;
// the description of the answer tells them from other text.
func (r *standardRow) AppendValues(into []any) ([]any, error) {
	for i, value := range r.values {
		v, err := r.value(i, value)
		if err != nil {
			return into, err
		}
		into = append(into, v)
	}
	return into, nil
}

func (r *standardRow) value(i int, value driver.Value) (any, error) {
	switch v := value.(type) {
	case nil, int64, float64, string, bool:
		return v, nil
	case float32: // its shortest text is what the server wrote
		return strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	case uint64:
		if v > 1<<63-1 {
			return float64(v), nil
		}
		return int64(v), nil
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999"), nil
	case []byte:
		if types, can := r.conn.answer.(driver.RowsColumnTypeDatabaseTypeName); !can || types.ColumnTypeDatabaseTypeName(i) != "DECIMAL" {
			return string(v), nil
		}
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n, nil
		}
		return strconv.ParseFloat(string(v), 64)
	default:
		return nil, fmt.Errorf("a value of type %T is not understood", value)
	}
}
