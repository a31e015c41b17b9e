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

// addressForm is told to who gives an address that cannot be used.
const addressForm = "cassandra://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[KEYSPACE][?consistency=LEVEL&replication=COPIES], special characters percent-encoded"

// settings is what an address and a target ask for.
type settings struct {
	printable      string
	hosts          []string // host:port
	user, password string
	keyspace       string
	named          bool // the keyspace, in the address
	// consistency is the consistency of writes, and of reads unless nearest is asked for.
	consistency gocql.Consistency
	// reads is the consistency of the reads during a run.
	reads gocql.Consistency
	// replication is how many copies of each row there are, or as many as
	// there are nodes if that is less.
	replication    int
	encryption     *tls.Config // nil without TLS
	connectTimeout time.Duration
	// silence is how long a connection may say nothing before it is given up.
	silence time.Duration
	// revisit is how often a node that is taken for down is tried again.
	revisit time.Duration
}

// level is a consistency level as an address names it.
type level struct {
	name  string
	level gocql.Consistency
}

// levels are the consistency levels that serve both reads and writes, by name
// (Cassandra documentation, "Dynamo", "Tunable Consistency"). With ANY a write
// is acknowledged that nobody can read, EACH_QUORUM is none for reads.
func levels() []level {
	return []level{
		{"one", gocql.One}, {"two", gocql.Two}, {"three", gocql.Three}, {"quorum", gocql.Quorum}, {"all", gocql.All},
		{"local_one", gocql.LocalOne}, {"local_quorum", gocql.LocalQuorum},
	}
}

// keyspaceForm is what may stand in quotes in CQL without further care, and not
// longer than Cassandra allows.
var keyspaceForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,47}$`) })

// parse reads the target. What cannot be used gives an *store.OptionError
// that holds no password.
func parse(target store.Target) (*settings, error) {
	s := &settings{
		printable: store.Redact(target.Address), keyspace: defaultKeyspace, consistency: gocql.Quorum,
		connectTimeout: target.FirstContact(), silence: defaultSilence, revisit: defaultRevisit,
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

// setOptions reads the address's options.
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

// setEncryption reads tls and what goes with it. A parameter that says how to
// encrypt asks for it.
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

// chooseReads sets the consistency of reads. Cassandra has no primary: the
// consistency says how many replicas answer, and the ordinary reads have that
// of the address. With "nearest" one replica answers, the one that the
// coordinator believes nearest, which may lag behind.
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

// quorums reports whether those that acknowledge a write and those that answer
// a read always have one in common: R + W > RF (Cassandra documentation,
// "Dynamo", "Picking Consistency Levels").
func (s *settings) quorums() bool {
	overlapping := []gocql.Consistency{gocql.Quorum, gocql.All}
	return slices.Contains(overlapping, s.consistency) && slices.Contains(overlapping, s.reads) || s.consistency == gocql.All
}
