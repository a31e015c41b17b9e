// Package register judges histories of single registers (read, write,
// compare-and-set) for linearizability: whether each operation can be given one
// moment between its invocation and its completion, such that every read
// returns what was last written (Herlihy and Wing, "Linearizability", TOPLAS
// 12(3), 1990). Linearizability is local: a history is linearizable exactly if
// the history of each key is, so each key is judged alone.
//
// What can be shown directly is: a value that nobody wrote, a read of what was
// overwritten before, a write that was lost. Where each value is written once,
// the pairs of values decide in time n log n (Gibbons and Korach, "Testing
// Shared Memories", SIAM J. Comput. 26(4), 1997). All else is searched for by
// github.com/anishathalye/porcupine. Where that is lost, because many operations do the
// same at once, the changes to a value are counted against its writes, and then all
// states at each moment are gone through, in which such operations stand for each other.
//
// The package must not know where histories come from: it imports neither their
// formats nor any database.
package register
