package postgres

import (
	"maps"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/internal/expect"
)

// TestLogin reads what a client asks for when it connects.
func TestLogin(t *testing.T) {
	for options, want := range map[string]map[string]string{
		"": {}, "-c synchronous_commit=off": {"synchronous_commit": "off"}, "  -csynchronous_commit=off --wal-writer-delay=1s": {"synchronous_commit": "off", "wal_writer_delay": "1s"},
		`-c application_name=a\ b`: {"application_name": "a b"}, "-c": {}, "nothing": {},
	} {
		message, err := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "me", "options": options}}).Encode(nil)
		expect.NoError(t, err)
		if got := login(message); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", options, got, want)
		}
	}
	message, err := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "me", "Synchronous_commit": "off"}}).Encode(nil)
	expect.NoError(t, err)
	if got := login(message); got["synchronous_commit"] != "off" || len(got) != 1 {
		t.Errorf("%v", got)
	}
}
