package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

type pool = sqldb.Pool[conn]

// newPool makes connections without the sessions' time limits. Connections to a pooler keep them,
// since other clients would inherit a change.
func newPool(config *pgx.ConnConfig, address string, pooled bool) *pool {
	return sqldb.NewPool(config.ConnectTimeout, func(ctx context.Context) (conn, error) {
		raw, err := pgconn.ConnectConfig(ctx, &config.Copy().Config)
		if err != nil {
			return conn{}, connectError(ctx, config, address, err)
		}
		c := conn{raw}
		if pooled {
			return c, nil
		}
		bounded, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
		defer cancel()
		if err := unlimit(bounded, c); err != nil {
			c.HangUp()
			return conn{}, connectError(ctx, config, address, err)
		}
		return c, nil
	})
}

// conn is a connection for everything except sessions' operations. It prepares nothing, so that a
// pooler may be in between.
type conn struct{ *pgconn.PgConn }

var _ sqldb.Conn = conn{}

func (c conn) Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	return eachRow(c.send(ctx, text, parameters), abandon, row)
}

// eachRow calls row with each row of an answer; its error abandons the answer.
func eachRow(result *pgconn.ResultReader, abandon func(), row func(store.Row) error) error {
	var found columns
	for result.NextRow() {
		found = columns{result.Values(), result.FieldDescriptions()}
		if err := row(&found); err != nil {
			abandon()
			_, _ = result.Close()
			return err
		}
	}
	_, err := result.Close()
	return err
}

func (c conn) WithValues() sqldb.Reader { return valueConn{c} }

// valueConn is a conn whose rows implement AppendValues.
type valueConn struct{ conn }

func (c valueConn) Query(ctx context.Context, text string, row func(store.Row) error, parameters ...store.Value) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	var e encoder
	return eachRow(c.ExecParams(ctx, text, e.texts(parameters), nil, nil, nil), abandon, row)
}

func (c conn) Change(ctx context.Context, text string, parameters ...store.Value) (int64, error) {
	tag, err := c.send(ctx, text, parameters).Close()
	if err == nil && text == "COMMIT" && tag.String() != text {
		err = errRolledBack
	}
	if answer := (*pgconn.PgError)(nil); errors.As(err, &answer) && answer.Code == codeDependentObjects {
		err = fmt.Errorf("%w: %s", err, answer.Detail) // which names them
	}
	return tag.RowsAffected(), err
}

func (c conn) send(ctx context.Context, text string, parameters []store.Value) *pgconn.ResultReader {
	var e encoder
	data, types := e.encode(parameters, nil)
	return c.ExecParams(ctx, text, data, types, binaryFormats, binaryFormats)
}

func (c conn) Sound() bool { return !c.IsClosed() && !c.IsBusy() && c.TxStatus() == idle }

const closeTimeout = time.Second

// HangUp implements sqldb.Conn. An error would not matter.
func (c conn) HangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = c.Close(ctx)
}
