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

// handle is a connection of the library, used directly: database/sql would take a fifth
// of a transaction's time. It is used by one goroutine at a time. No statement of a
// session is given a context that can end, for which the library would start a goroutine.
type handle struct {
	raw    driver.Conn
	format *sqldb.Format[driver.Value]
	// named are the parameters of the statement that is being begun.
	named []driver.NamedValue
}

// statement is a prepared one of the library's.
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
	return &handle{raw: raw, format: sqldb.StandardFormat(listOf)}, nil
}

func (h *handle) close() error { return h.raw.Close() }

// within opens a connection for one call.
func within(ctx context.Context, dsn string, work func(*handle) error) (err error) {
	h, err := openHandle(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	return work(h)
}

func (h *handle) prepare(text string) (statement, error) {
	s, err := h.raw.(driver.ConnPrepareContext).PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	return s.(statement), nil
}

// change does these texts, up to the first that fails.
func (h *handle) change(ctx context.Context, texts ...string) error {
	for _, text := range texts {
		if err := h.changeBy(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) changeBy(ctx context.Context, text string, parameters ...store.Value) error {
	_, err := h.raw.(driver.ExecerContext).ExecContext(ctx, numbered(text), h.bind(parameters))
	return err
}

// Query implements sqldb.Reader.
func (h *handle) Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error {
	rows, err := h.raw.(driver.QueryerContext).QueryContext(ctx, numbered(text), h.bind(parameters))
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

// execute does a statement and says how many rows it has changed.
func (h *handle) execute(s statement, parameters []store.Value) (int64, error) {
	result, err := s.ExecContext(context.Background(), h.bind(parameters))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// query gives each row of a statement's answer to the callback, which ends it with an error.
func (h *handle) query(s statement, parameters []store.Value, row func(store.Row) error) error {
	rows, err := s.QueryContext(context.Background(), h.bind(parameters))
	if err != nil {
		return err
	}
	return h.each(rows, row)
}

// each gives the rows to the callback and closes them.
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

// bind gives parameters as the library takes them, which copies them.
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

// listText is a list as JSON.
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

// listOf appends the list that listText has written.
func listOf(text string, into []int64) ([]int64, error) {
	var list []int64
	err := json.Unmarshal([]byte(text), &list)
	return append(into, list...), err
}

// columns is a row as a store.Row, good until the next.
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
