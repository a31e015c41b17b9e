package application

import (
	"maps"
	"testing"
	"time"

	"assay/application/wire"
	"assay/store"
	"assay/store/promise"
)

// TestSessionsAskForLess than the server gives: what they had set when the transaction was committed counts.
func TestSessionsAskForLess(t *testing.T) {
	const insert = "INSERT INTO sale VALUES (1)"
	off, unknown := map[string]string{settingCommit: "off"}, map[string]string{settingCommit: ""}
	for name, c := range map[string]struct {
		login map[string]string
		texts [][]string // each a transaction; the last is asked about
		want  map[string]string
	}{
		"nothing":                       {nil, [][]string{{insert}}, nil},
		"at login":                      {off, [][]string{{insert}}, off},
		"set":                           {nil, [][]string{{"SET synchronous_commit = off"}, {insert}}, off},
		"set, quoted":                   {nil, [][]string{{"set session SYNCHRONOUS_COMMIT to 'off'"}, {insert}}, off},
		"set, by number":                {nil, [][]string{{"SET synchronous_commit=0"}, {insert}}, off},
		"set and back":                  {nil, [][]string{{"SET synchronous_commit = off"}, {"RESET synchronous_commit"}, {insert}}, nil},
		"set and back to the login's":   {off, [][]string{{"SET synchronous_commit = on"}, {"DISCARD ALL"}, {insert}}, off},
		"for this transaction":          {nil, [][]string{{"BEGIN", "SET LOCAL synchronous_commit TO off", insert, "COMMIT"}}, off},
		"for an earlier transaction":    {nil, [][]string{{"BEGIN", "SET LOCAL synchronous_commit TO off", "COMMIT"}, {insert}}, nil},
		"within this transaction":       {nil, [][]string{{"BEGIN", "SET synchronous_commit TO off", insert, "COMMIT"}}, off},
		"called":                        {nil, [][]string{{"SELECT set_config('synchronous_commit', 'off', false)"}, {insert}}, off},
		"called for one transaction":    {nil, [][]string{{"SELECT pg_catalog.set_config('synchronous_commit', 'off', true)"}, {insert}}, nil},
		"computed":                      {nil, [][]string{{"SELECT set_config('synchronous_commit', $1, false)"}, {insert}}, unknown},
		"a word that assay cannot read": {nil, [][]string{{"ALTER FUNCTION f() SET synchronous_commit TO off"}, {insert}}, unknown},
		"looked at":                     {nil, [][]string{{"SHOW synchronous_commit"}, {"SELECT current_setting('synchronous_commit')"}, {insert}}, nil},
		"not logged":                    {nil, [][]string{{"SET SESSION sql_log_bin = 0"}, {insert}}, map[string]string{settingLog: "off"}},
		"not logged, by another name":   {nil, [][]string{{"SET @@session.sql_log_bin = OFF"}, {insert}}, map[string]string{settingLog: "off"}},
	} {
		var all []*wire.Transaction
		for i, texts := range c.texts {
			x := sold(time.Duration(10*i), true, texts...)
			x.Settings = c.login
			all = append(all, x)
		}
		foreign := sold(1, true, "SET synchronous_commit = local")
		foreign.Connection = 2
		failed := sold(2, true, "SET synchronous_commit = local")
		failed.Statements[0].Error = "42601"
		all = append([]*wire.Transaction{foreign, failed}, all...)
		if got := askedFor(all, all[len(all)-1]); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestWhatOthersAskedForExcusesNothing: a table's own storage counts, and a session's own settings.
func TestWhatOthersAskedForExcusesNothing(t *testing.T) {
	server := store.Product{Name: "PostgreSQL", Version: "15.18", Settings: []store.Setting{{Name: "synchronous_commit", Value: "on"}, {Name: "fsync", Value: "on"},
		{Name: "full_page_writes", Value: "on"}, {Name: "wal_writer_delay", Value: "200ms"}, {Name: store.SettingStoredAs + "unlogged", Value: "cache, shop.seen"}}}
	killed := promise.Fault{At: int64(10 * time.Second), Healed: int64(20 * time.Second), Kills: true, NoProcess: 1, HitPrimary: true}
	x := &wire.Transaction{Began: 9900 * time.Millisecond, Ended: 9950 * time.Millisecond}
	yes, no := true, false
	for name, c := range map[string]struct {
		lost []loss
		want *bool
	}{
		"a logged table":               {[]loss{{x, "sale", nil}}, &yes},
		"an unlogged table":            {[]loss{{x, "cache", nil}}, &no},
		"another unlogged table":       {[]loss{{x, "seen", nil}}, &no},
		"one of each":                  {[]loss{{x, "cache", nil}, {x, "sale", nil}}, &yes},
		"an asynchronous session":      {[]loss{{x, "sale", map[string]string{settingCommit: "off"}}}, &no},
		"what cannot be read":          {[]loss{{x, "sale", map[string]string{settingCommit: ""}}}, nil},
		"a session that was not heard": {[]loss{{x, "sale", map[string]string{settingLog: "off"}}}, nil},
	} {
		got := ruling(server, []promise.Fault{killed}, 1, c.lost)
		if (got.Promised == nil) != (c.want == nil) || got.Promised != nil && *got.Promised != *c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
