// Package ycsb is the Yahoo! Cloud Serving Benchmark, core workloads A to F (B. Cooper, A.
// Silberstein, E. Tam, R. Ramakrishnan, R. Sears, "Benchmarking Cloud Serving Systems with
// YCSB", SoCC 2010), with every answer judged.
//
// A record's content names its writer and follows from seed, key and writer. So a client
// recognizes what it reads bit by bit, and the history holds the versions read. From these each
// record's history is judged for linearizability.
//
// The package is a preset of package keyvalue. A client's memory does not grow with the run. The
// judge takes some 70 bytes a write and 24 a record; beyond some millions it judges a part of
// the records at a time.
//
// It must not know any driver.
package ycsb

import (
	"context"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// FileState is the saved records' name in a run's folder.
const FileState = "ycsb.bin"

func schemaOf(target store.Target) (store.Schema, error) {
	shape := target.Records
	if shape == (store.RecordShape{}) {
		c := Defaults()
		c.Target(&target)
		shape = target.Records
	}
	return schema(shape, target.Existing), nil
}

func schema(shape store.RecordShape, existing bool) store.Schema {
	columns := store.Integers(shape.Key)
	if shape.Texts {
		columns[0].Type, columns[0].Length = store.ASCII, shape.KeyLength
	}
	for i := range shape.Fields {
		columns = append(columns, store.Column{Name: shape.Prefix + strconv.Itoa(i), Type: store.String, Length: shape.Length})
	}
	return store.Schema{Workload: Name, Reads: true, Existing: existing, Tables: []store.Table{{
		Name: shape.Table, Columns: columns, Loaded: true, LateKey: true, Grows: true, Updated: true,
	}}}
}

// everyField stands for all fields.
const everyField = -1

// gets, updates and scans have a statement's index for each field, or one for all.
type program struct {
	statements           []store.Statement
	gets, updates, scans []int
}

func at(list []int, field int) int { return list[max(field, 0)%len(list)] }

// programOf leaves scans out if the run has none.
func programOf(of store.Schema, c *core) (p program) {
	t := &of.Tables[0]
	key, fields := t.Names()[0], t.Names()[1:]
	p.statements = keyvalue.Statements(of)[:keyvalue.Get]
	add := func(list *[]int, s store.Statement) {
		*list = append(*list, len(p.statements))
		s.Table = t.Name
		p.statements = append(p.statements, s)
	}
	each := func(all bool, use func(suffix string, columns []string)) {
		if all {
			use("", fields)
			return
		}
		for i := range fields {
			use(" "+strconv.Itoa(i), fields[i:i+1])
		}
	}
	each(c.readAll, func(suffix string, columns []string) {
		given := append([]string{key}, columns...)
		add(&p.gets, store.Statement{Name: "get" + suffix, Verb: store.Read, Columns: given, Where: store.Where(key)})
		if c.shares.has(KindScan) {
			add(&p.scans, store.Statement{Name: "scan" + suffix, Verb: store.Read, Columns: given,
				Where: []store.Condition{{Column: key, Is: store.AtLeast, Value: store.Parameter(1)}}, Order: []string{key}, Limit: store.Parameter(2)})
		}
	})
	each(c.writeAll, func(suffix string, columns []string) {
		update := store.Statement{Name: "update" + suffix, Verb: store.Update, Where: store.Where(key)}
		for i, column := range columns {
			update.Set = append(update.Set, store.Set(column, store.Parameter(i+2)))
		}
		add(&p.updates, update)
	})
	return p
}

func preset(of store.Schema, k keys, c *contents) *keyvalue.Preset {
	return &keyvalue.Preset{
		Schema: of,
		Split:  func(number int64) (client int, seq uint64, attempt int, ok bool) { return 0, 0, 0, number >= 0 },
		Observe: func(row store.Row) (keyvalue.Observed, error) {
			var v [1]version
			key, found, err := c.scan(row, everyField, v[:0])
			return keyvalue.Observed{Number: k.number(key), Digest: keyvalue.Digest{int64(found[0])}, Key: keyvalue.Digest{key}}, err
		},
		Unnumbered: true,
		Magic:      "ASSAYY01",
		Words:      keyvalue.Words{One: "record", Many: "records", Digest: "version"},
	}
}

type work struct {
	store.Database
	definition.NoObservers // the clients themselves read
	core                   core
	schema                 store.Schema
	program                program
	seed                   uint64
	keys                   keys
	contents               *contents
	sequence               *sequence
	next                   atomic.Int64
	// replaces is true if an update creates a missing record.
	replaces bool
}

// Open returns a *store.OptionError for a mix that the database cannot do.
func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	of, _ := c.core() // Validate says what is wrong
	if why := db.Lacks()[store.OrderedScans]; why != "" && of.shares.has(KindScan) {
		return nil, &store.OptionError{Option: "scan", Value: "in the order of keys", Reason: why, Want: "a mix without scans: a, b, c, d, f"}
	}
	var target store.Target
	c.Target(&target)
	w := &work{Database: db, core: of, schema: schema(target.Records, of.existing), seed: seed, keys: of.keysOf(seed), contents: newContents(&of, seed),
		sequence: newSequence(of.records, 0, 1), replaces: db.Lacks()[store.UniqueKeys] != ""}
	w.program = programOf(w.schema, &w.core)
	return w, nil
}

// Divide shares out the numbers of inserts.
func (w *work) Divide(share, shares int) {
	w.sequence = newSequence(w.core.records, share, shares)
}

func (w *work) Rows() int64 { return w.core.count }

const (
	loaders    = 4
	batchBytes = 1 << 20
	maxBatch   = 1000
)

func (w *work) Load(ctx context.Context, loaded func(done, total int64)) error {
	size := int64(min(max(batchBytes/(w.core.fields*w.core.lengths.max), 1), maxBatch))
	of := definition.Loading{Loaders: loaders, Rows: w.core.count, Batch: size, One: "record", Many: "records", Finish: w.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		return func(ctx context.Context, first int64) (int, error) {
			t := &w.schema.Tables[0]
			rows := store.Rows{Table: t.Name, Columns: t.Names(), Count: int(min(size, w.core.count-first+1)), Row: func(i int, into []store.Value) []store.Value {
				n := w.core.start + first - 1 + int64(i)
				return w.contents.record(into, w.keys.keyOf(n), loadedVersion(n), everyField)
			}}
			return rows.Count, w.Database.Load(ctx, rows)
		}
	}, loaded)
}

// Promise is the database's promise to all reads of the mix.
func (w *work) Promise() string {
	of := w.Promises()
	if of.Reads != "" && w.core.shares.has(KindScan) {
		return of.Scans
	}
	return of.Reads
}

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	path := filepath.Join(folder, FileState)
	if w.keys.texts {
		return saveTexts(ctx, w.Database, w.schema, w.contents, path, read)
	}
	return keyvalue.Save(ctx, w.Database, preset(w.schema, w.keys, w.contents), path, read)
}

func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := definition.Connect(ctx, w.Database, w.program.statements)
	if err != nil {
		return nil, err
	}
	return &client{Connection: connection, work: w, number: n, chooser: newChooser(&w.core, &w.next)}, nil
}

// unanswered is a failed read: without an answer it has no effect.
func unanswered(kind uint8, reply store.Reply, values []int64) load.Answer {
	answer := reply.Answer(kind)
	if answer.Outcome != history.Committed {
		answer.Outcome = history.Failed
	}
	answer.Values = values
	return answer
}
