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
	"context"
	"path/filepath"
	"strconv"

	"assay/history"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// FileState is the name of the saved records in a run's folder.
const FileState = "ycsb.bin"

// Table is the workload's, of records with so many fields of so many bytes.
func Table(fields, fieldBytes int) keyvalue.Table {
	t := keyvalue.Table{Workload: Name, Name: "record", Loaded: true, Key: keyvalue.Column{Name: "id", Type: keyvalue.Bigint}}
	for i := range fields {
		t.Columns = append(t.Columns, keyvalue.Column{Name: "field" + strconv.Itoa(i), Type: keyvalue.Text, Max: fieldBytes})
	}
	return t
}

// preset is how the records are kept that are read back: the number and the version.
func preset(k keys, of *contents) *keyvalue.Preset {
	return &keyvalue.Preset{
		Split: func(number int64) (client int, seq uint64, attempt int, ok bool) { return 0, 0, 0, number >= 0 },
		Observe: func(r keyvalue.Record) keyvalue.Observed {
			key, _ := r.Key.(int64)
			return keyvalue.Observed{Number: k.number(key), Digest: keyvalue.Digest{int64(of.recognize(r))}}
		},
		Unnumbered: func(key keyvalue.Value) keyvalue.Digest {
			n, _ := key.(int64)
			return keyvalue.Digest{n}
		},
		Magic: "ASSAYY01",
		Words: keyvalue.Words{One: "record", Many: "records", Digest: "version"},
	}
}

// Work is a definition.Work.
type Work struct {
	keyvalue.Mutable
	definition.NoObservers // the clients themselves read
	config                 Config
	seed                   uint64
	keys                   keys
	contents               *contents
	sequence               *sequence
}

// NewWork returns the work of this configuration and seed on a store of the
// configuration's table, which it owns from then on. It returns Config.Validate's
// error, and a *workload.OptionError for a mix that the database cannot do.
func NewWork(store keyvalue.Store, config Config, seed uint64) (*Work, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	mutable, ok := store.(keyvalue.Mutable)
	if !ok {
		return nil, &workload.OptionError{Option: "workload", Value: Name, Want: "a database whose records can be changed"}
	}
	if m, _ := config.shares(); m.has(KindScan) {
		if _, err := mutable.Scans(); err != nil {
			return nil, err
		}
	}
	return &Work{Mutable: mutable, config: config, seed: seed, keys: newKeys(seed), contents: newContents(config, seed),
		sequence: newSequence(config.Records, 0, 1)}, nil
}

// Divide implements definition.Dividing: the numbers of inserted records are shared out.
func (w *Work) Divide(share, shares int) {
	w.sequence = newSequence(w.config.Records, share, shares)
}

func (w *Work) Rows() int64 { return w.config.Records }

// What a batch has when records are loaded, and how many batches at the same time.
const (
	loaders    = 4
	batchBytes = 1 << 20
	maxBatch   = 1000
)

func (w *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	size := int64(min(max(batchBytes/(w.config.Fields*w.config.FieldBytes), 1), maxBatch))
	of := definition.Loading{Loaders: loaders, Rows: w.config.Records, Batch: size, One: "record", Many: "records", Finish: w.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		records := make([]keyvalue.Record, 0, size)
		return func(ctx context.Context, first int64) (int, error) {
			records = records[:0]
			for n := first - 1; n < min(first-1+size, w.config.Records); n++ {
				records = append(records, w.contents.record(w.keys.of(n), loadedVersion(n)))
			}
			return len(records), w.LoadRecords(ctx, records)
		}
	}, loaded)
}

// Promise is keyvalue.PromiseLinearizable if the database promises it of all that the
// mix reads.
func (w *Work) Promise() string {
	promise := keyvalue.PromiseOf(w.Mutable)
	if m, _ := w.config.shares(); promise != "" && m.has(KindScan) {
		promise, _ = w.Scans()
	}
	return promise
}

func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return keyvalue.Save(ctx, w.Mutable, preset(w.keys, w.contents), filepath.Join(folder, FileState), read)
}

func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := workload.Connect(ctx, w.MutableSession)
	if err != nil {
		return nil, err
	}
	shares, distribution := w.config.shares()
	return &client{Connection: connection, work: w, number: n, shares: shares, chooser: newChooser(distribution)}, nil
}

// unanswered is the answer to an attempt to read that was not answered, which has no
// effect.
func unanswered(kind uint8, reply keyvalue.Reply, values []int64) load.Answer {
	answer := reply.Answer(kind)
	if answer.Outcome != history.Committed {
		answer.Outcome = history.Failed
	}
	answer.Values = values
	return answer
}
