package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/store"
	"assay/workload"
)

// sharedClientStore is the part of a database whose sessions share one client of the
// library, as those of an application do, which has the library's own time limits
// and the address's concerns. All else goes over the schema's client.
type sharedClientStore struct {
	*schema

	application *options.ClientOptions
	preference  *readpref.ReadPref

	sharing sync.Mutex
	// shared is the sessions' client, nil before the first of them and after
	// Settle.
	shared *mongo.Client
}

// openShared connects to the server, which may be a standalone one, for a workload
// without transactions. Inserts
// have the write concern and reads the read concern of the address (w, journal;
// readConcernLevel), or the server's defaults; target.Read chooses
// the member that answers reads. The library's retries are off, and its time
// limits are its own unless the address names others. There is no isolation level
// to choose; why says so. Errors are as with Open.
func openShared(ctx context.Context, target workload.Target, workloadName, why string, collections ...string) (*sharedClientStore, error) {
	preference, err := preferenceOf(target.Read)
	if err != nil {
		return nil, err
	}
	if target.Isolation != "" {
		return nil, &workload.OptionError{Option: "isolation level", Value: target.Isolation, Want: why}
	}
	common := target
	common.Address = withoutReadConcern(target.Address)
	p, err := schemaOf(ctx, common, workloadName, false, collections...)
	if err != nil {
		return nil, err
	}
	o := p.sessions(target.Address)
	if o.MaxPoolSize == nil {
		o.SetMaxPoolSize(maxPoolSize)
	}
	return &sharedClientStore{schema: p, preference: preference, application: o}, nil
}

// byMajority has writes acknowledged by a majority, unless the address says by whom, and as
// many sessions at once as a run can have.
func (s *sharedClientStore) byMajority() {
	o := s.application.SetMaxPoolSize(maxPoolSize).SetMaxConnecting(maxConnecting)
	if o.WriteConcern == nil {
		o.SetWriteConcern(writeconcern.Majority())
	}
}

// applicationSuffix tells the sessions' client from the schema's.
const applicationSuffix = " sessions"

func preferenceOf(read string) (*readpref.ReadPref, error) {
	switch read {
	case "", workload.ReadPrimary:
		return readpref.Primary(), nil
	case workload.ReadSecondaryPreferred:
		return readpref.SecondaryPreferred(), nil
	case workload.ReadNearest:
		return readpref.Nearest(), nil
	default:
		return nil, &workload.OptionError{Option: "--read", Value: read, Want: "primary, secondary-preferred, nearest"}
	}
}

// withoutReadConcern leaves out of an address a read concern that transactions
// do not have, which the schema's client must not use either.
func withoutReadConcern(address string) string {
	return without(address, func(name, value string) bool {
		return strings.EqualFold(name, "readConcernLevel") && (value == "linearizable" || value == "available")
	})
}

// share is the database by the sessions' client. It contacts nobody.
func (s *sharedClientStore) share() (*mongo.Database, error) {
	s.sharing.Lock()
	defer s.sharing.Unlock()
	if s.shared == nil {
		client, err := mongo.Connect(s.application)
		if err != nil {
			return nil, s.malformed(err)
		}
		s.shared = client
	}
	return s.shared.Database(s.database.Name(), options.Database().SetReadPreference(s.preference)), nil
}

// promiseReads is what is promised of a read of one document. Read concern linearizable
// returns "data that reflects all successful majority-acknowledged writes that completed
// prior to the start of the read operation" (MongoDB manual, "Read Concern
// linearizable"), on the primary, of one document. No other read concern says so.
func (s *sharedClientStore) promiseReads() string {
	c := s.application.ReadConcern
	if c == nil || c.Level != "linearizable" || s.preference.Mode() != readpref.PrimaryMode {
		return ""
	}
	if w := s.application.WriteConcern; w == nil || w.W == nil || majority(w) {
		return store.Linearizable
	}
	return ""
}

