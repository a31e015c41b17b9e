package sqlite

import (
	"context"
	"fmt"
	"time"

	"assay/driver/sqldb"
)

// AppendValues implements sqldb.ValueRow.
func (c columns) AppendValues(into []any) ([]any, error) {
	names, err := c.rows.Columns()
	if err != nil {
		return into, err
	}
	first := len(into)
	fields := make([]any, len(names))
	for range names {
		into = append(into, nil)
	}
	for i := range fields {
		fields[i] = &into[first+i]
	}
	if err := c.rows.Scan(fields...); err != nil {
		return into, err
	}
	for i, v := range into[first:] {
		switch v := v.(type) {
		case nil, int64, float64, bool, string:
		case []byte:
			into[first+i] = string(v)
		case time.Time: // what the library makes of a column that is declared so
			into[first+i] = v.Format("2006-01-02 15:04:05.999999")
		default:
			return into, fmt.Errorf("a value of type %T is not understood", v)
		}
	}
	return into, nil
}

// WithValues implements sqldb.ValueReader: all rows are ValueRows.
func (r reader) WithValues() sqldb.Reader { return r }

// Learn implements sqldb.Learner.
func (l *connection) Learn(ctx context.Context, statement sqldb.Statement) (int, error) {
	prepared, err := l.conn.PrepareContext(ctx, numbered(statement.Text))
	if err != nil {
		return 0, err
	}
	l.statements, l.names = append(l.statements, prepared), append(l.names, statement.Name)
	return len(l.statements) - 1, nil
}
