package cassandra

import (
	"crypto/tls"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/driver/encryption"
	"assay/driver/uri"
	"assay/store"
)

const (
	defaultPort        = "9042"
	defaultKeyspace    = "assay"
	defaultReplication = 3
	mostReplicas       = 100
)

const addressForm = "cassandra://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[KEYSPACE][?consistency=LEVEL&replication=COPIES], special characters percent-encoded"

type settings struct {
	printable      string
	hosts          []string // host:port
	user, password string
	keyspace       string
	named          bool // the keyspace, in the address
	// consistency is for writes, and for reads unless nearest is asked for.
	consistency gocql.Consistency
	// reads is for reads during a run.
	reads gocql.Consistency
	// replication is the number of copies of each row, at most one for each node.
	replication int
	// coordinated means that the coordinating node gives a write its timestamp, not the client.
	coordinated    bool
	encryption     *tls.Config // nil without TLS
	connectTimeout time.Duration
	silence        time.Duration
	// revisit is the interval of attempts to reach a node that is down.
	revisit time.Duration
}

type level struct {
	name  string
	level gocql.Consistency
}

// levels are the consistency levels for both reads and writes (Cassandra documentation, "Dynamo",
// "Tunable Consistency"). ANY acknowledges writes that cannot be read; EACH_QUORUM is not for
// reads.
func levels() []level {
	return []level{
		{"one", gocql.One}, {"two", gocql.Two}, {"three", gocql.Three}, {"quorum", gocql.Quorum}, {"all", gocql.All},
		{"local_one", gocql.LocalOne}, {"local_quorum", gocql.LocalQuorum},
	}
}

// keyspaceForm needs only quotes in CQL, and has at most Cassandra's length.
var keyspaceForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,47}$`) })

// parse reads the target. Its error is a *store.OptionError without a password.
func parse(target store.Target) (*settings, error) {
	s := &settings{
		printable: store.Redact(target.Address), keyspace: defaultKeyspace, consistency: gocql.Quorum,
		connectTimeout: target.FirstContact(), coordinated: target.Shared || target.Existing, silence: defaultSilence, revisit: defaultRevisit,
	}
	if target.Isolation != "" {
		return nil, &store.OptionError{Option: "isolation level", Value: target.Isolation,
			Want: "none: Cassandra has consistency levels instead, which the address chooses (?consistency=quorum)"}
	}
	a, err := uri.Parse(target.Address, addressForm, defaultPort, "cassandra")
	if err != nil {
		return nil, err
	}
	s.hosts, s.user, s.password = a.Hosts, a.User, a.Password
	if a.Path != "" {
		s.keyspace, s.named = a.Path, true
	}
	if !keyspaceForm().MatchString(s.keyspace) {
		return nil, &store.OptionError{Option: "keyspace", Value: s.keyspace,
			Want: "a letter and then at most 47 letters, digits and underscores"}
	}
	if err := s.setOptions(a.Options); err != nil {
		return nil, err
	}
	return s, s.chooseReads(target.Read)
}

func (s *settings) setOptions(options uri.Options) (err error) {
	if err := s.setEncryption(options); err != nil {
		return err
	}
	if value, given := options.Take("consistency"); given {
		level, found := levelOf(value)
		if !found {
			return &store.OptionError{Option: "consistency", Value: value, Want: levelNames()}
		}
		s.consistency = level
	}
	s.replication, err = options.Integer("replication", "the number of copies of each row, from 1", defaultReplication, 1, mostReplicas)
	if err != nil {
		return err
	}
	return options.None("consistency, replication, tls, " + encryption.ParameterNames)
}

// setEncryption reads tls and its parameters. Each of these asks for encryption.
func (s *settings) setEncryption(options uri.Options) error {
	asked, err := options.Choose("tls", "true", "false")
	if err != nil {
		return err
	}
	files, given, err := encryption.Take(options)
	switch {
	case err != nil:
		return err
	case asked == "false" && given != "":
		return &store.OptionError{Option: "tls", Value: asked, Want: "true, since there is " + given}
	case asked != "true" && given == "":
		return nil
	}
	s.encryption, err = files.Config()
	return err
}

func levelOf(name string) (gocql.Consistency, bool) {
	all := levels()
	i := slices.IndexFunc(all, func(l level) bool { return strings.EqualFold(l.name, name) })
	if i < 0 {
		return 0, false
	}
	return all[i].level, true
}

func levelNames() string {
	var names []string
	for _, l := range levels() {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

// chooseReads sets the reads' consistency. Cassandra has no primary, so ordinary reads have the
// address's consistency. With "nearest" the replica answers that the coordinator believes nearest.
// It may lag behind.
func (s *settings) chooseReads(read string) error {
	switch read {
	case "", store.ReadPrimary:
		s.reads = s.consistency
	case store.ReadNearest:
		s.reads = gocql.One
	default:
		return &store.OptionError{Option: "--read", Value: read,
			Want: "primary (the consistency of the address) or nearest (one replica); Cassandra has no secondaries"}
	}
	return nil
}

// quorums reports whether each write's and each read's replicas overlap: R + W > RF (Cassandra
// documentation, "Dynamo", "Picking Consistency Levels").
func (s *settings) quorums() bool {
	overlapping := []gocql.Consistency{gocql.Quorum, gocql.All}
	return slices.Contains(overlapping, s.consistency) && slices.Contains(overlapping, s.reads) || s.consistency == gocql.All
}
