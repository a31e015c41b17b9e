package redis

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"assay/driver/ordered"
	"assay/driver/ownership"
	"assay/driver/rows"
	"assay/store"
)

var _ store.Replicated = (*database)(nil)

// database is a store.Database under PREFIX:WORKLOAD.
type database struct {
	*settings
	layout
	of    store.Schema
	forms ordered.Forms
	*ownership.Schema[*link]
	// run is the run that the mark named last; see session.runBy.
	run atomic.Pointer[string]
	// answering is the number of the Sentinel that answered last.
	answering atomic.Int32
}

// Open connects to the server in target.Address, or to the primary that Sentinels name; see
// addressForm. It returns *store.OptionError, *store.UnreachableError or *store.AuthError.
//
// With wait=N a write is acknowledged when N replicas have it (WAIT), within waitMS milliseconds.
// If they have not, the write was done all the same, and the reply is unknown.
func Open(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
	s, err := parseSchema(target, &of)
	if err != nil {
		return nil, err
	}
	d := &database{settings: s, layout: layoutOf(s, &of), of: of}
	d.forms, d.Schema = ordered.CodedForms(d.layout, &of), ownership.New(d, of)
	err = d.Change(ctx, "open", func(l *link) error {
		told, err := l.info(ctx, "cluster")
		if err == nil && told["cluster_enabled"] == "1" && !s.sharded {
			err = &store.OptionError{Option: "address", Value: d.printable,
				Want: schemeCluster + "://, since the server is in a Redis Cluster: what transactions change then is in one of its slots"}
		}
		return err
	})
	if option, is := errors.AsType[*store.OptionError](err); is {
		return nil, option
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

func (d *database) Lacks() store.Lacks { return Lacks() }

func (d *database) Levels() []store.Level { return []store.Level{{Name: level, Isolation: level}} }

// Promises implements store.Database. One thread executes a server's commands and transactions, so
// an acknowledged write is visible to all later reads. Package promise judges failovers.
func (d *database) Promises() store.Promises {
	return store.Promises{Model: level, Reads: store.Linearizable, Atomic: true}
}

// loadRows is the size of one loading command, for which other clients wait.
const loadRows = 1000

func (d *database) BulkRows() int { return loadRows }

func (d *database) Load(ctx context.Context, of store.Rows) error {
	f, made, err := d.rowsOf(&of)
	if err != nil {
		return failed("load "+of.Table, err)
	}
	return d.Change(ctx, "load "+of.Table, func(l *link) error {
		if _, err := d.MustMark(ctx, l); err != nil {
			return err
		}
		if d.spread {
			return d.loadSpread(ctx, l, f, made)
		}
		for part := range slices.Chunk(made, loadRows) {
			insert, err := insertion(f, part)
			if err == nil {
				err = l.one(ctx, insert)
			}
			if err != nil {
				return err
			}
			if insert.answer == int64(0) {
				return f.Exists()
			}
		}
		return nil
	})
}

func (d *database) execution() ordered.Execution {
	return ordered.Execution{Forms: d.forms, Limits: ordered.Limits{Value: math.MaxInt, Changed: math.MaxInt}}
}

func (d *database) rowsOf(of *store.Rows) (*ordered.Form, []rows.Row, error) {
	f := d.forms[of.Table]
	if f == nil {
		return nil, nil, fmt.Errorf("there is no table %q", of.Table)
	}
	made, err := f.Made(of)
	return f, made, err
}

// mostInserted bounds the rows of one command, which has at most 1024*1024 arguments (networking.c,
// processMultibulkBuffer).
const mostInserted = 500_000

var errManyRows = fmt.Errorf("more than %d rows are too many for one command", mostInserted)

// insertion inserts all rows or, if one exists, none (manual, "MSETNX"). The answer is 1 or 0.
func insertion(f *ordered.Form, made []rows.Row) (*command, error) {
	if len(made) > mostInserted {
		return nil, errManyRows
	}
	words, seen := make([]string, 0, 1+2*len(made)), make(map[string]bool, len(made))
	words = append(words, "msetnx")
	for _, row := range made {
		if err := f.Allow(row); err != nil {
			return nil, err
		}
		key := string(f.Key(row))
		if seen[key] {
			return nil, f.Exists()
		}
		seen[key] = true
		words = append(words, key, string(f.Value(row)))
	}
	return newCommand(words...), nil
}

// View implements store.Database after the run, when nothing changes. SCAN is no snapshot.
func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	return d.Change(ctx, "read", func(l *link) error {
		if _, err := d.MustMark(ctx, l); err != nil {
			return err
		}
		return read(reader{d, l})
	})
}

// Audit implements store.Database. There are no snapshots; see Lacks.
func (d *database) Audit(context.Context, func(store.Reader) error) error {
	return errors.New("redis: audit: " + Lacks()[store.Snapshots])
}

// reader is a store.Reader that scans all keys.
type reader struct {
	*database
	link *link
}

func (r reader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	if s.Verb == store.Count {
		return store.ErrNotCounted // DBSIZE counts the keys of all
	}
	p, err := ordered.Compile(r.forms, &s, false)
	if err != nil {
		return err
	}
	if p.Verb != store.Read {
		return fmt.Errorf("redis: %s: a view only reads", s.Name)
	}
	x := r.execution()
	found, err := x.Reading(p, parameters, row)
	if err == nil {
		err = r.everyValue(ctx, r.link, p.Table.Name, found.Take)
	}
	if err != nil {
		return err
	}
	return found.Finish()
}
