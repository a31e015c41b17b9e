package postgres

import (
	"strings"
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

// TestPreparedByText: PREPARE and EXECUTE are the places of what is prepared, whatever its name.
func TestPreparedByText(t *testing.T) {
	q := &requests{}
	for _, c := range []struct{ text, shape, values string }{
		{`PREPARE "A 1" (int, text) AS INSERT INTO t VALUES (7, $1, $2)`, "PREPARE ? (int, text) AS INSERT INTO t VALUES (?, $1, $2)", "7"},
		{`EXECUTE "A 1"(3, 'it''s')`, "INSERT INTO t VALUES (?, $1, $2)", "7|3|it's"}, {`execute "A 1" (4, 'NULL')`, "INSERT INTO t VALUES (?, $1, $2)", "7|4|'NULL'"},
		{`EXECUTE "A 1"(NULL, 'x')`, "EXECUTE ?(NULL, ?): INSERT INTO t VALUES (?, $1, $2)", "'x'"},
		{`EXECUTE "A 1"(3, $$x$$)`, "EXECUTE ?(? ...): INSERT INTO t VALUES (?, $1, $2)", "3|$$x$$"},
		{"prepare C3 as SELECT 1", "PREPARE ? as SELECT ?", "1"}, {"EXECUTE c3", "SELECT ?", "1"}, {"EXECUTE none(1)", "EXECUTE none(?)", "1"},
		{"PREPARE c3 (numeric(4, 1)) AS SELECT $1", "PREPARE ? (numeric(? ...)) AS SELECT $1", "4|1"}, {"EXECUTE c3(2)", "EXECUTE c3(?)", "2"},
		{"PREPARE TRANSACTION 'a'", "PREPARE TRANSACTION ?", "'a'"},
	} {
		s := q.statements(c.text, false)[0]
		if got := strings.Join(s.Values, "|"); s.Shape != c.shape || got != c.values {
			t.Errorf("%s: %q with %s, want %q with %s", c.text, s.Shape, got, c.shape, c.values)
		}
	}
	if bound := bind(q.named("A 1"), fields("\x00\x00\x00\x00\x00\x00"), false); bound.statement.Shape != "INSERT INTO t VALUES (?, $1, $2)" {
		t.Errorf("the protocol executes %q", bound.statement.Shape)
	}
}
