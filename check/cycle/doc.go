// Package cycle is the isolation checker. From the appends, writes and reads of transactions it
// infers which of them must come before which. It finds and names the contradictions, and lists
// the consistency models that they rule out. It does not depend on how a history was made or where
// it is kept.
//
// The method is that of Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from
// Experimental Observations", VLDB 2020. The names and the models are those of Adya's thesis (MIT
// 1999), of Cerone, Bernardi and Gotsman (CONCUR 2015; PODC 2016) and of Elle's lattice; see
// model.go.
//
// # What is inferred
//
// Every append to a list, and every write to a register, should have a value of its own. Then a
// read shows which transaction wrote its value (wr). A list only grows, so every read of it is a
// prefix of its final state, and the longest read gives the order of the appends (ww). An append
// that is in no read comes after all of these. A transaction that read a state precedes the next
// append (rw). A transaction that may not have taken effect counts only if its operations were
// seen.
//
// The initial state of a register precedes all values, and a transaction's write follows its read.
// No read shows the order of two blind writes. Options may assume more, and strict and session
// models imply some of it.
//
// # How a model is decided
//
// Anomalies that exist in any order of the versions are found and named first (classify.go). If the
// model forbids none of them, a search decides whether some order of the versions of each key
// satisfies its definition (decide.go; rules.go has the definitions).
//
// Read atomic, monotonic atomic view and causal take no search. Which transactions a transaction
// sees does not depend on the order of versions. So each read puts some versions in order, and a
// cycle of these orders is the violation (visibility.go; Biswas and Enea, OOPSLA 2019).
//
// The other models are NP-complete, or not known to be easier. Their search has the order of two
// versions as an alternative, and a cycle as a clause (version_order_search.go, package acyclic; as
// PolySI, VLDB 2023, does with a solver). It begins with an order close to real time, and makes
// alternatives only where that breaks the rule. A database that keeps the model needs few. If
// there is no order, saturation derives the evidence again, in words: the orders that follow
// because their opposite closes a cycle, up to the last (proof.go).
//
// # What can be found, and what cannot
//
// For lists, serializability and strict serializability are decided: without findings there is an
// order that explains every read. Take any order that the dependencies allow; it exists because
// they have no cycle. At a read of a list, the writers of its elements have come before (wr, then
// ww backwards). The writers of further elements come later (rw, then ww onwards; rw to unseen
// appends). There remains the transaction's own part, which the checks of its inside (internal,
// future-read) and of others' (G1b, repeated, reversed, failed and foreign elements) settle. Unseen
// appends can be in any order. A test compares with a search through all orders.
//
// If at most one append to each list is unseen, the order of all versions is known. Then snapshot
// isolation and all models with G-single are decided in the same way. Everything else is decided by
// search, until its time or memory is over; then the verdict is unknown. A test compares every
// model with its definition over all orders of the versions of small histories.
//
// A transaction of unknown outcome that was not seen is left out: without it, everything else is
// as possible. The statement of monotonic-snapshot-read about writes is searched for, and convicts
// no history. Elements that were appended twice are not told apart. If a register's value was
// written more than once, every writer is tried, if there are not too many choices (duplicates.go).
//
// A wrong read is not found if the history with it is right too. It may be the only read so long
// of its list, with elements in a possible order. Or it is a prefix of the list, and too short or
// too long by appends made while the transaction ran, if nothing else shows when the transaction
// ran. Any other wrong read of a list is found. It may be no prefix of another read at least as
// long (incompatible-order, garbage-read, duplicate-elements). Under strict serializability it may
// lack an append acknowledged before it began.
//
// Models below the strong ones are blind to real time: a database that loses every acknowledged
// append and shows empty lists for ever is serializable. Report.Findings still lists such lost
// appends and stale reads.
//
// If two reads contradict each other, no order is right. The longest is believed, and among equals
// the last, so that cycles are named as if it were the truth. The contradiction alone rules out
// read committed, but whether read uncommitted is ruled out (G0) can depend on this choice.
//
// # Where this differs from Elle
//
// The verdicts and the models ruled out agree; see TestVectors. But:
//
//   - In a set of transactions in cycles with each other, all anomalies that do not follow from
//     others there are named. Elle gives up a kind of cycle whose first candidate turns out to be
//     another kind (an rw edge that is also ww), then names milder ones, and can run out of time.
//   - If two longest reads contradict each other, Elle takes the one that its hash set puts last.
//   - Elle does not see a second read of a list as wrong if the first found nothing (internal), nor
//     appends of one transaction in reverse (incompatible-order), nor values that were never
//     written (garbage-read).
//   - Dependencies lead over elements of failed transactions; in Elle they end there.
//   - Cyclic versions of a register rule out read committed, in Elle read uncommitted. A version
//     written after another was read gives no ww edge, so no G0 rests on it. Read uncommitted
//     promises nothing about reads.
//   - Elle's strong-serializable is called strict-serializable.
//   - The order of blind writes is searched for, which finds more, under names of its own: G-cursor,
//     G-monotonic, G-MSR, G-update-item, fractured-read, update-conflict, causality-violation,
//     long-fork, monotonic-atomic-view-violation.
//   - Causal heeds the order of each client; parallel snapshot isolation includes consistent view.
//
// # Cost
//
// A valid history takes linear time: a million transactions of strict serializability take about a
// second. Numbers are dense, arrays flat, and real time is a chain of O(n) edges. If there are
// cycles, linear time also decides whether write cycles exist and snapshot isolation is broken.
// Naming cycles is a search for the shortest from each edge that can begin one, with bounded effort
// after the first. Every wait ends with the context.
package cycle
