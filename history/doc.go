// Package history records every operation of a run: what was asked, when, how often it was
// tried and how it ended. A history is written during the run, with bounded memory. It stays
// readable if the writing process is killed: a checksum finds the torn tail, which is left out.
//
// It must not know any workload, database or checker: workload-specific facts travel as small
// integers in Op.Kind and Op.Values.
package history
