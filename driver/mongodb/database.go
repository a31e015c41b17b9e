package mongodb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/driver/ownership"
	"assay/store"
)

// database is a store.Database, in database assay_ and the workload's name: a collection
// for each table; see layout.
type database struct {
	*connection
	ownership.Direct
	*ownership.Schema[ownership.Direct]
	of      store.Schema
	layouts map[string]*layout
	// database and collections as used outside of the sessions: majority for reading and
	// writing, whatever their concerns are.
	database    *mongo.Database
	marks       *mongo.Collection
	collections []*mongo.Collection // of the tables; of a Schema that is Open all are ours
	// application is nil with transactions.
	application *application

	mu sync.Mutex
	// abandoned are sessions whose transaction may still be open on the server, and idle those that have none.
	abandoned, idle []*serverSession
	// members are clients of single members of the set, by name.
	members map[string]*mongo.Client
}

var _ = interface {
	store.Database
	store.Replicated
	store.Counting
	store.Compacting
	store.Engined
	store.Bulk
	store.Recording
}((*database)(nil))

// Lacks are the capabilities that MongoDB does not have.
func Lacks() store.Lacks {
	return store.Lacks{store.SQL: "MongoDB has no SQL"}
}

// Open is a store.Opener.
//
// Of a schema with transactions target.Isolation may be empty or "snapshot". They have
// read concern and write concern majority, or read concern snapshot where their level is
// judged, unless the address names others (readConcernLevel, w, journal).
//
// Of one without, which a standalone server can hold too, there is no isolation level to
// choose. Writes have the write concern and reads the read concern of the address (w,
// journal; readConcernLevel), or the server's defaults; target.Read, or the address's
// readPreference, chooses the member that answers reads. With causalConsistency=true the library
// keeps each session causally consistent for as long as it lasts. The library's retries are off,
// and its time limits are its own unless the address names others.
//
// Errors: *store.UnreachableError if there is no primary within
// target.ConnectTimeout (0: ten seconds), *store.AuthError,
// *store.OptionError, and plain ones for an address that cannot be read, a
// standalone server where there are transactions, and a server older than MongoDB 5.0.
func Open(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
	if of.Transactions && of.Reads && target.Read != "" && target.Read != store.ReadPrimary {
		return nil, &store.OptionError{Option: "--read", Value: target.Read,
			Want: "primary, where MongoDB's transactions read (manual, \"Transactions\", \"Transactions and Read Preference\")"}
	}
	d := &database{of: of, layouts: layoutsOf(&of)}
	d.Schema = ownership.New(d, of)
	common := target
	var err error
	if !of.Transactions {
		if d.application, common, err = applicationOf(target); err != nil {
			return nil, err
		}
	}
	if d.connection, err = connect(ctx, common, of.Workload, of.Transactions); err != nil {
		return nil, err
	}
	home, err := d.homeOf(of)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.database = d.client.Database(home, options.Database().SetReadConcern(readconcern.Majority()).
		SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()))
	d.marks = d.database.Collection(markCollection)
	for _, t := range of.Tables {
		d.collections = append(d.collections, d.database.Collection(t.Name))
	}
	if a := d.application; a != nil {
		if a.options = d.sessions(target.Address); of.Durable {
			a.byMajority()
		}
		if err := cmp.Or(a.admitted(d.connection), a.inherit(ctx, d.connection)); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	if err := d.shardable(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if of.Judged || of.Open {
		d.preferSnapshot()
	}
	return d, nil
}

// shardable gives a *store.OptionError if collections are to be sharded that cannot be.
func (d *database) shardable() error {
	for _, t := range d.of.Tables {
		for _, i := range t.Indexes {
			if d.hashed && i.Unique {
				return &store.OptionError{Option: parameterShard, Value: hashedSharding,
					Reason: fmt.Sprintf("documents of %s are unique by %s too, which a collection sharded by _id cannot hold", t.Name, i.Columns[0]),
					Want:   "none in workload " + d.of.Workload}
			}
		}
	}
	return nil
}

func (d *database) Create(ctx context.Context, m store.Marker) error {
	return d.CreateOn(ctx, m, "", false)
}

// CreateOn implements store.Engined. The schema is written with a majority. If others than
// the primary answer reads, every member that can be reached is waited for, so that reads
// find the collections wherever they go; without it they would find no row, which is no error.
func (d *database) CreateOn(ctx context.Context, m store.Marker, engine string, chosen bool) error {
	stored := options.CreateCollection()
	if chosen {
		stored.SetStorageEngine(bson.D{{Key: "wiredTiger", Value: bson.D{{Key: "configString", Value: "block_compressor=" + engine}}}})
	}
	if err := d.create(ctx, m, stored); err != nil {
		return err
	}
	if err := d.makeIndexes(ctx, false); err != nil {
		return err
	}
	return d.reach(ctx)
}

// reach waits for every member that may answer reads.
func (d *database) reach(ctx context.Context) error {
	if !d.of.Reads {
		return nil
	}
	return d.everywhere(ctx)
}

// Engines implements store.Engined by WiredTiger's compressors of blocks. snappy is what
// WiredTiger takes if nothing is said (MongoDB manual,
// "storage.wiredTiger.collectionConfig.blockCompressor").
func (d *database) Engines(context.Context) ([]string, error) {
	return []string{"snappy", "none", "zlib", "zstd"}, nil
}

// insertInto inserts rows into a table's collection in a database.
func (d *database) insertInto(x steps, in *mongo.Database, rows store.Rows, ordered bool) (int64, error) {
	of := d.layouts[rows.Table]
	if of == nil && d.of.Open {
		return insertDocuments(x, d.place(in, rows.Table), rows, ordered)
	}
	if of == nil {
		return 0, fmt.Errorf("mongodb: there is no table %q", rows.Table)
	}
	n := insertionOf(of, rows.Columns)
	all, err := n.encoded(rows)
	if err != nil {
		return 0, err
	}
	return n.rows(x, d.place(in, of.documents().Name), all, ordered)
}

func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	s := &session{db: d, values: values{layouts: d.layouts}}
	var err error
	if d.application != nil {
		if s.in, err = d.share(); err == nil && d.application.causal {
			s.causal, err = s.in.Client().StartSession(options.Session().SetCausalConsistency(true))
		}
	} else {
		s.in = d.database
		s.transactor, err = d.transactor(ctx)
	}
	if err != nil {
		return nil, err
	}
	if s.plans, err = d.compile(statements, s.in); err != nil {
		s.Close()
		return nil, err
	}
	for i := range statements {
		s.keep = s.keep || refersBack(&statements[i])
	}
	return s, nil
}

