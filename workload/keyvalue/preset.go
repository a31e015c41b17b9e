package keyvalue

import (
	"context"
	"fmt"
	"path/filepath"

	"assay/history"
	"assay/load"
	"assay/store"
)

// Digest is what is kept of a record beside its number, to compare it by: the
// only value itself, or hashes of all of them.
type Digest [2]int64

// Observed is a record as it was read.
type Observed struct {
	// Number is the number of the record's key; Impossible if the key has none.
	Number int64
	Digest Digest
	// Key is what is kept of a key that has no number.
	Key Digest
}

// Preset is what a workload writes and how it is known again, for one run. All
// functions are pure and safe for concurrent use.
type Preset struct {
	// Schema has one table, whose key is its first column.
	Schema store.Schema

	// Every record has a number of 63 bits, which says who inserts it: Number
	// gives that of an attempt of operation seq of a client, Split is its
	// inverse; both say no if there is no such number. Attempt is 0 where all
	// attempts of an operation insert the same record.
	Number func(client int, seq uint64, attempt int) (number int64, ok bool)
	Split  func(number int64) (client int, seq uint64, attempt int, ok bool)
	// MaxClient is the highest client whose inserts have numbers.
	MaxClient int
	// PerAttempt is true if each attempt of an operation inserts a record of
	// its own, and Repeats if an operation can then have several.
	PerAttempt, Repeats bool
	// ReadersApart is true if a client either inserts or reads.
	ReadersApart bool
	// Starts is true if it is kept when each insert began, four bytes a record.
	Starts bool
	// Loaded is how many records there are before the run. Loader is the client
	// whose first operations they are, above MaxClient; it is -1 if there can
	// be none.
	Loaded int64
	Loader int

	// Key and Record give what is written under a number, the key first, and Digest what
	// is kept of that. Observe gives the number and the digest of a row of all columns.
	Key     func(number int64) store.Value
	Record  func(number int64) []store.Value
	Digest  func(number int64) Digest
	Observe func(store.Row) (Observed, error)
	// Hashed is true if a digest covers the key and has two words; else it has
	// one, and the number is kept beside it.
	Hashed bool
	// Unnumbered is true if a key may have no number.
	Unnumbered bool
	// Magic begins the file of the records that were read back.
	Magic string

	// Words are the words of evidence. Difference says in which way a digest is not
	// the one wanted: "with ...".
	Words      Words
	Difference func(got, want Digest) string
	// AsWritten is true if an acknowledged record that was altered is a finding
	// of CheckAcknowledged as well.
	AsWritten bool
	// Linearizable is true if no read may miss what was acknowledged before,
	// where the database promises that.
	Linearizable bool
}

// Words are a workload's own.
type Words struct {
	// One and Many name records: "row", "rows".
	One, Many string
	// Digest is the name of a digest's first word in the fields of evidence.
	Digest string
}

// number is Number, for any attempt.
func (p *Preset) number(client int, seq uint64, attempt int) (int64, bool) {
	if !p.PerAttempt {
		attempt = 0
	}
	return p.Number(client, seq, attempt)
}

// Work is a preset opened on one database: what all workloads do with it in the
// same way.
type Work struct {
	store.Database
	// Recent has what the clients were acknowledged last.
	Recent *Recent
	preset *Preset
	file   string
}

// NewWork returns the work of a preset on a database of its schema, which it owns from
// then on. The records that are read back go into a file of this name, and so many
// acknowledged ones are remembered to be read.
func NewWork(db store.Database, preset *Preset, file string, recent int) *Work {
	return &Work{Database: db, Recent: NewRecent(recent), preset: preset, file: file}
}

// NewClient returns client number n, which enters into Recent what is
// acknowledged. It connects when it is used first.
func (w *Work) NewClient(n int) *Client {
	return &Client{Connection: w.connection(), preset: w.preset, number: n, recent: w.Recent}
}

func (w *Work) connection() store.Connection[store.Session] {
	return store.Connection[store.Session]{Open: func(ctx context.Context) (store.Session, error) {
		return w.Session(ctx, Statements(w.preset.Schema))
	}}
}

func (w *Work) Rows() int64 { return w.preset.Loaded }

// Create makes the empty table. Marker.Loaded is set from the start, since records that
// are loaded are ordinary inserts.
func (w *Work) Create(ctx context.Context, mark store.Marker) error {
	mark.Loaded = true
	return w.Database.Create(ctx, mark)
}

// Promise is store.Linearizable if the database promises it of reads; sessions are not judged.
func (w *Work) Promise() string {
	if w.Promises().Reads == store.Linearizable {
		return store.Linearizable
	}
	return ""
}

func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return Save(ctx, w.Database, w.preset, filepath.Join(folder, w.file), read)
}

// Sessions that load at the same time, and how many records each inserts before it says
// how far it is.
const (
	loaders    = 8
	loadReport = 16
)

// Load inserts the records that are to be there before the run. The first error
// ends it.
func (w *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	var sessions [loaders]store.Connection[store.Session]
	next := 0
	_, err := load.Batches(ctx, loaders, w.preset.Loaded, loadReport, func() load.Batch {
		connection := &sessions[next]
		*connection, next = w.connection(), next+1
		return func(ctx context.Context, first int64) (done int, err error) {
			session, err := connection.Session(ctx)
			for seq := first - 1; err == nil && seq < min(first-1+loadReport, w.preset.Loaded); seq++ {
				if err = w.loadOne(ctx, session, uint64(seq)); err == nil {
					done++
				}
			}
			return done, err
		}
	}, loaded)
	for i := range sessions {
		sessions[i].Close()
	}
	return err
}

func (w *Work) loadOne(ctx context.Context, session store.Session, seq uint64) error {
	number, _ := w.preset.number(w.preset.Loader, seq, 0)
	reply := session.Run(ctx, store.Call{Statement: Insert, Parameters: w.preset.Record(number)}).Inserted()
	switch {
	case reply.Outcome == history.Committed:
		return nil
	case reply.Err != nil:
		return fmt.Errorf("load %s %d: %w", w.preset.Words.One, seq, reply.Err)
	default:
		return fmt.Errorf("load %s %d: it ended %v (%s)", w.preset.Words.One, seq, reply.Outcome, reply.Class)
	}
}
