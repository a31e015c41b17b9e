//go:build foundationdb

package foundationdb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/driver/ordered"
	"assay/store"
)

var _ store.Engined = (*database)(nil)

// database is a store.Database under ("assay", WORKLOAD); see ordered.Form.
type database struct {
	*ordered.Schema[owned]
	db         fdb.Database
	riskyReads bool
}

// Open connects to the cluster. It returns *store.OptionError or *store.UnreachableError.
//
// Who answers reads and who acknowledges writes cannot be chosen: a commit is on as many logs as
// the cluster is configured for, and each read is of one version. Only causal_read_risky can be
// chosen, in the address.
func Open(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
	o, err := parseSchema(target, &of)
	if err != nil {
		return nil, err
	}
	d := &database{riskyReads: o.riskyReads}
	d.Schema = ordered.NewSchema(o.root, of, d, limits(), "choose another prefix with ?prefix=NAME in the address, or clear or move these keys yourself", "expires")
	if d.db, err = connect(ctx, target, o); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *database) Lacks() store.Lacks { return Lacks() }

func (d *database) Levels() []store.Level { return []store.Level{{Name: level, Isolation: level}} }

// Promises implements store.Database. Later transactions see a successful commit, and transactions
// are atomic (Go binding, Transaction). Strict serializability is linearizability of transactions
// (J. Zhou et al., "FoundationDB: A Distributed Unbundled Transactional Key Value Store", SIGMOD
// 2021). With causal_read_risky nothing is promised of reads, since the read version may be older.
func (d *database) Promises() store.Promises {
	if d.riskyReads {
		return store.Promises{Model: level, Eventual: true, Atomic: true}
	}
	return store.Promises{Model: level, Reads: store.Linearizable, Scans: store.Linearizable, Atomic: true}
}

// Engines implements store.Engined: the cluster's one storage engine, as the status tells it. The
// administrator chooses it (manual, "Configuration", "Choosing a storage engine").
func (d *database) Engines(ctx context.Context) ([]string, error) {
	product, err := d.Describe(ctx)
	if err != nil {
		return nil, err
	}
	return engines(product), nil
}

func (d *database) CreateOn(ctx context.Context, mark store.Marker, engine string, chosen bool) error {
	if chosen {
		there, err := d.Engines(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(there, engine) {
			return &store.OptionError{Option: "--engine", Value: engine, Want: strings.Join(there, ", ")}
		}
	}
	return d.Create(ctx, mark)
}

// inTransaction implements ordered.Keys.
type inTransaction struct {
	read  fdb.ReadTransaction
	write fdb.Transaction
}

func (h inTransaction) Ask(key []byte) ordered.Asked {
	return ordered.Asked{Wait: h.read.Get(fdb.Key(key)).Get}
}

func (h inTransaction) Scan(begin, end []byte, limit int, reverse bool) ([]ordered.Pair, error) {
	found, err := h.read.GetRange(keyRange(begin, end), fdb.RangeOptions{Limit: limit, Mode: fdb.StreamingModeExact, Reverse: reverse}).GetSliceWithError()
	pairs := make([]ordered.Pair, len(found))
	for i, kv := range found {
		pairs[i] = ordered.Pair{Key: kv.Key, Value: kv.Value}
	}
	return pairs, err
}

func (h inTransaction) Set(key, value []byte) { h.write.Set(fdb.Key(key), value) }
func (h inTransaction) Clear(key []byte)      { h.write.Clear(fdb.Key(key)) }

func (d *database) execution(read fdb.ReadTransaction, write fdb.Transaction) *ordered.Execution {
	return &ordered.Execution{Forms: d.Forms, Keys: inTransaction{read, write}, Limits: limits()}
}

// viewing reads by snapshot reads, which see the same version as others. Conflict ranges, and a
// memory of the reads, are useless in a transaction that is not committed.
func (d *database) viewing(t *transaction) (*ordered.Execution, error) {
	return d.execution(t.Snapshot(), t.Transaction), t.Options().SetReadYourWritesDisable()
}

// View implements store.Database.
//
// A transaction reads one version and lasts five seconds at most (manual, "Known Limitations"). A
// view that fits is read in one. Otherwise several follow one another, and then everything is read
// again. If both readings are equal, nothing changed between the end of the first and the beginning
// of the second, so the rows are the state at that moment: the double collect of Y. Afek et al.,
// "Atomic Snapshots of Shared Memory", Journal of the ACM 40(4), 1993. It requires that nothing
// changes and changes back. That holds: versions of balances are unique, rows of journals, entities
// and candles never change, generations and lists grow, and values of registers and of ycsb's
// records are unique. A counter that every transaction writes would be cheaper, but a load on one
// key that no application has.
//
// The first reading gives the rows. The second reading's error comes after them.
func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	r, err := d.beginPass(ctx)
	if err != nil {
		return explain(ctx, "read", err)
	}
	defer r.close()
	v := &viewReader{database: d, reader: r}
	if err := read(v); err != nil || r.transactions == 1 {
		return err
	}
	again, err := d.beginPass(ctx)
	if err != nil {
		return explain(ctx, "read", err)
	}
	defer again.close()
	for _, c := range v.ranges {
		if err := again.table(c[0], c[1], func([]byte, []byte) error { return nil }); err != nil {
			return explain(ctx, "read", err)
		}
	}
	if !bytes.Equal(r.hash.Sum(make([]byte, 0, sha256.Size)), again.hash.Sum(nil)) {
		return explain(ctx, "read", errChanged)
	}
	return nil
}

type viewReader struct {
	*database
	reader *reader
	ranges [][2][]byte // that were read
}

func (v *viewReader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	// FoundationDB does not count.
	if s.Verb == store.Count {
		return store.ErrNotCounted
	}
	p, err := compile(v.Forms, &s, false)
	if err != nil {
		return err
	}
	p.Sorted = p.Sorted && !p.Backwards() // a range is read from its beginning
	x := &ordered.Execution{Forms: v.Forms, Limits: limits()}
	r, err := x.Reading(p, parameters, row)
	if err != nil {
		return err
	}
	begin, end := r.Range()
	v.ranges = append(v.ranges, [2][]byte{begin, end})
	err = v.reader.table(begin, end, r.Take)
	var own rowError
	switch {
	case err == nil:
		return r.Finish()
	case errors.As(err, &own):
		return own.error
	default:
		return explain(ctx, "read", err)
	}
}

// Audit implements store.Database in one transaction: all reads are of its read version, and
// without writes no commit is needed (manual, "Developer Guide", "Transaction basics").
func (d *database) Audit(ctx context.Context, read func(store.Reader) error) error {
	t, err := begin(ctx, d.db)
	if err != nil {
		return explain(ctx, "audit", err)
	}
	defer t.end()
	x, err := d.viewing(t)
	if err != nil {
		return explain(ctx, "audit", err)
	}
	return read(auditReader{x})
}

type auditReader struct{ *ordered.Execution }

func (a auditReader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	p, err := compile(a.Forms, &s, true)
	if err == nil {
		_, err = a.Do(p, parameters, row)
	}
	switch code := codeOf(err); code {
	case 0:
		return err
	case codeTooOld:
		return fmt.Errorf("foundationdb: %s: more than one transaction can read in five seconds, audit fewer: %w", s.Name, err)
	default:
		return explain(ctx, s.Name, err)
	}
}
