package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"assay/store"
)

func (n *Namespace) texts(ctx context.Context, c Conn, query string) (texts []string, err error) {
	err = c.Query(ctx, query, func(row store.Row) error {
		texts = append(texts, "")
		return row.Scan(&texts[len(texts)-1])
	}, store.OfText(n.Name))
	return texts, err
}

// found lists the tables of an Open schema, except those whose names need quotes.
func (n *Namespace) found(ctx context.Context, c Conn) ([]string, error) {
	all, err := n.texts(ctx, c, n.Catalog.Tables)
	var names []string
	for _, name := range all {
		plain := name != ""
		for i, r := range name {
			plain = plain && (r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' && n.Catalog.Cases || i > 0 && r >= '0' && r <= '9')
		}
		if plain {
			names = append(names, name)
		}
	}
	return names, err
}

// Stored is a way of storage and its tables.
type Stored struct{ Way, Tables string }

// StoredTables groups the present tables by their way of storage.
func (n *Namespace) StoredTables(ctx context.Context, c Conn) (ways []Stored, err error) {
	if n.Catalog.Stored == "" {
		return nil, nil
	}
	err = c.Query(ctx, n.Catalog.Stored, func(row store.Row) error {
		var way, table string
		if err := row.Scan(&way, &table); err != nil {
			return err
		}
		if n.Existing && !n.Open && n.Schema.Table(table) == nil {
			return nil // it is none of the run's
		}
		if last := len(ways) - 1; last >= 0 && ways[last].Way == way {
			ways[last].Tables += ", " + table
		} else {
			ways = append(ways, Stored{way, table})
		}
		return nil
	}, store.OfText(cmp.Or(n.home, n.Name)))
	return ways, err
}

func (n *Namespace) refreshFound(ctx context.Context, c Conn) error {
	names, err := n.found(ctx, c)
	for _, name := range names {
		if err == nil {
			_, err = c.Change(ctx, n.Catalog.Refresh+" "+n.table(name))
		}
	}
	return err
}

// within lets read look at the schema. If the schema is Open, errors about missing tables are the
// server's own, since the user may have named the table.
func (n *Namespace) within(ctx context.Context, c Conn, read func(store.Reader) error) error {
	if n.Open && !n.Existing && n.Catalog.Use != "" {
		if _, err := c.Change(ctx, n.Catalog.Use); err != nil {
			return err
		}
	}
	return read(ReaderOf(c, &n.SQL, &n.of, func(err error) bool { return n.Server.Kind(err) == NotThere }))
}

func (n *Namespace) View(ctx context.Context, read func(store.Reader) error) error {
	return n.ViewBy(ctx, n.Server.Use, read)
}

// ViewBy is View on a connection that use lends.
func (n *Namespace) ViewBy(ctx context.Context, use func(context.Context, func(Conn) error) error, read func(store.Reader) error) error {
	return n.Operation("read", use(ctx, func(c Conn) error {
		return InTransaction(ctx, c, n.Server.Snapshot(false), func() error {
			if _, err := n.MustMark(ctx, c); err != nil {
				return err
			}
			return n.within(ctx, c, read)
		})
	}))
}

// Audit implements store.Database. It returns *store.NoSchemaError if the schema is gone.
func (n *Namespace) Audit(ctx context.Context, read func(store.Reader) error) error {
	err := n.Server.Use(ctx, func(c Conn) error {
		return InTransaction(ctx, c, n.Server.Snapshot(true), func() error { return n.within(ctx, c, read) })
	})
	if err != nil && !n.Open && n.Server.Kind(err) == NotThere {
		err = n.Missing()
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return n.Operation("audit", err)
}
