package mem

import (
	"strconv"
	"time"
)

const (
	// level is what all have; plain "serializable" is understood as well.
	level = "strict serializable"
	// name stands for the database in errors: it has no other.
	name    = "mem:"
	maxLate = 64
	maxLoss = 8
)

func probability(p float64) string { return strconv.FormatFloat(p, 'g', -1, 64) }

// Options is what a database does beside its duty.
type Options struct {
	Seed    uint64
	Inject  []Injection
	Timeout float64
	Latency time.Duration
}

// Injection is one bug switched on.
type Injection struct {
	Name        string
	Probability float64
}

// Bug is one way of breaking a promise, in one of the workloads whose bugs are not
// yet in driver/bugs.
type Bug struct {
	Name, Check, Or string
	Kinds           []string
	Passing         bool
	Doc             string
}
