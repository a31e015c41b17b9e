package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
)

// TestForgotten are prepared statements that a text has the server forget, and portals with their transaction.
func TestForgotten(t *testing.T) {
	to := &talk{}
	asks := func(messages ...pgproto3.FrontendMessage) {
		t.Helper()
		for sent := encoded(t, messages...); len(sent) > 0; {
			n, _ := to.Request(sent, false)
			if n == 0 {
				t.Fatalf("it stands still with %q", sent)
			}
			sent = sent[n:]
		}
	}
	ready := func(state byte) {
		out := encoded[pgproto3.BackendMessage](t, ready(state))
		to.Answer(out, &wire.Request{})
	}
	ready('I') // the login
	for text, left := range map[string]int{`DEALLOCATE _pg3_1`: 2, `deallocate prepare "S_2";`: 2, "DEALLOCATE s_2": 3, "DEALLOCATE ALL": 0, "DISCARD ALL": 0, "DISCARD PLANS": 3, "SELECT _pg3_1": 3} {
		to.asked.prepared = map[string]*prepared{"_pg3_1": {}, "S_2": {}, "other": {}}
		asks(&pgproto3.Query{String: text})
		ready('I')
		if len(to.asked.prepared) != left {
			t.Errorf("%s leaves %d, want %d", text, len(to.asked.prepared), left)
		}
	}
	bind := func(name string) {
		asks(&pgproto3.Bind{DestinationPortal: name, PreparedStatement: "other"}, &pgproto3.Execute{Portal: name}, &pgproto3.Sync{})
	}
	bind("C_1") // which is not answered yet
	bind("C_2")
	ready('T')
	bind("C_3")
	ready('I') // of the second: the third may have begun another transaction
	asks(&pgproto3.Query{String: "SELECT 1"})
	if len(to.asked.portals) != 3 {
		t.Errorf("%d portals are known of 3", len(to.asked.portals))
	}
	ready('T')
	ready('T')
	bind("C_4")
	ready('I')
	asks(&pgproto3.Query{String: "SELECT 1"})
	if len(to.asked.portals) != 0 {
		t.Errorf("%d portals are left of a transaction that has ended", len(to.asked.portals))
	}
}
