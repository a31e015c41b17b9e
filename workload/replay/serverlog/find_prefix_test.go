package serverlog

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// The logs are those of one PostgreSQL 15 with log_connections = on, started with each prefix in
// turn: three sessions of two users on two databases, and one of a user who is not there.
func TestThePrefixIsFound(t *testing.T) {
	for _, c := range []struct {
		file, want string
		// rivals are what the prefix may be as well, once the lines about connections are gone.
		rivals []string
	}{
		{"debian", "%m [%p] %q%u@%d ", nil},
		{"rds", "%t:%r:%u@%d:[%p]:", nil},
		{"pgbadger", "%t [%p]: user=%u,db=%d,app=%a,client=%h ", nil},
		{"cloudsql", "%m [%p]: [%l-1] db=%d,user=%u ", nil},
		{"plain", "%m [%p] ", nil},
		{"database", "%m [%p] %d ", []string{"%m [%p] %d ", "%m [%p] %u "}},
		{"user", "%m [%p] %u ", []string{"%m [%p] %d ", "%m [%p] %u "}},
		{"application", "%m [%p] %a ", []string{"%m [%p] %d ", "%m [%p] %u "}},
		{"backend", "%m [%p] %b ", nil},
		{"swapped", "%m [%p] %d %u ", []string{"%m [%p] %d %u "}},
		{"line", "%t [%p-%l] ", nil},
		{"session", "%t %c ", nil},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "prefixes", c.file+".log"))
		expect.NoError(t, err)
		all, of := eventsOf(t, text, Options{}, false, false)
		if of.Prefix != c.want || strings.Contains(strings.Join(of.Notes, "\n"), "--prefix") {
			t.Errorf("%s: the prefix is %q, want %q, with the notes %q", c.file, of.Prefix, c.want, of.Notes)
		}
		for _, want := range []string{"1 1  shop@orders", "2 1  @ \"select 'a\\n  b';\"", "!column \"missing\" does not exist", "1 2  clerk@orders", "1 3  shop@postgres", "3 3 "} {
			if !slices.ContainsFunc(all, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s has no %s among\n%s", c.file, want, strings.Join(all, "\n"))
			}
		}
		given, _ := eventsOf(t, text, Options{Prefix: c.want}, false, false)
		if !slices.Equal(all, given) {
			t.Errorf("%s is read otherwise when the prefix is given:\n%s", c.file, strings.Join(given, "\n"))
		}
		var silent []byte
		for line := range bytes.Lines(text) {
			if !bytes.Contains(line, []byte("connection")) {
				silent = append(silent, line...)
			}
		}
		log, err := Open(bytes.NewReader(silent), Options{})
		expect.NoError(t, err)
		if !slices.Equal(log.prefix.rivals, c.rivals) {
			t.Errorf("%s without connections: %q, or as well %q; want %q", c.file, log.prefix.format, log.prefix.rivals, c.rivals)
		}
		expect.NoError(t, log.Events(func(*Event) error { return nil }))
		if said := strings.Contains(strings.Join(log.Notes, "\n"), "--prefix"); said != (c.rivals != nil) {
			t.Errorf("%s without connections has the notes %q", c.file, log.Notes)
		}
	}
}
