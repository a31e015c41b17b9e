package mysql

import (
	"testing"

	"assay/application/wire"
)

// TestErrorsOfCommit end the transaction, so that what comes next is another one, and tell whether it
// is known that nothing was committed.
func TestErrorsOfCommit(t *testing.T) {
	for _, c := range []struct {
		text     string
		code     uint16
		state    wire.State
		doubtful bool
	}{
		{"INSERT INTO t VALUES (1)", 1062, wire.Within, false}, {"INSERT INTO t VALUES (1)", 1213, wire.Idle, false},
		{"INSERT INTO t VALUES (1)", 1180, wire.Within, true}, {"ROLLBACK", 1105, wire.Within, false},
		{"DROP TABLE t", 1051, wire.Idle, false}, {"DROP TABLE t", 1064, wire.Within, false}, {"SET autocommit = 1", 1193, wire.Within, false},
		{"COMMIT", 1213, wire.Idle, false}, {"COMMIT", 3101, wire.Idle, false}, {"COMMIT", 1180, wire.Idle, true}, {"commit", 1290, wire.Idle, true},
	} {
		var to talk
		to.ready.Store(true)
		to.state.Store(uint32(wire.Within))
		r := to.command(append([]byte{comQuery}, c.text...), 1+len(c.text))
		answer := packet(1, append([]byte{errorPacket, byte(c.code), byte(c.code >> 8)}, "#HY000it is so"...))
		n, done := to.Answer(answer, r)
		if s := r.Statements[0]; n != len(answer) || !done || s.Error == "" || s.Doubtful != c.doubtful || to.State() != c.state {
			t.Errorf("%s, answered by %d: state %d, %+v", c.text, c.code, to.State(), s)
		}
	}
}
