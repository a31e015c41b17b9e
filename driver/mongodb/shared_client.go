package mongodb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/store"
)

// application is the client of the library that sessions without transactions share, as
// those of an application do, which has the library's own time limits and the address's
// concerns. All else goes over the database's client.
type application struct {
	options    *options.ClientOptions
	preference *readpref.ReadPref
	inherits   inherited
	// causal is true if each session is a causally consistent one of the library's.
	causal bool

	mu sync.Mutex
	// client is nil before the first session and after Settle.
	client *mongo.Client
}

// applicationOf has the sessions of a database without transactions share a client. It returns the
// target for all else.
func applicationOf(target store.Target) (a *application, common store.Target, err error) {
	a = new(application)
	if a.preference, err = preferenceOf(target); err != nil {
		return nil, target, err
	}
	if a.causal, err = causalOf(target.Address); err != nil {
		return nil, target, err
	}
	if target.Isolation != "" {
		return nil, target, &store.OptionError{Option: "isolation level", Value: target.Isolation,
			Want: "none: each statement is alone, and in no transaction; the address's readConcernLevel and w choose"}
	}
	common = target
	common.Address = withoutReads(target.Address)
	return a, common, nil
}

// byMajority has writes acknowledged by a majority, unless the address says by whom, and as
// many sessions at once as a run can have.
func (a *application) byMajority() {
	o := a.options.SetMaxPoolSize(maxPoolSize).SetMaxConnecting(maxConnecting)
	if o.WriteConcern == nil {
		o.SetWriteConcern(writeconcern.Majority())
	}
}

// applicationSuffix tells the sessions' client from the database's.
const applicationSuffix = " sessions"

// preferenceOf is who answers reads, by the target or else by the address.
func preferenceOf(target store.Target) (*readpref.ReadPref, error) {
	switch read := target.Read; read {
	case "", store.ReadPrimary:
		if named := options.Client().ApplyURI(withoutOurs(target.Address)).ReadPreference; named != nil {
			return named, nil
		}
		return readpref.Primary(), nil
	case store.ReadSecondaryPreferred:
		return readpref.SecondaryPreferred(), nil
	case store.ReadNearest:
		return readpref.Nearest(), nil
	default:
		return nil, &store.OptionError{Option: "--read", Value: read, Want: "primary, secondary-preferred, nearest"}
	}
}

// parameterCausal is the name of the library's option of a session, which is none of MongoDB's
// connection string.
const parameterCausal = "causalConsistency"

// causalOf is whether an address asks for causally consistent sessions, which have neither read
// concern available nor linearizable (MongoDB manual, "Read Concern available"; "Read Concern
// linearizable"), and of which nothing is promised with snapshot.
func causalOf(address string) (causal bool, err error) {
	without(address, func(name, value string) bool {
		if !strings.EqualFold(name, parameterCausal) {
			return false
		}
		var not error
		if causal, not = strconv.ParseBool(value); not != nil {
			err = &store.OptionError{Option: parameterCausal, Value: value, Want: "true, false"}
		}
		return false
	})
	if err != nil || !causal {
		return false, err
	}
	c := options.Client().ApplyURI(withoutOurs(address)).ReadConcern
	if c != nil && c.Level != "local" && c.Level != "majority" {
		return false, &store.OptionError{Option: "readConcernLevel", Value: c.Level, Want: "local, majority, with " + parameterCausal + "=true"}
	}
	return true, nil
}

// withoutReads leaves out of an address what it says of reads that transactions do not have,
// which the database's client must not use either.
func withoutReads(address string) string {
	return without(address, func(name, value string) bool {
		switch strings.ToLower(name) {
		case "readpreference", "readpreferencetags", "maxstalenessseconds", strings.ToLower(parameterCausal):
			return true
		case "readconcernlevel":
			return value == "linearizable" || value == "available"
		}
		return false
	})
}

// admitted refuses concerns that the server does not have, those among them that transactions
// have not either, of which the connection does not know.
func (a *application) admitted(to *connection) error {
	switch {
	case a.causal && to.standalone:
		return &store.OptionError{Option: parameterCausal, Value: "true", Want: "none of a server that is no member of a replica set"}
	case to.standalone:
		return a.onStandalone()
	}
	return nil
}

