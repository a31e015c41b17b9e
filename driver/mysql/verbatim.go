package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"

	"assay/driver/sqldb"
	"assay/store"
)

func (p *schema) Refuses(by store.Protocol) string {
	switch by {
	case store.Extended:
		return "MySQL's protocol has texts (simple) and prepared statements (prepared), and none that is parsed and executed apart"
	case store.Pipeline:
		return "MySQL's protocol has no pipelines"
	}
	return ""
}

// Flags of the server's status (MySQL documentation, "Status Flags").
const statusInTransaction = 1

// Status implements sqldb.TextWire by SERVER_STATUS_IN_TRANS in the server's last answer. It reads
// a private field of the library, since no statement tells it in both MySQL and MariaDB.
func (l *session) Status() store.Status {
	if !l.status.IsValid() { // to find it by its name takes long
		l.status = reflect.ValueOf(l.raw.(*exchange).raw).Elem().FieldByName("status")
	}
	if l.status.Uint()&statusInTransaction != 0 {
		return store.Open
	}
	return store.Idle
}

// MayCommit implements sqldb.TextWire (MySQL manual, "Statements That Cause an Implicit Commit").
func (l *session) MayCommit(text *store.UserText) bool {
	return text.Kind == store.Begins || text.Kind == store.Defines || text.Kind == store.Anything
}

// Separate implements sqldb.TextWire by autocommit (MySQL manual, "autocommit, Commit, and
// Rollback").
func (l *session) Separate() bool { return true }

func (l *session) SendTexts(ctx context.Context, texts []store.UserText) ([]store.Result, sqldb.Stage, error) {
	text := &texts[0]
	if reason := l.schema.Refuses(text.Protocol); reason != "" {
		return nil, sqldb.BeforeCommit, errors.New(reason)
	}
	if len(texts) > 1 {
		return nil, sqldb.BeforeCommit, errors.New(l.schema.Refuses(store.Pipeline))
	}
	var of sqldb.Prepared = sqldb.TextOnly{On: l.raw, Text: text.Text}
	if text.Protocol == store.Prepared {
		prepared, err := l.users.Prepare(ctx, text)
		if err != nil {
			return nil, sqldb.BeforeCommit, err
		}
		of = prepared
	}
	results, err := sqldb.SendBy(ctx, of, text, true, nextResult)
	return results, sqldb.Alone, err
}

// nextResult goes on to the next result, or returns io.EOF.
func nextResult(rows driver.Rows) error {
	if several, is := rows.(driver.RowsNextResultSet); is {
		return several.NextResultSet()
	}
	return io.EOF
}
