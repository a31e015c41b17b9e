// Package cycle is the isolation checker: from what transactions appended,
// wrote and read it infers which of them must come before which, finds the
// contradictions, names them, and lists the consistency models that they rule
// out. It does not depend on how a history was made or where it is kept.
//
// The method is that of Kingsbury and Alvaro, "Elle: Inferring Isolation
// Anomalies from Experimental Observations", VLDB 2020. The names and the
// models are those of Adya's thesis (MIT 1999), of Cerone, Bernardi and
// Gotsman (CONCUR 2015; PODC 2016) and of Elle's lattice; see model.go.
//
// # What is inferred
//
// Every append to a list, and every write to a register, should be of a value of
// its own. Then a read describes who wrote what it read (wr). A list is only ever
// appended to, so every read of it is a beginning of its final state, and the
// longest read gives the order of the appends (ww); an append that is in no
// read comes after all of these. Who read a state is before who appended next
// (rw). The operations of a transaction that may or may not have taken effect
// count only where somebody saw them: nothing follows from one that nobody
// saw.
//
// Of a register, the initial state comes before all, and what a transaction
// wrote after what it read. In which order two blind writes come no read shows:
// Options may assume more, and strict and session models imply some of it.
//
// # How a model is decided
//
// What follows from the history in any order of the versions is looked for
// first, and named (classify.go). If the model forbids none of that, it is
// decided whether some order of the versions of each key satisfies its
// definition (decide.go; rules.go has the definitions).
//
// Read atomic, monotonic atomic view and causal take no search: whom a
// transaction sees does not hang on the order of versions, so each read puts
// some of them in order, and a cycle of these is the violation (visibility.go;
// Biswas and Enea, OOPSLA 2019). The others are NP-complete, or not known to be
// easier. Their search has the order of two versions as an alternative, and a
// cycle as a clause (version_order_search.go, package acyclic; as PolySI, VLDB
// 2023, does with a solver). It begins with an order close to real time, and makes
// alternatives only where that breaks the rule: of a database that keeps the
// model there are few. If there is no order, the evidence is derived again by
// saturation, in words: the orders that follow because their opposite closes a
// cycle, up to the last (proof.go).
//
// # What can be found, and what cannot
//
// Of lists, serializability and strict serializability are decided: if nothing
// is found, there is an order that explains every read. Take any order that
// the dependencies allow, which exists as they make no cycle. At a read of a
// list, who appended what it shows has been (wr, then ww backwards), and who
// appended more comes later (rw, then ww onwards; rw to those that nobody
// saw). What is left is the transaction's own part, which the checks of its
// inside (internal, future-read) and of others' (G1b, repeated, reversed,
// failed and foreign elements) settle. Appends that nobody saw can stand in
// any order. A test compares with a search through all orders.
//
// Of lists of which all but one append each are seen, the order of all versions
// is known, and the same holds of snapshot isolation and of all models with
// G-single. Everything else is decided by search, until its time or room is
// over; then the verdict is unknown. A test compares every model with its
// definition over all orders of the versions of small histories.
//
// A transaction of unknown outcome that nobody saw is left out: without it, all
// else is as possible. What monotonic-snapshot-read says of writes is looked for and
// convicts nobody. Elements that were appended twice are not told apart. Of a register,
// every writer of a value is tried that was written more than once, if these are
// not too many choices (duplicates.go).
//
// A wrong read goes unfound if the history with it is right too: the only read
// that long of its list, whose elements could have been appended in that
// order; or a beginning of the list that is too short or too long by what was
// appended while the transaction ran, if nothing else it did describes when it ran.
// Any other wrong read of a list is found: one that is no beginning of another
// read at least as long (incompatible-order, garbage-read, duplicate-elements),
// and under strict serializability one that lacks what was acknowledged before
// it began.
//
// Models below the strong ones are blind to real time: a database that loses
// every acknowledged append and shows empty lists for ever is serializable.
// Report.Findings has such lost appends and stale reads all the same.
//
// If two reads contradict each other, no order is right; the longest is
// believed, of several the last, so that cycles are named as if it were the
// truth. Read committed is ruled out by the contradiction alone, but whether
// read uncommitted is (G0) can hang on that choice.
//
// # Where this differs from Elle
//
// The verdicts and the models ruled out agree; see TestVectors. But:
//
//   - Of a set of transactions in cycles with each other, the anomalies that
//     do not follow from others there are named, all of them. Elle gives up a
//     kind of cycle whose first candidate turns out to be another kind (an rw
//     edge that is also ww), then names milder ones, and can run out of time.
//   - Of two longest reads that contradict each other, Elle takes the one that
//     its hash set puts last.
//   - Elle does not see a second read of a list as wrong if the first found
//     nothing (internal), nor appends of one transaction in reverse
//     (incompatible-order), nor values that nobody wrote (garbage-read).
//   - Dependencies lead over elements of failed transactions; in Elle they end
//     there.
//   - Cyclic versions of a register rule out read committed, in Elle read
//     uncommitted; and a version that was written after another was read gives
//     no ww edge, so that no G0 rests on it. Read uncommitted promises nothing
//     about reads.
//   - What Elle prints as strong-serializable is called strict-serializable.
//   - The order of blind writes is searched for, so that more is found. What is
//     so found has names of its own: G-cursor, G-monotonic, G-MSR, G-update-item,
//     fractured-read, update-conflict, causality-violation, long-fork,
//     monotonic-atomic-view-violation.
//   - Causal heeds the order of each client; parallel snapshot isolation
//     includes consistent view.
//
// # Cost
//
// Linear in the operations for a valid history, a million transactions of
// strict serializability in about a second: dense numbers, flat arrays,
// and real time as a chain of O(n) edges. Of what is in cycles, existence of
// write cycles and of what breaks snapshot isolation is decided in linear time
// too; naming them is a search from each edge that can begin one, for the
// shortest, with an effort that is bounded once there is one. Any wait ends
// with the context.
package cycle
