package store

import (
	"context"
	"fmt"
	"slices"
)

// Unread collects what exists but cannot be given as rows, so that the rest can be read. One
// goroutine at a time uses it.
type Unread struct {
	// Rows counts rows with a value that their column cannot hold; First is the first error.
	Rows   int64    `json:"rows,omitempty"`
	First  string   `json:"first,omitempty"`
	Tables []string `json:"tables,omitempty"`
}

type (
	unreadKey   struct{}
	unmarkedKey struct{}
)

// WithoutMark lets reads with the context go on without assay's mark.
func WithoutMark(ctx context.Context) context.Context {
	return context.WithValue(ctx, unmarkedKey{}, true)
}

// IsUnmarked reports whether the context comes from WithoutMark.
func IsUnmarked(ctx context.Context) bool { return ctx.Value(unmarkedKey{}) != nil }

// WithUnread lets Whole go on where something cannot be read. The missing tables are skipped.
func WithUnread(ctx context.Context, missing []string) (context.Context, *Unread) {
	u := &Unread{Tables: slices.Clone(missing)}
	return context.WithValue(ctx, unreadKey{}, u), u
}

func unreadOf(ctx context.Context) *Unread {
	u, _ := ctx.Value(unreadKey{}).(*Unread)
	return u
}

// Unreadable counts a row that cannot be decoded, and reports whether reading goes on.
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

// lacks notes a missing table for the next view. The error stays: it may have ended this one.
func (u *Unread) lacks(table string) {
	if u != nil && !slices.Contains(u.Tables, table) {
		u.Tables = append(u.Tables, table)
	}
}

// NoTableError means that a table of the schema is missing.
type NoTableError struct {
	Table string
	Err   error
}

func (e *NoTableError) Error() string { return e.Err.Error() }
func (e *NoTableError) Unwrap() error { return e.Err }

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
