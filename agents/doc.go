// Package agents lets several processes, on one machine or on many, do the work of
// one run. A coordinator hands out shares of the run's clients, says when to start,
// and gathers what the agents have recorded; an agent works its share, keeps its own
// history on its own disk, and delivers it while it works. They talk through NATS:
// requests that agents make of the coordinator, and an object store for the
// histories. All subjects and the bucket carry the run's id.
//
// An agent asks and the coordinator answers, several times a second. Each such
// exchange is a heartbeat in both directions, carries live figures one way and orders
// the other, and compares the two clocks with NTP's arithmetic (RFC 5905, section 8).
//
// Merge makes one history of those of all agents, on the coordinator's clock. How far
// the clocks may be off is in its header, and who reads it to judge gets the times of
// operations widened by that (history.Clock), so that an order in time is claimed only
// where it is certain.
//
// It must not know any workload, database or report.
package agents
