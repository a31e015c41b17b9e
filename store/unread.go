package store

import (
	"context"
	"fmt"
	"slices"
)

// Unread takes account of what a database has and cannot give as rows while a schema is read
// as a whole: that is no reason to lose the rest. It is for one goroutine at a time.
type Unread struct {
	// Rows have a value that their column cannot hold; First is what is wrong with the first.
	Rows  int64  `json:"rows,omitempty"`
	First string `json:"first,omitempty"`
	// Tables are not there.
	Tables []string `json:"tables,omitempty"`
}

type (
	unreadKey   struct{}
	unmarkedKey struct{}
)

// WithoutMark has what is read with the context be read although assay's mark is gone from it.
func WithoutMark(ctx context.Context) context.Context {
	return context.WithValue(ctx, unmarkedKey{}, true)
}

// IsUnmarked reports whether a context is of WithoutMark.
func IsUnmarked(ctx context.Context) bool { return ctx.Value(unmarkedKey{}) != nil }

// WithUnread has what Whole reads with the context go on where something cannot be read. These
// tables are known not to be there.
func WithUnread(ctx context.Context, missing []string) (context.Context, *Unread) {
	u := &Unread{Tables: slices.Clone(missing)}
	return context.WithValue(ctx, unreadKey{}, u), u
}

func unreadOf(ctx context.Context) *Unread {
	u, _ := ctx.Value(unreadKey{}).(*Unread)
	return u
}

// Unreadable takes account of a row of a table that cannot be decoded, and reports whether
// reading goes on.
func Unreadable(ctx context.Context, table string, err error) bool {
	u := unreadOf(ctx)
	if u == nil || err == nil {
		return false
	}
	if u.Rows++; u.Rows == 1 {
		u.First = fmt.Sprintf("table %s: %v", table, err)
	}
	return true
}

// lacks takes account of a table that is not there. The error stays, since it may have ended
// the view; another one passes over the table.
func (u *Unread) lacks(table string) {
	if u != nil && !slices.Contains(u.Tables, table) {
		u.Tables = append(u.Tables, table)
	}
}

// NoTableError means that a table is not there that the schema has.
type NoTableError struct {
	Table string
	Err   error
}

func (e *NoTableError) Error() string { return e.Err.Error() }
func (e *NoTableError) Unwrap() error { return e.Err }

// decoded is a Row that remembers that it could not be decoded.
type decoded struct {
	Row
	err error
}

func (d *decoded) Scan(into ...any) error {
	d.err = d.Row.Scan(into...)
	return d.err
}

func (d *decoded) AppendValues(into []any) ([]any, error) {
	into, d.err = d.Row.AppendValues(into)
	return into, d.err
}
