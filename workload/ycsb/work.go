// Package ycsb is the Yahoo! Cloud Serving Benchmark, core workloads A to F (B.
// Cooper, A. Silberstein, E. Tam, R. Ramakrishnan, R. Sears, "Benchmarking Cloud
// Serving Systems with YCSB", SoCC 2010), with every answer judged: inserts, reads,
// updates, scans and read-modify-writes of records chosen by YCSB's distributions.
//
// Every version of a record that is written says who wrote it and is a pure function
// of the seed, the key and that, so that a client recognizes what it reads bit by bit
// without knowing what others sent. The history keeps which version was read, and
// from these the history of each key is judged for linearizability.
//
// It is a preset of package keyvalue. What a client keeps does not grow with the run.
// To judge takes some 70 bytes for each write and 24 for each record; of more than
// some millions a part of the records is judged at a time.
//
// It must not know any driver.
package ycsb

import (
	"cmp"
	"context"
	"path/filepath"
	"strconv"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// FileState is the name of the saved records in a run's folder.
const FileState = "ycsb.bin"

// schemaOf is what the workload keeps: records of the shape that the target names.
func schemaOf(target store.Target) (store.Schema, error) {
	d := Defaults()
	return schema(cmp.Or(target.Fields, d.Fields), cmp.Or(target.FieldBytes, d.FieldBytes)), nil
}

// schema has records with so many fields of so many bytes.
func schema(fields, fieldBytes int) store.Schema {
	columns := store.Integers("id")
	for i := range fields {
		columns = append(columns, store.Column{Name: "field" + strconv.Itoa(i), Type: store.String, Length: fieldBytes})
	}
	return store.Schema{Workload: Name, Reads: true, Tables: []store.Table{{
		Name: "record", Columns: columns, Loaded: true, LateKey: true, Grows: true, Updated: true,
	}}}
}

// The numbers of statements, beside those of keyvalue.Statements.
const (
	updateRecord = keyvalue.Get + 1 + iota
	scanRecords
)

// statements are those of a session: scans are only asked for of a database that has them.
func statements(of store.Schema, scans bool) []store.Statement {
	t := &of.Tables[0]
	key, columns := t.Names()[0], t.Names()
	update := store.Statement{Name: "update", Verb: store.Update, Table: t.Name, Where: store.Where(key)}
	for i, c := range columns[1:] {
		update.Set = append(update.Set, store.Set(c, store.Parameter(i+2)))
	}
	all := append(keyvalue.Statements(of), update)
	if scans {
		all = append(all, store.Statement{Name: "scan", Verb: store.Read, Table: t.Name, Columns: columns,
			Where: []store.Condition{{Column: key, Is: store.AtLeast, Value: store.Parameter(1)}}, Order: []string{key}, Limit: store.Parameter(2)})
	}
	return all
}

// preset is how the records are kept that are read back: the number and the version.
func preset(of store.Schema, k keys, c *contents) *keyvalue.Preset {
	return &keyvalue.Preset{
		Schema: of,
		Split:  func(number int64) (client int, seq uint64, attempt int, ok bool) { return 0, 0, 0, number >= 0 },
		Observe: func(row store.Row) (keyvalue.Observed, error) {
			key, v, err := c.scan(row)
			return keyvalue.Observed{Number: k.number(key), Digest: keyvalue.Digest{int64(v)}, Key: keyvalue.Digest{key}}, err
		},
		Unnumbered: true,
		Magic:      "ASSAYY01",
		Words:      keyvalue.Words{One: "record", Many: "records", Digest: "version"},
	}
}

// work is a definition.Work.
type work struct {
	store.Database
	definition.NoObservers // the clients themselves read
	config                 Config
	schema                 store.Schema
	seed                   uint64
	keys                   keys
	contents               *contents
	sequence               *sequence
	// scans is true if the mix has scans, replaces if an update makes a record that is not
	// there.
	scans, replaces bool
}

// Open returns a *store.OptionError for a mix that the database cannot do.
func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, _ := c.shares()
	if why := db.Lacks()[store.OrderedScans]; why != "" && m.has(KindScan) {
		return nil, &store.OptionError{Option: "scan", Value: "in the order of keys", Reason: why, Want: "a mix without scans: a, b, c, d, f"}
	}
	return &work{Database: db, config: *c, schema: schema(c.Fields, c.FieldBytes), seed: seed, keys: newKeys(seed), contents: newContents(*c, seed),
		sequence: newSequence(c.Records, 0, 1), scans: m.has(KindScan), replaces: db.Lacks()[store.UniqueKeys] != ""}, nil
}

// Divide implements definition.Dividing: the numbers of inserted records are shared out.
func (w *work) Divide(share, shares int) {
	w.sequence = newSequence(w.config.Records, share, shares)
}

func (w *work) Rows() int64 { return w.config.Records }

// What a batch has when records are loaded, and how many batches at the same time.
const (
	loaders    = 4
	batchBytes = 1 << 20
	maxBatch   = 1000
)

func (w *work) Load(ctx context.Context, loaded func(done, total int64)) error {
	size := int64(min(max(batchBytes/(w.config.Fields*w.config.FieldBytes), 1), maxBatch))
	of := definition.Loading{Loaders: loaders, Rows: w.config.Records, Batch: size, One: "record", Many: "records", Finish: w.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		return func(ctx context.Context, first int64) (int, error) {
			t := &w.schema.Tables[0]
			rows := store.Rows{Table: t.Name, Columns: t.Names(), Count: int(min(size, w.config.Records-first+1)), Row: func(i int, into []store.Value) []store.Value {
				n := first - 1 + int64(i)
				return append(into, w.contents.record(w.keys.of(n), loadedVersion(n))...)
			}}
			return rows.Count, w.Database.Load(ctx, rows)
		}
	}, loaded)
}

// Promise is store.Linearizable if the database promises it of all that the mix reads.
func (w *work) Promise() string {
	of := w.Promises()
	if of.Reads != "" && w.scans {
		return of.Scans
	}
	return of.Reads
}

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return keyvalue.Save(ctx, w.Database, preset(w.schema, w.keys, w.contents), filepath.Join(folder, FileState), read)
}

func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := definition.Connect(ctx, w.Database, statements(w.schema, w.scans))
	if err != nil {
		return nil, err
	}
	shares, distribution := w.config.shares()
	return &client{Connection: connection, work: w, number: n, shares: shares, chooser: newChooser(distribution)}, nil
}

// unanswered is the answer to an attempt to read that was not answered, which has no
// effect.
func unanswered(kind uint8, reply store.Reply, values []int64) load.Answer {
	answer := reply.Answer(kind)
	if answer.Outcome != history.Committed {
		answer.Outcome = history.Failed
	}
	answer.Values = values
	return answer
}
