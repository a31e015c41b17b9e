package keyvalue

import (
	"context"
	"path/filepath"

	"assay/store"
	"assay/workload/definition"
)

// Digest identifies a record's content: its only value itself, or hashes of all values.
type Digest [2]int64

// Observed is a record as read.
type Observed struct {
	// Number is of the record's key; Impossible if the key has none.
	Number int64
	Digest Digest
	// Key is the digest of a key without a number.
	Key Digest
}

// Preset describes a workload's records. Its functions are safe for concurrent use.
type Preset struct {
	// Schema has one table, whose key is its first column.
	Schema store.Schema

	// Number gives the 63-bit number of the record that an attempt inserts, and Split is its
	// inverse; ok is false if there is none. Attempt is 0 if all attempts of an operation insert
	// the same record.
	Number func(client int, seq uint64, attempt int) (number int64, ok bool)
	Split  func(number int64) (client int, seq uint64, attempt int, ok bool)
	// MaxClient is the highest client whose inserts have numbers.
	MaxClient int
	// PerAttempt is true if each attempt inserts a record of its own. Repeats is true if an
	// operation can then have several.
	PerAttempt, Repeats bool
	// ReadersApart is true if a client inserts or reads, but not both.
	ReadersApart bool
	// Starts keeps the begin of each insert, four bytes a record.
	Starts bool
	// Loaded is the number of records before the run. They count as the first operations of
	// client Loader, above MaxClient; -1 if there can be none.
	Loaded int64
	Loader int

	// Record gives what is written under a number, key first. Observe reads a whole row.
	Key     func(number int64) store.Value
	Record  func(number int64) []store.Value
	Digest  func(number int64) Digest
	Observe func(store.Row) (Observed, error)
	// Hashed: a digest has two words and covers the key. Otherwise one, beside the number.
	Hashed bool
	// Unnumbered is true if keys without a number can occur.
	Unnumbered bool
	// Magic begins the file of the state.
	Magic string

	// Difference says how a digest differs from the wanted one: "with ...".
	Words      Words
	Difference func(got, want Digest) string
	// AsWritten makes an altered acknowledged record a finding of CheckAcknowledged too.
	AsWritten bool
	// Linearizable makes a stale read a finding if the database promises linearizability.
	Linearizable bool
}

// Words are a workload's words in evidence.
type Words struct {
	// One and Many are nouns for records: "row", "rows".
	One, Many string
	// Digest names a digest's first word among the fields of evidence.
	Digest string
}

func (p *Preset) number(client int, seq uint64, attempt int) (int64, bool) {
	if !p.PerAttempt {
		attempt = 0
	}
	return p.Number(client, seq, attempt)
}

// Work is a preset opened on a database.
type Work struct {
	definition.Loaded
	Recent *Recent
	preset *Preset
	file   string
}

const loaders = 8

// NewWork returns the work of a preset on a database, which it owns. file is the state's name.
// recent is the capacity of Recent.
func NewWork(db store.Database, preset *Preset, file string, recent int) *Work {
	t := &preset.Schema.Tables[0]
	return &Work{Recent: NewRecent(recent), preset: preset, file: file, Loaded: definition.Loaded{
		Database: db, Loaders: loaders, One: preset.Words.One, Many: preset.Words.Many, Contents: []definition.Contents{{
			Table: t.Name, Columns: t.Names(), Rows: preset.Loaded, Row: func(i int64, into []store.Value) []store.Value {
				number, _ := preset.number(preset.Loader, uint64(i-1), 0)
				return append(into, preset.Record(number)...)
			}}}}}
}

// NewClient returns client n. It connects at first use.
func (w *Work) NewClient(n int) *Client {
	return &Client{Connection: w.connection(), preset: w.preset, number: n, recent: w.Recent}
}

func (w *Work) connection() store.Connection[store.Session] {
	return store.Connection[store.Session]{Open: func(ctx context.Context) (store.Session, error) {
		return w.Session(ctx, Statements(w.preset.Schema))
	}}
}

// Promise is store.Linearizable if the database promises it of reads. Sessions are not judged.
func (w *Work) Promise() string {
	if w.Promises().Reads == store.Linearizable {
		return store.Linearizable
	}
	return ""
}

func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return Save(ctx, w.Database, w.preset, filepath.Join(folder, w.file), read)
}
