// Package exchange reads histories of other tools and writes ours for other tools: Jepsen's EDN,
// its JSON lines, and the text of its logs. It reads a stream, and keeps only the operations in
// flight.
//
// A history is a sequence of events. A process invokes an operation, and later it is ok
// (acknowledged), fail (certainly without effect) or info (unknown). The reader pairs the events
// into operations. It must not know any checker: it says what was done and seen, and not what
// follows.
//
// https://github.com/jepsen-io/history and https://github.com/edn-format/edn describe the
// format; docs/guides/history-of-another-tool.md has an example of each.
package exchange
