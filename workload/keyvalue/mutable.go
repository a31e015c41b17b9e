package keyvalue

import "context"

// Mutable is a Store whose records can be changed after they were inserted, and that
// loads in bulk. A Table of such a Store is opened with Table.Loaded.
type Mutable interface {
	Store

	// LoadRecords inserts records by the fastest way that the database has. It is
	// called from several goroutines with disjoint records, before FinishLoad, which
	// is called once: it does what an administrator does after many rows came in, and
	// sets Marker.Loaded.
	LoadRecords(ctx context.Context, records []Record) error
	FinishLoad(ctx context.Context) error

	// MutableSession is Session.
	MutableSession(ctx context.Context) (MutableSession, error)

	// Scans says whether sessions scan in the order of keys, and what the database
	// promises of each record that a scan returns or passes over, as Promising does of
	// a read. The error is a *workload.OptionError that says why they cannot.
	Scans() (promise string, err error)
}

// MutableSession is a Session that also changes records and scans. For its methods the
// same holds as for those of Session.
type MutableSession interface {
	Session

	// Update replaces all values of the record of this key, in the database's ordinary
	// way of acknowledging; they are never those that it has. A key that is not there is Committed with Found false, and
	// nothing is changed; a database in which an update inserts what is not there
	// (Cassandra) says Found.
	Update(ctx context.Context, record Record) Reply

	// Scan gives the records with the lowest keys from this one on, in the order of
	// their keys, at most limit of them. A scan without an answer is Failed.
	Scan(ctx context.Context, from Value, limit int) ([]Record, Reply)
}