// refersBack reports whether a statement has values that an earlier one has left.
func refersBack(s *store.Statement) bool {
	for _, e := range s.Values {
		if e.Source == store.FromLeft {
			return true
		}
	}
	for _, a := range s.Set {
		if a.Value.Source == store.FromLeft {
			return true
		}
	}
	for _, c := range s.Where {
		if c.Value.Source == store.FromLeft {
			return true
		}
	}
	return false
}

// compile plans statements on the collections of a database. Of those that are sent in
// transactions or views all rows are asked for together, about a megabyte at once.
func (d *database) compile(statements []store.Statement, in *mongo.Database) ([]*plan, error) {
	if err := d.of.Check(statements); err != nil {
		return nil, err
	}
	batch := int32(0)
	if d.application == nil || in == d.database {
		batch = readBatch
	}
	plans := make([]*plan, len(statements))
	for i, s := range statements {
		var err error
		switch {
		case s.Verb == store.Native:
			plans[i], err = d.native(s, in)
		default:
			plans[i], err = d.planOf(s, in, batch)
		}
		if err != nil {
			return nil, err
		}
	}
	return plans, nil
}

// Promises implements store.Database. Of reads of many documents nothing is promised: read
// concern linearizable is for reads of one, and a cursor is no snapshot (MongoDB manual,
// "Read Concern linearizable"; "Read Isolation, Consistency, and Recency"). Nor is what
// changes many documents outside of transactions, Load among it, atomic: "the modification
// of each document is atomic, but the operation as a whole is not atomic" ("Atomicity and
// Transactions").
func (d *database) Promises() store.Promises {
	if d.application != nil {
		return d.application.promises()
	}
	return store.Promises{Model: d.promise()}
}

func (d *database) Lacks() store.Lacks {
	lacks := Lacks()
	if d.standalone {
		lacks[store.Transactions] = "a standalone server has no transactions"
		lacks[store.Snapshots] = "a standalone server has no snapshots"
	}
	if d.hashed {
		lacks[store.SecondaryUnique] = "a collection sharded by _id has no other unique index"
	}
	return lacks
}

// Levels implements store.Database: the combinations of concerns that the manual's page
// "Transactions" tells apart.
func (d *database) Levels() []store.Level {
	if d.application != nil {
		return nil
	}
	of := func(read, write string) store.Level {
		return store.Level{Name: read + ", w=" + write, Options: []string{"readConcernLevel=" + read, "w=" + write}}
	}
	return []store.Level{of("local", "1"), of("local", "majority"), of("majority", "majority"), of(snapshotLevel, "majority")}
}
