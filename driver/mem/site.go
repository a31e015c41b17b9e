package mem

import (
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"assay/workload"
)

// site is what the databases of all workloads have in common: the bugs that
// are switched on, the lock, the chance and the mark.
type site struct {
	timeout float64
	latency time.Duration
	armed   []armed

	mu      sync.Mutex
	chance  *rand.Rand
	foreign bool             // somebody else's: for tests of the refusal
	mark    *workload.Marker // nil while there is no schema
	lease   *lease           // nil while nobody has it
	// calls counts transactions since Create, for what is to happen later.
	calls uint64
}

// armed is a Bug switched on.
type armed struct {
	Bug
	probability float64
}

// newSite returns *workload.OptionError for a bug that is not among bugs or a
// value out of range.
func newSite(o Options, bugs []Bug) (*site, error) {
	if err := o.validate(bugs); err != nil {
		return nil, err
	}
	s := &site{timeout: o.Timeout, latency: o.Latency, chance: rand.New(rand.NewPCG(o.Seed, 0x6173736179))}
	for _, bug := range bugs {
		for _, injected := range o.Inject {
			if injected.Name == bug.Name && injected.Probability > 0 {
				s.armed = append(s.armed, armed{Bug: bug, probability: injected.Probability})
			}
		}
	}
	return s, nil
}

// guard takes the lock, checks that what is there is ours, and that there is
// something if that is required. The caller unlocks if there is no error.
func (s *site) guard(required bool) error {
	s.mu.Lock()
	var err error
	switch {
	case s.foreign:
		err = &workload.ForeignError{Name: name, Hint: "open another one"}
	case required && s.mark == nil:
		err = &workload.NoSchemaError{Name: name}
	default:
		return nil
	}
	s.mu.Unlock()
	return err
}

// hits draws once. The caller holds the lock.
func (s *site) hits(probability float64) bool {
	return probability > 0 && s.chance.Float64() < probability
}

// odds is the probability of a bug, 0 of one that is not switched on.
func (s *site) odds(bug string) float64 {
	for _, a := range s.armed {
		if a.Name == bug {
			return a.probability
		}
	}
	return 0
}

func (s *site) describe() workload.Product {
	bugs := make([]string, len(s.armed))
	for i, b := range s.armed {
		bugs[i] = b.Name + ":" + probability(b.probability)
	}
	p := workload.Product{
		Name: "assay's reference database", Version: "1", Embedded: true,
		Settings: []workload.Setting{
			{Name: "isolation", Value: level},
			{Name: "durability", Value: "none, in memory"},
			{Name: "timeouts", Value: probability(s.timeout)},
			{Name: "latency", Value: s.latency.String()},
		},
		Topology: workload.Topology{Nodes: 1},
	}
	if len(bugs) > 0 {
		p.Settings = append(p.Settings, workload.Setting{Name: workload.SettingBugs, Value: strings.Join(bugs, ", ")})
	}
	return p
}
