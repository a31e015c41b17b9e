package etcd

import (
	"context"
	"errors"
	"fmt"

	"assay/driver/ordered"
	"assay/driver/rows"
	"assay/store"
)

var _ store.Replicated = (*database)(nil)

// database is a store.Database under (root, WORKLOAD); see ordered.Form.
type database struct {
	*options
	*ordered.Schema[*transaction]
	conn *connection
}

// Open connects to the cluster. It returns *store.OptionError, *store.AuthError or
// *store.UnreachableError.
func Open(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	d := &database{options: o}
	d.Schema = ordered.NewSchema(o.root, of, d, limits(), hint, leaseID)
	first, cancel := context.WithTimeout(ctx, o.connectTimeout)
	defer cancel()
	if d.conn, err = connectForGood(first, o); err == nil {
		if _, err = d.conn.reader(first).Get(d.Layout.Mark())(); err == nil {
			return d, nil
		}
		err = errors.Join(d.conn.explain(first, "connect", err), d.conn.close())
	}
	if first.Err() != nil && ctx.Err() == nil {
		err = &store.UnreachableError{Address: o.printable, Err: fmt.Errorf("no answer within %v (%w)", o.connectTimeout, err)}
	}
	return nil, err
}

func (d *database) Close() error { return d.conn.close() }

func (d *database) Lacks() store.Lacks { return Lacks() }

func (d *database) Levels() []store.Level {
	return []store.Level{{Name: serializable, Isolation: serializable}, {Name: strict, Isolation: strict}}
}

// Promises implements store.Database. Operations are linearizable by default, atomic and
// serializable (manual 3.4, "KV API guarantees"), so transactions with linearizable reads are in
// real-time order. Serializable reads may see an old state, but a transaction writes only if that
// state still holds.
func (d *database) Promises() store.Promises {
	if d.stale {
		return store.Promises{Model: serializable, Eventual: true, Atomic: true}
	}
	return store.Promises{Model: strict, Reads: store.Linearizable, Scans: store.Linearizable, Atomic: true}
}

func (d *database) execution(t *transaction) *ordered.Execution {
	return &ordered.Execution{Forms: d.Forms, Keys: t, Limits: limits()}
}

// View implements store.Database at one revision (manual 3.4, "Data model"). The first read is
// linearizable, so the revision is current. Reads are repeated until they are answered.
func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	t := d.conn.reader(ctx)
	t.patient = true
	return d.view(ctx, t, read)
}

// view lets read look at the transaction's state, if there is a schema of ours.
func (d *database) view(ctx context.Context, t *transaction, read func(store.Reader) error) error {
	if _, err := d.MustMark(ctx, t); err != nil {
		return t.explain(ctx, "read", err)
	}
	return read(&reader{d, t, false})
}

func (d *database) Audit(ctx context.Context, read func(store.Reader) error) error {
	return read(&reader{d, d.conn.reader(ctx), true})
}

type reader struct {
	*database
	transaction *transaction
	// direct: rows are read by the keys that a statement names.
	direct bool
}

// Read implements store.Reader. etcd itself counts whole tables.
func (r *reader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	p, err := ordered.Compile(r.Forms, &s, r.direct)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if s.Verb == store.Count && len(s.Where) == 0 && len(s.Columns) == 0 {
		n, err := r.transaction.Count(r.Layout.Rows(s.Table))
		if err != nil {
			return r.transaction.explain(ctx, s.Name, err)
		}
		return row(&rows.Answer{Plan: p.Plan, Totals: []int64{n}})
	}
	own := error(nil) // of the callback, which is returned as it is
	_, err = r.execution(r.transaction).Do(p, parameters, func(found store.Row) error {
		own = row(found)
		return own
	})
	if err == nil || own != nil {
		return err
	}
	return r.transaction.explain(ctx, s.Name, err)
}
