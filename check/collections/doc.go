// Package collections judges histories of collections that other tools
// recorded: sets, queues, counters and generators of identifiers. The kinds and
// their rules are those of Jepsen's name space jepsen.checker
// (https://jepsen-io.github.io/jepsen/jepsen.checker.html: set, set-full,
// queue, total-queue, counter, unique-ids).
//
// In one thing it goes further: an operation that failed had certainly no effect,
// so that an element of a failed one that turns up is a violation, as is one
// that turns up before it was added. What is unknown may have happened or not.
//
// Each judge takes operations in any order, keeps what they say in memory, and
// needs time n log n.
package collections
