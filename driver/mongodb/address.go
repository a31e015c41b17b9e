package mongodb

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"assay/store"
)

// settings is what an address and a target ask for.
type settings struct {
	options   *options.ClientOptions
	printable string
	user      string
	// appName is ours alone, so that the server can tell our sessions.
	appName string
	// readConcern and writeConcern are those of the transactions.
	readConcern  *readconcern.ReadConcern
	writeConcern *writeconcern.WriteConcern
	// majorityWait is how long a commit waits for the write concern, after which the
	// server says that it was not met; 0 is no limit.
	majorityWait time.Duration
	// namedReadConcern is true if the address names a read concern.
	namedReadConcern bool
	// named is the database that the address names; empty if it names none.
	named string
	// hashed is true if the address asks for sharded collections.
	hashed bool
	// askedForRetries is true if the address asks for the library's retries,
	// which stay off.
	askedForRetries bool
	connectTimeout  time.Duration
}

const (
	// maxPoolSize lets each of the most clients that a run can have use a
	// connection of its own at the same time, and leaves some for the rest.
	maxPoolSize = 10_000 + 64
	// maxConnecting is how many connections may be opened at the same time. The
	// library's default of 2 would make hundreds of clients queue in ourselves
	// after a failover, and the database would be blamed.
	maxConnecting = 32
)

// snapshotLevel names both a read concern and the isolation level.
const snapshotLevel = "snapshot"

// appNamePrefix begins the application names of all clients of a workload.
func appNamePrefix(workloadName string) string { return "assay " + workloadName + " " }

// parse reads the target. A malformed address or an impossible option gives an
// *store.OptionError, a host without an address *store.UnreachableError;
// none of them holds a password. transactions is whether there will be any.
func parse(target store.Target, workloadName string, transactions bool) (*settings, error) {
	s := &settings{
		printable:      store.Redact(target.Address),
		appName:        appNamePrefix(workloadName) + uuid.NewString()[:8],
		connectTimeout: target.FirstContact(),
	}
	parsed, err := connstring.ParseAndValidate(target.Address)
	if err != nil {
		return nil, s.malformed(err)
	}
	if s.hashed, err = shardingOf(parsed.UnknownOptions[parameterShard]); err != nil {
		return nil, err
	}
	delete(parsed.UnknownOptions, parameterShard)
	if parsed.UnknownOptions[strings.ToLower(parameterCausal)] != nil && transactions {
		return nil, &store.OptionError{Option: parameterCausal, Value: "true",
			Want: "none with transactions, which run on the primary and see what their session has done"}
	}
	if err := s.takeMajorityWait(parsed.UnknownOptions, transactions); err != nil {
		return nil, err
	}
	if err := refuseOptions(parsed); err != nil {
		return nil, err
	}
	o := options.Client().ApplyURI(withoutOurs(target.Address))
	if err := o.Validate(); err != nil {
		if err := checkFiles(parsed); err != nil {
			return nil, err
		}
		return nil, s.malformed(err)
	}
	s.options, s.named = o, parsed.Database
	if o.Auth != nil {
		s.user = o.Auth.Username
	}
	if err := s.chooseConcerns(target.Isolation); err != nil {
		return nil, err
	}
	s.askedForRetries = parsed.RetryWritesSet && parsed.RetryWrites || parsed.RetryReadsSet && parsed.RetryReads ||
		parsed.MaxAdaptiveRetriesSet && parsed.MaxAdaptiveRetries > 0
	s.complete()
	return s, nil
}

// malformed describes an address that cannot be used. What the library quotes
// of it may be a piece of the password in an unexpected place; so its words end
// where its first quotation begins.
func (s *settings) malformed(err error) error {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return &store.UnreachableError{Address: s.printable, Err: errors.New("the name of the host cannot be resolved")}
	}
	reason, quoted, _ := strings.Cut(err.Error(), `"`)
	if strings.HasSuffix(reason, "invalid value for ") {
		option, _, _ := strings.Cut(quoted, `"`) // a name that the library knows
		reason += option
	}
	return &store.OptionError{Option: "address", Value: s.printable,
		Want: fmt.Sprintf("mongodb://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[?replicaSet=NAME], special characters percent-encoded (%s)",
			strings.TrimRight(reason, " :"))}
}

// AccessOf reads an address for somebody else's client. Errors are as those of parse.
func AccessOf(address string) (*connstring.ConnString, *options.ClientOptions, error) {
	s := &settings{printable: store.Redact(address)}
	parsed, err := connstring.ParseAndValidate(address)
	if err != nil {
		return nil, nil, s.malformed(err)
	}
	o := options.Client().ApplyURI(address)
	if err := o.Validate(); err != nil {
		return nil, nil, errors.Join(checkFiles(parsed), s.malformed(err))
	}
	return parsed, o, nil
}

// parameterMajorityWait is wtimeoutMS of MongoDB's connection string, which its Go
// driver does not know any more, and of which it writes names in small letters.
const parameterMajorityWait = "wtimeoutms"

