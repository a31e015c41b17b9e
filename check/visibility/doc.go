// Package visibility judges histories that other tools recorded to see which
// writes reads see, and in which order: long forks, writes that are seen without
// those before them, predicates that two clients broke together, and causal
// registers. The kinds and their rules are those of Jepsen's tests
// (https://jepsen-io.github.io/jepsen/: jepsen.tests.long-fork, causal,
// causal-reverse and adya) and of its tests of CockroachDB (monotonic,
// sequential, comments).
//
// Each judge takes operations in any order, keeps what they say in memory, and
// needs time n log n.
package visibility

// The kinds of evidence.
const (
	kindLongFork   = "long-fork"
	kindUnexpected = "unexpected"
	kindFailed     = "failed-write-read"
	kindFuture     = "future-read"
	kindGap        = "earlier-write-missing"
	kindG2         = "G2"
	kindLost       = "lost"
	kindDuplicate  = "duplicate"
	kindOrder      = "out-of-order"
	kindCausal     = "causality-violation"
)
