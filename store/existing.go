package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ExistingTables is a Database that can work on the user's tables (Schema.Existing).
type ExistingTables interface {
	// CheckShape gives *ShapeError unless the tables exist with their columns and keys.
	CheckShape(ctx context.Context) error
	// Attached lists what hangs on a table of a statement; none if there is no such table.
	Attached(ctx context.Context, table string) ([]Attachment, error)
	// WorkFor sets the run for which sessions open. No mark tells it.
	WorkFor(holder Holder)
}

// WrittenByFunctions stands among a target's written tables for those that nobody knows.
const WrittenByFunctions = "what its functions and procedures write"

// Lasting is a Database with tables whose rows outlast a rollback.
type Lasting interface {
	// LastingTables names the tables that the user can see, each with its schema, and those of the
	// session's schema also without.
	LastingTables(ctx context.Context) ([]string, error)
}

// Attachment is what a table's owner has put on it, such as a trigger or a constraint.
type Attachment struct {
	// Table and Text are in the database's words.
	Table, Text string
	// Alters is true if reads may then differ from writes: it changes, hides, adds or drops rows.
	Alters bool
}

func (a Attachment) String() string { return a.Text + " of " + a.Table }

// ShapeError means that an existing table lacks the needed shape. Nothing was changed.
type ShapeError struct {
	Table string
	// Differs names each missing or different thing.
	Differs []string
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("existing table %s cannot be used: %s; nothing was changed", e.Table, strings.Join(e.Differs, "; "))
}

// NotOursError refuses an action that assay does only to what it made.
type NotOursError struct{ Doing string }

func (e *NotOursError) Error() string {
	return e.Doing + ": the tables were there before and are not assay's; nothing was changed"
}

// OnExisting wraps a database whose tables existed before. Sessions and views reach them. No call
// that makes, marks, drops or alters something reaches the driver. If something on a written
// table alters rows, a schema that is not Open is refused, and otherwise Describe tells it. The
// error is a *ShapeError, or an *OptionError of a database that cannot do this.
func OnExisting(ctx context.Context, db Database, target Target, open bool) (Database, error) {
	tables, can := As[ExistingTables](db)
	if !can {
		return nil, &OptionError{Option: "--use-existing", Value: "this database", Want: "PostgreSQL, MySQL, MariaDB, MongoDB, SQLite, Cassandra"}
	}
	if err := tables.CheckShape(ctx); err != nil {
		return nil, err
	}
	e := &existing{Database: db, tables: tables}
	looked := map[string]bool{}
	for i, table := range slices.Concat(target.Written, target.ReadOnly) {
		if looked[table] || table == WrittenByFunctions {
			continue
		}
		looked[table] = true
		all, err := tables.Attached(ctx, table)
		if err != nil {
			return nil, err
		}
		var differs []string
		for _, a := range all {
			switch {
			case i >= len(target.Written) || !a.Alters:
				e.beside = append(e.beside, a.String())
			case open:
				e.altering = append(e.altering, a.String())
			default:
				differs = append(differs, a.Text)
			}
		}
		if differs != nil {
			return nil, &ShapeError{Table: all[0].Table, Differs: append(differs, "so rows may be read otherwise than they were written, and nothing could be judged")}
		}
	}
	return e, nil
}

// existing keeps mark and lease in memory alone: they keep nobody else out.
type existing struct {
	Database
	tables ExistingTables
	// altering can change written rows; beside cannot.
	altering, beside []string
	mark             atomic.Pointer[Marker]
}

// Describe adds what hangs on the tables.
func (e *existing) Describe(ctx context.Context) (Product, error) {
	p, err := e.Database.Describe(ctx)
	for _, s := range []Setting{{Name: SettingAltering, Value: strings.Join(e.altering, "; ")}, {Name: SettingAttached, Value: strings.Join(e.beside, "; ")}} {
		if s.Value != "" {
			p.Settings = append(p.Settings, s)
		}
	}
	return p, err
}

func (e *existing) Refuses(by Protocol) string {
	of, is := As[Verbatims](e.Database)
	if !is {
		return "this database sends no statements as a user wrote them"
	}
	return of.Refuses(by)
}

// LastingTables implements Lasting.
func (e *existing) LastingTables(ctx context.Context) ([]string, error) {
	of, is := As[Lasting](e.Database)
	if !is {
		return nil, nil
	}
	return of.LastingTables(ctx)
}

func (e *existing) Marker(context.Context) (*Marker, error) { return e.mark.Load(), nil }

func (e *existing) Find(context.Context) (*Leftover, error) { return nil, nil }

func (e *existing) Removable(context.Context) error { return nil }

// Create makes nothing but the mark that Marker returns.
func (e *existing) Create(_ context.Context, mark Marker) error {
	e.mark.Store(&mark)
	return nil
}

func (e *existing) Load(context.Context, Rows) error { return &NotOursError{"load rows"} }

func (e *existing) FinishLoad(context.Context) error { return &NotOursError{"finish loading"} }

func (e *existing) Drop(context.Context) error { return &NotOursError{"drop tables"} }

// Size returns nothing: some databases refresh statistics or alter tables to answer.
func (e *existing) Size(context.Context) (Size, error) { return Size{}, nil }

func (e *existing) Lease(context.Context) (*Lease, error) { return nil, nil }

func (e *existing) TakeLease(_ context.Context, holder Holder, _ time.Duration, _ string) error {
	e.tables.WorkFor(holder)
	return nil
}

func (e *existing) RenewLease(context.Context, string, time.Duration) error { return nil }

func (e *existing) ReleaseLease(context.Context, string) error { return nil }
