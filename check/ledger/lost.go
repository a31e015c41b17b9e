package ledger

import "assay/history"

// Lost reports whether a transfer was acknowledged and has no row. Call it after the history and
// the journal were given. If the journal was not read whole, no transfer counts as lost.
func (j *Judge) Lost(client int, seq uint64) bool {
	block, i := j.ops.find(client, seq)
	if block == nil || j.incomplete[Journal] != "" {
		return false
	}
	m := block.states[i]
	return m.has(ended) && !m.has(other) && m.outcome() == history.Committed && m.rows() == 0
}
