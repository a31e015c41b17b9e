// Package load does the work: clients in closed and open loops, with warm-up, ramp, retries and an
// orderly end. It also measures how far the client itself limited the work.
//
// It imports no workload, database driver or checker.
package load

import (
	"fmt"
	"slices"
	"time"
)

// Arrivals is how operations come.
type Arrivals string

const (
	// Closed starts a client's next operation after its last.
	Closed Arrivals = "closed"
	// Poisson is an open loop with exponentially distributed gaps.
	Poisson Arrivals = "poisson"
	Uniform Arrivals = "uniform"
)

// RetryMode says what follows an attempt that did not commit.
type RetryMode string

const (
	RetryNone RetryMode = "none"
	// RetryFailed repeats an attempt that certainly had no effect.
	RetryFailed RetryMode = "failed"
	// RetryIdempotent also repeats an unknown attempt, under the same id, and takes a duplicate
	// for success.
	RetryIdempotent RetryMode = "idempotent"
	// RetryBlind repeats failed and unknown attempts alike, as most applications do. The database
	// cannot recognize a repeat, so the operation may be done more than once. Rejected attempts
	// are not repeated.
	RetryBlind RetryMode = "blind"
)

// Plan is the load of one run.
type Plan struct {
	// Clients work at once, 1 to MaxClients.
	Clients int `yaml:"clients" json:"clients"`
	// Rate is arrivals a second over all clients; 0 means a closed loop.
	Rate float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	// Arrivals is Closed without a rate, otherwise Poisson or Uniform.
	Arrivals Arrivals `yaml:"arrivals" json:"arrivals"`
	// Warmup is worked and checked but not measured.
	Warmup time.Duration `yaml:"warmup" json:"warmup"`
	// Duration is the measured time; ignored if Ops is set without Limited.
	Duration time.Duration `yaml:"duration" json:"duration"`
	// Limited ends the measured part after Duration even if fewer than Ops are done.
	Limited bool `yaml:"limited,omitempty" json:"limited,omitempty"`
	// Ops is the number of operations to measure; 0 means by Duration.
	Ops uint64 `yaml:"ops,omitempty" json:"ops,omitempty"`
	// Ramp is the number of clients that start each second; 0 means all at once.
	Ramp float64 `yaml:"ramp,omitempty" json:"ramp,omitempty"`
	// Timeout bounds one attempt. With 0, an attempt has a grace of five seconds after the end of
	// the run, and is then unknown, of class history.ClassHung. 0 cannot be used with Ops, since
	// one attempt could hold up the end.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
	Retry   RetryMode     `yaml:"retry" json:"retry"`
	// MaxAttempts bounds the attempts of one operation; 0 means until the run ends, and cannot be
	// used with Ops. Pauses between attempts grow to a tenth of a second, or a second without a
	// connection.
	MaxAttempts int    `yaml:"max_attempts" json:"max_attempts"`
	Seed        uint64 `yaml:"seed" json:"seed"`
	// Sequential says that an attempt stays in its goroutine, so that clients of a closed loop may
	// share a thread.
	Sequential bool `yaml:"-" json:"-"`
	// Phase delays arrivals of equal gaps by a part of a gap, 0 to below 1, so that several
	// processes' arrivals alternate.
	Phase float64 `yaml:"-" json:"-"`
}

// MaxClients bounds Plan.Clients.
const MaxClients = 10_000

// Defaults is a plan long enough to judge a steady state.
func Defaults() Plan {
	return Plan{
		Clients: 4, Arrivals: Closed, Warmup: 2 * time.Second, Duration: 12 * time.Second,
		Timeout: 30 * time.Second, Retry: RetryNone, MaxAttempts: 10,
	}
}

// PlanError is an invalid value of the plan.
type PlanError struct {
	Option, Value, Want string
}

func (e *PlanError) Error() string {
	return fmt.Sprintf("%s %s cannot be used; want %s", e.Option, e.Value, e.Want)
}

// Validate returns a *PlanError for the first invalid value.
func (p Plan) Validate() error {
	open := p.Arrivals == Poisson || p.Arrivals == Uniform
	switch {
	case p.Clients < 1 || p.Clients > MaxClients:
		return p.refuse("--clients", p.Clients, fmt.Sprintf("1 to %d", MaxClients))
	case !(p.Rate >= 0 && p.Rate <= 10_000_000):
		return p.refuse("--rate", p.Rate, "more than 0, at most 10000000 arrivals a second")
	case !open && p.Arrivals != Closed:
		return p.refuse("--arrivals", p.Arrivals, "poisson or uniform, with --rate")
	case open && p.Rate == 0:
		return p.refuse("--arrivals", p.Arrivals, "--rate beside it")
	case !open && p.Rate > 0:
		return p.refuse("--rate", p.Rate, "--arrivals poisson or uniform beside it")
	case p.Warmup < 0:
		return p.refuse("--warmup", p.Warmup, "0 or more")
	case p.Duration <= 0 && p.Ops == 0:
		return p.refuse("--duration", p.Duration, "more than 0, such as 30s")
	case !(p.Ramp >= 0 && p.Ramp <= MaxClients):
		return p.refuse("--ramp", p.Ramp, "clients a second, more than 0")
	case p.Timeout < 0:
		return p.refuse("--timeout", p.Timeout, "more than 0, such as 30s, or 0 for no limit")
	case p.Timeout == 0 && p.Ops > 0:
		return p.refuse("--timeout", p.Timeout, "more than 0 with --ops, such as 30s: without a limit only --duration can end an attempt")
	case !slices.Contains([]RetryMode{RetryNone, RetryFailed, RetryIdempotent, RetryBlind}, p.Retry):
		return p.refuse("--retry", p.Retry, "none, failed, idempotent or blind")
	case p.MaxAttempts < 0 || p.MaxAttempts > maxAttempts:
		return p.refuse("--max-attempts", p.MaxAttempts, fmt.Sprintf("1 to %d, or 0 for no limit", maxAttempts))
	case p.MaxAttempts == 0 && p.Ops > 0 && p.Retry != RetryNone:
		return p.refuse("--max-attempts", p.MaxAttempts, fmt.Sprintf("1 to %d with --ops: without a limit only --duration can end the attempts", maxAttempts))
	}
	return nil
}

// maxAttempts bounds Plan.MaxAttempts, except for 0.
const maxAttempts = 1000

func (p Plan) refuse(option string, value any, want string) error {
	return &PlanError{Option: option, Value: fmt.Sprint(value), Want: want}
}
