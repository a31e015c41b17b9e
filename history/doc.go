// Package history is the record of every operation of a run: what was asked,
// when, how often it was tried and how it ended. It is written while the run
// goes on, with bounded memory, and it stays readable when the writing process
// is killed: a torn tail is found by its checksum and left out.
//
// It must not know any workload, database or checker: workload-specific facts
// travel as small integers in Op.Kind and Op.Values.
package history
