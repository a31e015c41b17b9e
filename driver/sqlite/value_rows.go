package sqlite

import (
	"context"
	"fmt"
	"time"

	"assay/driver/sqldb"
)

func (c *columns) AppendValues(into []any) ([]any, error) {
	for _, v := range c.values {
		switch v := v.(type) {
		case nil, int64, float64, bool, string:
			into = append(into, v)
		case []byte:
			into = append(into, string(v))
		case time.Time: // what the library makes of a column that is declared so
			into = append(into, v.Format("2006-01-02 15:04:05.999999"))
		default:
			return into, fmt.Errorf("a value of type %T is not understood", v)
		}
	}
	return into, nil
}

func (l *connection) Learn(_ context.Context, statement sqldb.Statement) (int, error) {
	prepared, err := l.handle.prepare(numbered(statement.Text))
	if err != nil {
		return 0, err
	}
	l.statements, l.names = append(l.statements, prepared), append(l.names, statement.Name)
	return len(l.statements) - 1, nil
}
