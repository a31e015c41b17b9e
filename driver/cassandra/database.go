package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/ownership"
	"assay/store"
)

var _ store.Engined = (*database)(nil)

type database struct {
	*connection
	ownership.Direct
	*ownership.Schema[ownership.Direct]
	schema store.Schema
	// ways are the keyspace's tables for each table of the schema; tables are all of them.
	ways   map[string][]*way
	tables []table
	// unsure is when a write last ended without an answer, in nanoseconds since 1970; 0 for never.
	unsure atomic.Int64
}

// Open connects to the cluster in target.Address:
//
//	cassandra://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[KEYSPACE][?consistency=LEVEL&replication=COPIES]
//
// The keyspace is Schema.Space or assay_WORKLOAD unless named; assay makes and drops it. Writes and
// reads have one consistency: quorum, or the address's one, two, three, all, local_one or
// local_quorum. With target.Read "nearest" reads have consistency one. Each data center gets three
// copies of a row, or replication's number, or one for each of its nodes if these are fewer.
//
// A row is inserted by an ordinary INSERT, without a lightweight transaction, which replaces a row
// of the same key. Open returns *store.OptionError, *store.UnreachableError or *store.AuthError.
func Open(ctx context.Context, target store.Target, schema store.Schema) (store.Database, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	d, err := openDatabase(ctx, s, schema)
	if err != nil {
		return nil, err // and not a typed nil
	}
	return d, nil
}

func openDatabase(ctx context.Context, s *settings, schema store.Schema) (*database, error) {
	switch {
	case s.named:
	case schema.Space != "":
		s.keyspace = schema.Space
	default:
		s.keyspace = "assay_" + schema.Workload
	}
	d := layOut(schema)
	var err error
	d.connection, err = connect(ctx, s)
	return d, err
}

func layOut(schema store.Schema) *database {
	d := &database{schema: schema, ways: map[string][]*way{}}
	d.Schema = ownership.New(d, schema)
	for i := range schema.Tables {
		t := &schema.Tables[i]
		d.ways[t.Name] = waysOf(t, prefixOf(schema))
		for _, w := range d.ways[t.Name] {
			d.tables = append(d.tables, table{name: w.name, columns: w.columns(t), counted: t.Key()[0]})
		}
	}
	return d
}

func prefixOf(schema store.Schema) string {
	if schema.Existing {
		return ""
	}
	return "assay_"
}

// Lacks returns Cassandra's missing capabilities.
func Lacks() store.Lacks {
	return store.Lacks{
		store.Transactions:    "Cassandra has no transaction over several partitions, and a lightweight transaction is one condition in one partition",
		store.Snapshots:       "Cassandra reads no one state of many rows",
		store.Sets:            "Cassandra has no update of all rows of a partition, each of which must be named by its whole key, and a batch of such updates is another thing",
		store.OrderedScans:    "Cassandra spreads rows by a hash of their partition key (Murmur3Partitioner), so that a range of keys is no range of rows",
		store.UniqueKeys:      "Cassandra's INSERT replaces the row that is there",
		store.SecondaryUnique: "Cassandra's indexes are not unique",
		store.Lists:           "an append to a list is nothing that Cassandra does once and not twice when it is uncertain",
		store.UpdateInPlace:   "an append to a list is nothing that Cassandra does once and not twice when it is uncertain",
		store.Documents:       "Cassandra has no tables within the rows of others",
		store.Compactions:     "CQL has no way to give space back, and compaction and the removal of what was deleted are asked for by nodetool",
		store.Language:        "Cassandra has no transaction over several statements",
		store.SQL:             "CQL has no joins",
	}
}

func (d *database) Lacks() store.Lacks { return Lacks() }

// Levels implements store.Database. Without transactions there are none.
func (d *database) Levels() []store.Level { return nil }

// Promises implements store.Database. With quorums for reads and writes, later reads see all
// acknowledged writes (Cassandra documentation, "Dynamo", "Picking Consistency Levels"). A read
// repairs differing replicas before it answers (read_repair = BLOCKING, the default), so that no
// later read goes back. Without quorums a read on several nodes may miss acknowledged rows.
func (d *database) Promises() store.Promises {
	if d.quorums() {
		return store.Promises{Reads: store.Linearizable}
	}
	return store.Promises{Eventual: len(d.session.GetHosts()) > 1}
}

type compressor struct{ name, class string }

// compressors are the engines; the default is lz4.
func compressors() []compressor {
	return []compressor{
		{"lz4", "LZ4Compressor"}, {"none", ""}, {"snappy", "SnappyCompressor"}, {"deflate", "DeflateCompressor"}, {"zstd", "ZstdCompressor"},
	}
}

// Engines implements store.Engined by the tables' compressors.
func (d *database) Engines(context.Context) (names []string, err error) {
	for _, c := range compressors() {
		names = append(names, c.name)
	}
	return names, nil
}

func (d *database) CreateOn(ctx context.Context, m store.Marker, engine string, chosen bool) error {
	i := slices.IndexFunc(compressors(), func(c compressor) bool { return c.name == engine })
	if chosen && i < 0 {
		names, _ := d.Engines(ctx)
		return &store.OptionError{Option: "--engine", Value: engine, Want: strings.Join(names, ", ")}
	}
	if err := d.Create(ctx, m); err != nil || !chosen {
		return err
	}
	option := "{'enabled': 'false'}"
	if c := compressors()[i]; c.class != "" {
		option = "{'class': '" + c.class + "'}"
	}
	for _, t := range d.tables {
		if err := d.run(ctx, "choose the compressor of table "+t.name, "ALTER TABLE "+d.full(t.name)+" WITH compression = "+option); err != nil {
			return err
		}
	}
	return d.agree(ctx)
}

// View implements store.Database; see readPages.
func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	if err := d.MustBeOurs(ctx, "read"); err != nil {
		return err
	}
	return read(reader{d})
}

// Audit implements store.Database. There are no snapshots; see Lacks.
func (d *database) Audit(context.Context, func(store.Reader) error) error {
	return errors.New("cassandra: audit: " + Lacks()[store.Snapshots])
}

type reader struct{ *database }

func (r reader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	if s.Verb == store.Count {
		return store.ErrNotCounted
	}
	p, err := r.compile(&s)
	if err != nil {
		return err
	}
	if p.query == nil {
		return fmt.Errorf("cassandra: %s: a view only reads", s.Name)
	}
	found := newRow(len(s.Columns))
	return p.query.each(parameters, func(values []any) error {
		return r.readPages(ctx, "read table "+s.Table, p.query.text, values, found.scan, func() error { return row(found) })
	})
}

// Settle implements store.Database; see settle. It queries a key that does not exist.
func (d *database) Settle(ctx context.Context) error {
	t := &d.schema.Tables[0]
	w := d.ways[t.Name][0]
	var key any = int64(-1)
	if c := t.Column(w.partition); c != nil {
		switch c.Type {
		case store.String, store.ASCII:
			key = ""
		case store.Boolean:
			key = false
		case store.UUID:
			key = gocql.UUID{}
		}
	}
	return d.settle(ctx, fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[1]s = ? LIMIT 1", w.partition, d.full(w.name)), key)
}
