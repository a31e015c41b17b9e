package availability

import (
	"cmp"
	"time"

	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// Policy is what the writers' application does about calls that do not come
// back and answers that say nothing.
type Policy string

const (
	// PolicyNone has no time limit and repeats nothing: a call may hang for as
	// long as the network lets it.
	PolicyNone Policy = "none"
	// PolicyTimeout gives a call up after the time limit, and repeats nothing.
	PolicyTimeout Policy = "timeout"
	// PolicyRetry repeats what did not succeed until it does, each time as a
	// new row with an id of its own, as a database that makes the ids would
	// have it: what was done unnoticed is done twice.
	PolicyRetry Policy = "retry"
	// PolicyIdempotent does the same under one id, made by the client, and
	// takes a duplicate for success.
	PolicyIdempotent Policy = "idempotent"
)

// Policies returns all policies.
func Policies() []Policy {
	return []Policy{PolicyNone, PolicyTimeout, PolicyRetry, PolicyIdempotent}
}

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Policy is one of Policies.
	Policy Policy `yaml:"policy" json:"policy"`
	// Readers is how many clients read beside the writers, 0 to MaxReaders.
	Readers int `yaml:"readers" json:"readers"`
	// ReadRate is reads a second over all readers; 0 means none.
	ReadRate float64 `yaml:"read_rate" json:"read_rate"`
	// Read is which member answers reads, as in workload.Target.
	Read string `yaml:"read" json:"read"`
}

// MaxReaders is the largest Config.Readers.
const MaxReaders = 1000

// Defaults returns the configuration of a run without flags: a read every
// tenth of a second.
func Defaults() Config {
	return Config{Policy: PolicyTimeout, Readers: 40, ReadRate: 10, Read: workload.ReadPrimary}
}

// defaultTimeout is that of the published experiment whose policies these are.
const defaultTimeout = 5 * time.Second

// LoadDefaults returns the load of a run without flags: an insert every tenth
// of a second, whatever became of those before it. Every one of them may hang
// for the whole time limit, so there are as many clients as become due
// meanwhile; with fewer, a database that is back would not be noticed until
// one of them is. Together with the readers they stay below the hundred
// connections that PostgreSQL grants by default.
func LoadDefaults() load.Plan {
	p := load.Defaults()
	p.Clients, p.Rate, p.Arrivals = 50, 10, load.Uniform
	p.Warmup, p.Duration, p.Timeout = 2*time.Second, time.Minute, defaultTimeout
	return p
}

// Validate returns a *workload.OptionError for the first value that cannot be
// used.
func (c Config) Validate() error {
	return cmp.Or(
		definition.OneOf("--policy", string(c.Policy), policyNames()...),
		definition.OneOf("--read", c.Read, append(readNames(), "")...),
		definition.CheckRanges(c.Flags()))
}

func policyNames() (names []string) {
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return names
}

func readNames() []string {
	return []string{workload.ReadPrimary, workload.ReadSecondaryPreferred, workload.ReadNearest}
}

// reads reports whether anybody reads.
func (c Config) reads() bool { return c.Readers > 0 && c.ReadRate > 0 }

// primary reports whether the primary answers reads.
func (c Config) primary() bool { return c.Read == "" || c.Read == workload.ReadPrimary }

// Plan returns the load with what the policy says of it: the time limit of an
// attempt (the plan's, five seconds if it has none; none at all under
// PolicyNone) and what is repeated. A run by time repeats until its end, one
// by a number of operations as often as the plan says. It is to be validated
// after that.
func Plan(c Config, p load.Plan) load.Plan {
	if p.Timeout == 0 {
		p.Timeout = defaultTimeout
	}
	p.Retry = load.RetryNone
	switch c.Policy {
	case PolicyNone:
		p.Timeout = 0
	case PolicyRetry:
		p.Retry = load.RetryBlind
	case PolicyIdempotent:
		p.Retry = load.RetryIdempotent
	}
	if p.Retry != load.RetryNone && p.Ops == 0 {
		p.MaxAttempts = 0
	}
	return p
}
