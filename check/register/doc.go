// Package register judges histories of single registers (read, write, compare-and-set) for
// linearizability. Each operation must fit at one moment between its invocation and its
// completion, such that every read returns the last value written (Herlihy and Wing,
// "Linearizability", TOPLAS 12(3), 1990). Linearizability is local: a history is linearizable
// exactly if the history of each key is. So each key is judged alone.
//
// Direct rules come first: a value that no operation wrote, a read of an overwritten value, a
// lost write. If each value is written once, the pairs of values decide in time n log n (Gibbons
// and Korach, "Testing Shared Memories", SIAM J. Comput. 26(4), 1997). Otherwise
// github.com/anishathalye/porcupine searches for an order. It fails if many operations do the
// same at once. Then the changes to a value are counted against its writes, and at last all
// states at each moment are walked, in which equal operations stand for each other.
//
// The package must not know where histories come from: it imports neither their formats nor any
// database.
package register