// onStandalone refuses concerns that only members of a replica set have (MongoDB manual,
// "Read Concern linearizable", "Read Concern snapshot", "Write Concern": w of a number beyond 1
// on a standalone server).
func (a *application) onStandalone() error {
	const want = "local, available or majority, and w=1 or w=majority, on a standalone server; a replica set of one member has the others"
	refused := func(option, value string) error {
		return &store.OptionError{Option: option, Value: value, Want: want}
	}
	if c := a.options.ReadConcern; c != nil && (c.Level == "linearizable" || c.Level == snapshotLevel) {
		return refused("readConcernLevel", c.Level)
	}
	if w := a.options.WriteConcern; w != nil && w.W != nil && w.W != 1 && !majority(w) {
		return refused("w", fmt.Sprint(w.W))
	}
	return nil
}

// share is the database by the sessions' client. It contacts nobody.
func (s *database) share() (*mongo.Database, error) {
	a := s.application
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client == nil {
		client, _, err := newClient(a.options)
		if err != nil {
			return nil, s.malformed(err)
		}
		a.client = client
	}
	return a.client.Database(s.database.Name(), options.Database().SetReadPreference(a.preference)), nil
}

// promises are the promises of reads. Read concern linearizable
// returns "data that reflects all successful majority-acknowledged writes that completed
// prior to the start of the read operation" (MongoDB manual, "Read Concern
// linearizable"), on the primary, of one document. No other read concern says so.
//
// Of causally consistent sessions the table of the manual's page "Causal Consistency and Read
// and Write Concerns" has which guarantees hold, whichever member answers. What it has of read
// concern local and write concern majority, monotonic writes alone, no read shows.
func (a *application) promises() store.Promises {
	by, _ := a.inForceWrite()
	byMajority, level, reads := by == writeconcern.WCMajority, a.inForceRead(), ""
	switch {
	case level == "linearizable" && a.preference.Mode() == readpref.PrimaryMode && byMajority:
		return store.Promises{Reads: store.Linearizable}
	case !a.causal:
	case level == "majority" && byMajority:
		reads = store.Causal
	case level == "majority":
		reads = store.MonotonicReads + ", " + store.WritesFollowReads
	}
	return store.Promises{Reads: reads, Scans: reads}
}

// hangUp closes the client that the sessions share, if they do.
func (s *database) hangUp() error {
	a := s.application
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client == nil {
		return nil
	}
	client := a.client
	a.client = nil
	return disconnect(client)
}

// inForce has those settings that are of transactions give way to those in force here.
func (a *application) inForce(settings []store.Setting) []store.Setting {
	ofTransactions := []string{"isolation", "read concern", "write concern", "journal asked for", "connections at most", "transaction lifetime limit"}
	return append(slices.DeleteFunc(settings, func(set store.Setting) bool {
		return slices.Contains(ofTransactions, set.Name)
	}), a.settings()...)
}

// The library's defaults (its options.ClientOptions, and the constants of its
// topology package).
const (
	defaultServerSelection = 30 * time.Second
	defaultConnect         = 30 * time.Second
	defaultHeartbeat       = 10 * time.Second
)

// settings tells what the shared client does.
func (a *application) settings() []store.Setting {
	o := a.options
	limit := func(d *time.Duration, library time.Duration) string {
		if d == nil {
			return library.String() + " (the library's default)"
		}
		return d.String()
	}
	by, journal := a.inForceWrite()
	settings := []store.Setting{{Name: "write concern", Value: by}}
	if journal != nil {
		settings = append(settings, store.Setting{Name: "journal asked for", Value: strconv.FormatBool(*journal)})
	}
	return append(settings, []store.Setting{
		{Name: "read concern", Value: a.inForceRead()},
		{Name: "reads are answered by", Value: a.preference.Mode().String()},
		{Name: "causally consistent sessions", Value: strconv.FormatBool(a.causal)},
		{Name: "time limit to find a server", Value: limit(o.ServerSelectionTimeout, defaultServerSelection)},
		{Name: "time limit to connect", Value: limit(o.ConnectTimeout, defaultConnect)},
		{Name: "time between looks at a server", Value: limit(o.HeartbeatInterval, defaultHeartbeat)},
		{Name: "time limit to answer", Value: "none beside the attempt's"},
	}...)
}

// noneConnected returns an *openError while there are connections of the
// sessions' client, or writes to our rows. Where the server shows neither (some
// hosted ones have no $currentOp), there is no telling.
func (s *database) noneConnected(ctx context.Context) error {
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
