package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"modernc.org/libc"
	codes "modernc.org/sqlite/lib"

	"assay/driver/sqldb"
	"assay/history"
	"assay/store"
)

func (f *file) Refuses(by store.Protocol) string {
	if by == store.Pipeline {
		return "SQLite is no server, and has no pipelines"
	}
	return ""
}

// Verbatim implements store.Verbatim. A writing operation holds the writer's turn to its end, so
// that its BEGIN, which locks nothing yet, cannot lose against another session's.
func (l *connection) Verbatim(ctx context.Context, writes bool, work func(context.Context, store.Sender) error) store.Reply {
	working, stop := context.WithCancel(context.Background()) // see Transaction
	defer stop()
	x := &run{doing: "statements", writes: writes}
	x.texts = func() store.Reply {
		t := sqldb.NewTexts(&texts{l, x})
		return t.End(working, "sqlite: "+l.file.name, work(working, t))
	}
	return l.do(ctx, x).Reply
}

type texts struct {
	l *connection
	x *run
}

// Status implements sqldb.TextWire by the autocommit state
// (https://www.sqlite.org/c3ref/get_autocommit.html), for which the library has no method.
func (t *texts) Status() store.Status {
	raw := reflect.ValueOf(t.l.handle.raw).Elem()
	tls := (*libc.TLS)(raw.FieldByName("tls").UnsafePointer())
	if codes.Xsqlite3_get_autocommit(tls, uintptr(raw.FieldByName("db").Uint())) == 0 {
		return store.Open
	}
	return store.Idle
}

// MayCommit implements sqldb.TextWire. The RELEASE of the outermost savepoint is a COMMIT
// (https://www.sqlite.org/lang_savepoint.html).
func (t *texts) MayCommit(text *store.UserText) bool {
	return text.Kind == store.Anything || store.Releases(text)
}

// Separate implements sqldb.TextWire (https://www.sqlite.org/lang_transaction.html, "Implicit
// versus explicit transactions").
func (t *texts) Separate() bool { return true }

// SendTexts implements sqldb.TextWire. A text that may commit is not done if the caller has left.
func (t *texts) SendTexts(_ context.Context, all []store.UserText) ([]store.Result, sqldb.Stage, error) {
	if len(all) > 1 {
		return nil, sqldb.BeforeCommit, errors.New(t.l.file.Refuses(store.Pipeline))
	}
	text := &all[0]
	alone := t.Status() == store.Idle
	commits := alone && text.Kind != store.NoEffect && text.Kind != store.Begins || text.Kind == store.Commits || t.MayCommit(text)
	if commits {
		t.x.stage.CompareAndSwap(stageOpen, stageCommitting)
	}
	if t.x.stage.Load() == stageForbidden {
		return nil, sqldb.BeforeCommit, errLeft
	}
	var of sqldb.Prepared = sqldb.TextOnly{On: t.l.handle.raw, Text: text.Text}
	if text.Protocol != store.Simple {
		prepared, err := t.l.users.Prepare(context.Background(), text)
		if err != nil {
			return nil, sqldb.BeforeCommit, err
		}
		of = prepared
	}
	results, err := sqldb.SendBy(context.Background(), of, text, false, func(driver.Rows) error { return io.EOF })
	if text.Protocol == store.Extended { // parsed each time
		err = errors.Join(err, t.l.users.Close())
	}
	return results, sqldb.Alone, err
}

// Classify implements sqldb.TextWire; see uncommitted.
func (t *texts) Classify(err error, at sqldb.Stage) store.Reply {
	r := store.Reply{Class: classOf(err), Err: err}
	proven := at == sqldb.BeforeCommit
	switch primary(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_CONSTRAINT:
		proven = true
	case codes.SQLITE_ERROR, codes.SQLITE_MISMATCH, codes.SQLITE_READONLY, codes.SQLITE_TOOBIG, codes.SQLITE_RANGE:
		proven = proven || at == sqldb.Alone
	}
	if proven {
		r.Outcome = history.Failed
	} else {
		r.Broken = true
	}
	return r
}

func (t *texts) Violated(err error) store.Violation { return violated(err) }

// Leave implements sqldb.TextWire. Some errors have already rolled back.
func (t *texts) Leave(context.Context, *store.Call) error {
	if t.Status() == store.Idle {
		return nil
	}
	_, err := t.l.handle.execute(t.l.control[rollback], nil)
	return err
}

func (t *texts) Usable(error) bool { return t.Status() == store.Idle }
