// Package exchange reads the histories that other tools wrote, and writes ours
// so that other tools can read them: Jepsen's EDN, its JSON lines, and the
// text of its logs. It reads as a stream: what it keeps at one time is the
// operations in flight, never the history.
//
// A history is a sequence of events: a process invokes an operation, and later
// it is ok (acknowledged), fail (it had certainly no effect) or info (nobody
// knows). The reader pairs them into operations. It must not know any checker:
// it describes what was done and seen, not what follows from it.
//
// The format is described at https://github.com/jepsen-io/history and
// https://github.com/edn-format/edn; docs/guides/history-of-another-tool.md has an example of each.
package exchange
