package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"assay/driver/ownership"
	"assay/driver/rows"
	"assay/store"
)

var _ store.Replicated = (*database)(nil)

// database is a store.Database under PREFIX:WORKLOAD.
type database struct {
	*settings
	layout
	of     store.Schema
	tables map[string]*rows.Table
	*ownership.Schema[*link]
	// run is the run that the mark named last; see session.runBy.
	run atomic.Pointer[string]
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
	d := &database{settings: s, layout: layoutOf(s, &of), of: of, tables: rows.Tables(&of)}
	d.Schema = ownership.New(d, of)
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
	t, made, err := d.rowsOf(&of)
	if err != nil {
		return failed("load "+of.Table, err)
	}
	return d.Change(ctx, "load "+of.Table, func(l *link) error {
		if _, err := d.MustMark(ctx, l); err != nil {
			return err
		}
		if d.spread {
			return d.loadSpread(ctx, l, t, made)
		}
		for part := range slices.Chunk(made, loadRows) {
			insert, err := d.insertion(t, part)
			if err == nil {
				err = l.one(ctx, insert)
			}
			if err != nil {
				return err
			}
			if insert.answer == int64(0) {
				return t.Exists()
			}
		}
		return nil
	})
}

func (d *database) rowsOf(of *store.Rows) (*rows.Table, []rows.Row, error) {
	t, err := rows.Find(d.tables, of.Table)
	if err != nil {
		return nil, nil, err
	}
	columns, err := t.Places(of.Columns)
	if err != nil {
		return nil, nil, err
	}
	var given []store.Value
	var values rows.Evaluation
	made := make([]rows.Row, of.Count)
	for i := range made {
		given = of.Row(i, given[:0])
		if err := values.Given(t, columns, given); err != nil {
			return nil, nil, err
		}
		made[i] = t.Make()
		t.Write(made[i], columns, values.Values)
	}
	return t, made, nil
}

// mostInserted bounds the rows of one command, which has at most 1024*1024 arguments (networking.c,
// processMultibulkBuffer).
const mostInserted = 500_000

var errManyRows = fmt.Errorf("more than %d rows are too many for one command", mostInserted)

// insertion inserts all rows or, if one exists, none (manual, "MSETNX"). The answer is 1 or 0.
func (d *database) insertion(t *rows.Table, made []rows.Row) (*command, error) {
	if len(made) > mostInserted {
		return nil, errManyRows
	}
	words, seen := make([]string, 0, 1+2*len(made)), make(map[string]bool, len(made))
	words = append(words, "msetnx")
	for _, row := range made {
		if err := t.Allow(row); err != nil {
			return nil, err
		}
		key := d.keyOf(t, row)
		if seen[key] {
			return nil, t.Exists()
		}
		seen[key] = true
		words = append(words, key, valueOf(row))
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
	p, err := rows.Compile(r.tables, &s, rows.Ways{Usable: func(*rows.Table, int) bool { return false }})
	if err != nil {
		return err
	}
	if p.Verb != store.Read {
		return fmt.Errorf("redis: %s: a view only reads", s.Name)
	}
	var e rows.Evaluation
	if err := e.Bind(p, parameters, nil); err != nil {
		return err
	}
	left, err := e.Limit(p, parameters)
	if err != nil {
		return err
	}
	var kept []rows.Row
	answer := rows.Answer{Plan: p}
	give := func(found rows.Row) error {
		if left == 0 {
			return nil
		}
		left--
		answer.Row = found
		return row(&answer)
	}
	err = r.everyRow(ctx, r.link, p.Table, func(found rows.Row) error {
		switch {
		case !p.Table.Match(found, e.Where):
			return nil
		case !p.Ordered():
			return give(found)
		}
		kept = append(kept, found)
		return nil
	})
	slices.SortStableFunc(kept, p.Compare)
	for i := 0; i < len(kept) && err == nil; i++ {
		err = give(kept[i])
	}
	return err
}
