package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	library "modernc.org/sqlite"

	"assay/driver/sqldb"
	"assay/store"
)

// handle is a connection of the library, without database/sql, which would take a fifth of a
// transaction's time. One goroutine at a time uses it. Sessions' statements get no context that can
// end, for which the library would start a goroutine.
type handle struct {
	raw    rawConn
	format *sqldb.Format[driver.Value]
	named  []driver.NamedValue
}

type rawConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func openHandle(ctx context.Context, dsn string) (*handle, error) {
	connector, err := library.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &handle{raw: raw.(rawConn), format: sqldb.StandardFormat(listOf)}, nil
}

func (h *handle) close() error { return h.raw.Close() }

func within(ctx context.Context, dsn string, work func(*handle) error) (err error) {
	h, err := openHandle(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return work(h)
}

func (h *handle) prepare(text string) (statement, error) {
	s, err := h.raw.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	return s.(statement), nil
}

// change does the texts up to the first error.
func (h *handle) change(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if err := h.changeBy(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) changeBy(ctx context.Context, text string, parameters ...store.Value) error {
	_, err := h.raw.ExecContext(ctx, numbered(text), h.bind(parameters))
	return err
}

func (h *handle) Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error {
	rows, err := h.raw.QueryContext(ctx, numbered(text), h.bind(parameters))
	if err != nil {
		return err
	}
	return h.each(rows, func(c store.Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return row(c)
	})
}

func (h *handle) execute(s statement, parameters []store.Value) (int64, error) {
	result, err := s.ExecContext(context.Background(), h.bind(parameters))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query calls row with each row; its error ends the query.
func (h *handle) query(s statement, parameters []store.Value, row func(store.Row) error) error {
	rows, err := s.QueryContext(context.Background(), h.bind(parameters))
	if err != nil {
		return err
	}
	return h.each(rows, row)
}

func (h *handle) each(rows driver.Rows, row func(store.Row) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	c := columns{values: make([]driver.Value, len(rows.Columns())), format: h.format}
	for {
		switch err := rows.Next(c.values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := row(&c); err != nil {
			return err
		}
	}
}

// bind converts parameters for the library, which copies them.
func (h *handle) bind(parameters []store.Value) []driver.NamedValue {
	h.named = h.named[:0]
	for i, v := range parameters {
		h.named = append(h.named, driver.NamedValue{Ordinal: i + 1, Value: valueOf(v)})
	}
	return h.named
}

func valueOf(v store.Value) driver.Value {
	switch v.Kind {
	case store.Text:
		return v.Text
	case store.Bytes:
		return v.Bytes
	case store.List, store.Keys:
		return listText(v.Numbers)
	case store.Real:
		return v.Real
	case store.Nothing:
		return nil
	default:
		return v.Number
	}
}

func listText(numbers []int64) string {
	b := []byte{'['}
	for i, n := range numbers {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

func listOf(text string, into []int64) ([]int64, error) {
	var list []int64
	err := json.Unmarshal([]byte(text), &list)
	return append(into, list...), err
}

// columns is a store.Row, valid until the next row.
type columns struct {
	values []driver.Value
	format *sqldb.Format[driver.Value]
}

func (c *columns) Scan(into ...any) error { return sqldb.ScanRow(c.format, c.values, into) }

func (c *columns) AppendValues(into []any) ([]any, error) {
	for _, value := range c.values {
		v, err := sqldb.StandardValue(value)
		if err != nil {
			return into, err
		}
		into = append(into, v)
	}
	return into, nil
}
