package load

import "context"

// Round is one stretch of a run that is worked in several: so many clients do
// so many operations, and the next round begins when the last of them has
// ended.
type Round struct {
	// Name describes what the round is, such as "15 workers"; it is unique in a run.
	Name string
	// Clients is how many work at once, Ops how many operations they do
	// together.
	Clients int
	Ops     uint64
	// Ready prepares the round before its clock starts, such as by emptying
	// caches; nil if nothing is to be prepared.
	Ready func(ctx context.Context) error
	// Client opens the session of client n of the round, from 0.
	Client func(ctx context.Context, n int) (Client, error)
	// Apart keeps the round out of the run's own throughput and latency; it
	// still has its figures and is checked.
	Apart bool
}