// takeMajorityWait takes wtimeoutMS for transactions, whose commits this package sends
// itself. Without any it is left, to be refused.
func (s *settings) takeMajorityWait(options map[string][]string, transactions bool) error {
	values := options[parameterMajorityWait]
	if len(values) == 0 || !transactions {
		return nil
	}
	ms, err := strconv.ParseUint(values[0], 10, 31)
	if err != nil || len(values) > 1 {
		return &store.OptionError{Option: "wtimeoutMS", Value: strings.Join(values, ","), Want: "milliseconds, 0 for no limit"}
	}
	s.majorityWait = time.Duration(ms) * time.Millisecond
	delete(options, parameterMajorityWait)
	return nil
}

// refuseOptions refuses options that would be ignored, or that would change
// what a transfer is.
func refuseOptions(c *connstring.ConnString) error {
	for _, name := range slices.Sorted(maps.Keys(c.UnknownOptions)) {
		return &store.OptionError{Option: "the address's option", Value: name,
			Want: "the options of MongoDB's connection string that its Go driver knows; --timeout limits an attempt, the commit included"}
	}
	switch {
	case c.TimeoutSet:
		return &store.OptionError{Option: "the address's option", Value: "timeoutMS", Want: "--timeout, which limits an attempt"}
	case c.ReadPreference != "" && !strings.EqualFold(c.ReadPreference, "primary"):
		return &store.OptionError{Option: "readPreference", Value: c.ReadPreference, Want: "primary: transactions run there only"}
	}
	return nil
}

// chooseConcerns sets read and write concern of the transactions: what the
// address names, else majority for both.
//
// Every MongoDB transaction on a replica set reads from one snapshot, whatever
// its read concern (MongoDB manual, "Transactions and Atomicity", "Read
// Concern/Write Concern/Read Preference"); the concern says which snapshot. So
// the isolation level is "snapshot" always, and asking for it by name asks for
// the read concern of that name, which gives the same guarantee over shards.
func (s *settings) chooseConcerns(isolation string) error {
	s.readConcern, s.writeConcern = readconcern.Majority(), writeconcern.Majority()
	named := s.options.ReadConcern
	if named != nil {
		s.readConcern, s.namedReadConcern = named, true
	}
	switch isolation {
	case "":
	case snapshotLevel:
		if named != nil && named.Level != snapshotLevel {
			return &store.OptionError{Option: "isolation level", Value: isolation,
				Want: "snapshot without another readConcernLevel in the address"}
		}
		s.readConcern = readconcern.Snapshot()
	default:
		return &store.OptionError{Option: "isolation level", Value: isolation,
			Want: "snapshot, MongoDB's only one; the address's readConcernLevel (local, majority, snapshot) and w choose more"}
	}
	if !slices.Contains([]string{"local", "majority", snapshotLevel}, s.readConcern.Level) {
		return &store.OptionError{Option: "readConcernLevel", Value: s.readConcern.Level, Want: "local, majority, snapshot"}
	}
	if w := s.options.WriteConcern; w != nil {
		if !w.Acknowledged() {
			return &store.OptionError{Option: "w", Value: "0", Want: "an acknowledged write concern: majority, 1, 2, ..."}
		}
		s.writeConcern = &writeconcern.WriteConcern{W: w.W, Journal: w.Journal}
		if w.W == nil {
			s.writeConcern.W = writeconcern.WCMajority // the address names journal only
		}
	}
	return nil
}

// complete switches the library's retries off and fills in what the address
// leaves open.
//
// An address that asks for retryWrites is not refused, since every hosted
// MongoDB hands out such addresses; and nothing is lost, since the library
// never repeats the statements of a transaction anyway. Describe tells.
func (s *settings) complete() {
	o := s.options
	withoutRetries(o, s.appName)
	if o.ConnectTimeout == nil {
		o.SetConnectTimeout(s.connectTimeout)
	}
	if o.MaxPoolSize == nil {
		o.SetMaxPoolSize(maxPoolSize)
	}
	if o.MaxConnecting == nil {
		o.SetMaxConnecting(maxConnecting)
	}
}

// withoutRetries sets what all our clients have in common: the library sends
// nothing twice.
func withoutRetries(o *options.ClientOptions, appName string) {
	o.SetRetryReads(false).SetRetryWrites(false).SetMaxAdaptiveRetries(0)
	o.SetAppName(appName)
}

// sessions are the options of the client that a workload's sessions share: the
// address's own, with its concerns and time limits.
func (s *settings) sessions(address string) *options.ClientOptions {
	o := options.Client().ApplyURI(withoutOurs(address))
	withoutRetries(o, s.appName+applicationSuffix)
	if o.MaxPoolSize == nil {
		o.SetMaxPoolSize(maxPoolSize)
	}
	return o
}

// majority reports whether a commit that was acknowledged cannot be rolled
// back by a failover.
func (s *settings) majority() bool { return majority(s.writeConcern) }

func majority(w *writeconcern.WriteConcern) bool { return w.W == writeconcern.WCMajority }