// hangUp closes the client that the sessions share.
func (s *sharedClientStore) hangUp() error {
	s.sharing.Lock()
	defer s.sharing.Unlock()
	if s.shared == nil {
		return nil
	}
	client := s.shared
	s.shared = nil
	return disconnect(client)
}

// Describe implements workload.Store: of the schema's settings those that
// are of transactions give way to those in force here.
func (s *sharedClientStore) Describe(ctx context.Context) (workload.Product, error) {
	product, err := s.schema.Describe(ctx)
	if err != nil {
		return product, err
	}
	ofTransactions := []string{"isolation", "read concern", "write concern", "journal asked for", "connections at most", "transaction lifetime limit"}
	product.Settings = append(slices.DeleteFunc(product.Settings, func(set workload.Setting) bool {
		return slices.Contains(ofTransactions, set.Name)
	}), s.inForce()...)
	return product, nil
}

// The library's defaults (its options.ClientOptions, and the constants of its
// topology package).
const (
	defaultServerSelection = 30 * time.Second
	defaultConnect         = 30 * time.Second
	defaultHeartbeat       = 10 * time.Second
)

// inForce tells what the shared client does.
func (s *sharedClientStore) inForce() []workload.Setting {
	o := s.application
	limit := func(d *time.Duration, library time.Duration) string {
		if d == nil {
			return library.String() + " (the library's default)"
		}
		return d.String()
	}
	readConcern := "the server's default"
	if o.ReadConcern != nil {
		readConcern = o.ReadConcern.Level
	}
	return []workload.Setting{
		{Name: "write concern", Value: described(o.WriteConcern)},
		{Name: "read concern", Value: readConcern},
		{Name: "reads are answered by", Value: s.preference.Mode().String()},
		{Name: "time limit to find a server", Value: limit(o.ServerSelectionTimeout, defaultServerSelection)},
		{Name: "time limit to connect", Value: limit(o.ConnectTimeout, defaultConnect)},
		{Name: "time between looks at a server", Value: limit(o.HeartbeatInterval, defaultHeartbeat)},
		{Name: "time limit to answer", Value: "none beside the attempt's"},
	}
}

// described is a write concern in words.
func described(w *writeconcern.WriteConcern) string {
	text := "the server's default"
	if w != nil && w.W != nil {
		text = fmt.Sprint(w.W)
	}
	if w != nil && w.Journal != nil {
		text += fmt.Sprintf(", journal %v", *w.Journal)
	}
	return text
}

// Settle implements workload.Store. What a session sent may still be under
// way to the server, or wait there; so the sessions' client hangs up, and the
// primary is asked until none of its connections is left, nor a write of any
// other to our rows. Behind routers it is they who have the connections, and the
// shards who have the writes. Then what is there is confirmed, as in
// schema.Settle.
func (s *sharedClientStore) Settle(ctx context.Context) error {
	if err := s.hangUp(); err != nil {
		return err
	}
	if err := lookUntil(ctx, func() (string, error) { return "look for connections", s.noneConnected(ctx) }); err != nil {
		return err
	}
	return s.schema.Settle(ctx)
}

// noneConnected returns an *openError while there are connections of the
// sessions' client, or writes to our rows. Where the server shows neither (some
// hosted ones have no $currentOp), there is no telling.
func (s *sharedClientStore) noneConnected(ctx context.Context) error {
	for _, c := range s.collections {
		application, database, name := s.appName+applicationSuffix, s.database.Name(), c.Name()
		last := openConnections(application, database, name)
		if s.sharded {
			if err := s.atRouters(ctx, openRows, openConnections(application, database, name, yes("localOps"))); err != nil {
				return err
			}
			last = shardWrites(database, name)
		}
		if err := none(ctx, s.admin, openRows, last); err != nil && !hidesOperations(err) {
			return err
		}
	}
	return nil
}

func (s *sharedClientStore) Close() error {
	return errors.Join(s.hangUp(), s.schema.Close())
}
