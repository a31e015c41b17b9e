package sqlite

import (
	"context"
	"errors"
	"fmt"

	library "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"assay/store"
)

// Error classes beyond those of package store.
const (
	classDiskFull = "disk full"
	classIO       = "i/o error"
	classCorrupt  = "corrupt file"
)

// codeOf is SQLite's extended result code, or 0.
func codeOf(err error) int {
	var typed *library.Error
	if errors.As(err, &typed) {
		return typed.Code()
	}
	return 0
}

// primary is the primary result code, the low byte (https://www.sqlite.org/rescode.html).
func primary(err error) int { return codeOf(err) & 0xff }

func classOf(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return store.ClassTimeout
	}
	switch primary(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_PROTOCOL:
		return store.ClassLockTimeout
	case codes.SQLITE_INTERRUPT:
		return store.ClassTimeout
	case codes.SQLITE_FULL:
		return classDiskFull
	case codes.SQLITE_IOERR:
		return classIO
	case codes.SQLITE_READONLY:
		return store.ClassReadOnly
	case codes.SQLITE_CANTOPEN:
		return store.ClassConnect
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return classCorrupt
	case codes.SQLITE_CONSTRAINT:
		return store.ClassConstraint
	default:
		return store.ClassOther
	}
}

func violated(err error) store.Violation {
	switch codeOf(err) {
	case codes.SQLITE_CONSTRAINT_PRIMARYKEY, codes.SQLITE_CONSTRAINT_ROWID, codes.SQLITE_CONSTRAINT_UNIQUE:
		return store.Unique
	case codes.SQLITE_CONSTRAINT_CHECK:
		return store.Floor
	case codes.SQLITE_CONSTRAINT_NOTNULL:
		return store.Absent
	}
	return store.NoViolation
}

// explain wraps an error with the operation and with advice. It returns nil for nil.
func (o options) explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	var hint string
	switch primary(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		hint = "; another process or session uses the file, end it and try again"
	case codes.SQLITE_PROTOCOL: // of the write-ahead log's locks, after ten seconds of trying
		hint = "; another process keeps the file's locks, as one does that was stopped while it had them: let it go on or end it, and try again"
	case codes.SQLITE_FULL:
		hint = "; the disk is full, free space or name a file elsewhere"
	case codes.SQLITE_READONLY, codes.SQLITE_PERM:
		hint = "; the file or its directory cannot be written, change that or name another file"
	case codes.SQLITE_CANTOPEN:
		hint = "; SQLite must be able to write the file and its directory, change that or name another file"
	case codes.SQLITE_IOERR:
		hint = "; the disk or its file system failed, see the system's log"
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		hint = "; the file is damaged, as one is that somebody copies over while it is open; move it away or name another file"
	}
	return fmt.Errorf("sqlite: %s: %s: %w%s", doing, o.name, err, hint)
}

func (o options) foreign() error {
	return &store.ForeignError{Name: o.name, Hint: "name another file (sqlite:PATH), or move this one away"}
}
