package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/workload/replay/recording"
	"assay/workload/replay/serverlog"
)

func captured(t *testing.T, log string, o Options) (*recording.Head, string) {
	t.Helper()
	o.Folder = t.TempDir()
	var out bytes.Buffer
	head, err := Write(t.Context(), strings.NewReader(log), o, &out)
	expect.NoError(t, err)
	return head, out.String()
}

func realLog(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../serverlog/testdata/" + name)
	expect.NoError(t, err)
	return string(text)
}

func TestNoPasswordGetsIntoARecording(t *testing.T) {
	for _, name := range []string{"postgres-dur.log", "postgres-dur.csv", "postgres-dur.json", "postgres-all.log", "postgres-all.csv", "mariadb.log"} {
		log := realLog(t, name)
		if !strings.Contains(log, "hunter") {
			t.Fatalf("%s has no password, and so tests nothing", name)
		}
		head, text := captured(t, log, Options{})
		if strings.Contains(text, "hunter") || head.LeftOut[Secrets] == 0 {
			t.Errorf("%s: a password is in the recording, or none was left out: %v", name, head.LeftOut)
		}
	}
	const line = "2026-11-26 21:38:44.100 UTC [1] LOG:  "
	_, text := captured(t, line+"execute <unnamed>: select $1\n2026-11-26 21:38:44.100 UTC [1] DETAIL:  parameters: $1 = 'password=hunter2'\n"+line+"statement: select 1\n", Options{})
	if strings.Contains(text, "hunter2") {
		t.Errorf("the password of a parameter is in %s", text)
	}
}

// TestAColumnsNameIsNoPassword: what is done with a column that is called password is replayed.
func TestAColumnsNameIsNoPassword(t *testing.T) {
	log := ""
	for _, text := range []string{"select password from users", "update users set password = 'hash' where id = 1", "alter user bob password 'hunter2'"} {
		log += "2026-11-26 21:38:44.100 UTC [1] LOG:  duration: 0.1 ms  statement: " + text + "\n"
	}
	head, text := captured(t, log, Options{})
	if head.Statements != 2 || head.LeftOut[Secrets] != 1 || strings.Contains(text, "hunter2") || !strings.Contains(text, "'hash'") {
		t.Errorf("%+v:\n%s", head, text)
	}
}

func TestTheHeadCountsWhatIsThere(t *testing.T) {
	for _, name := range []string{"postgres-dur.log", "postgres-all.json", "mariadb.log"} {
		head, text := captured(t, realLog(t, name), Options{Names: []string{name}})
		r := recording.NewReader(name, strings.NewReader(text), 0, 1, 4096)
		_, err := r.Head()
		expect.NoError(t, err)
		var sessions, statements, timed, failed int64
		for {
			var record recording.Record
			if r.Next(&record) != nil {
				break
			}
			switch {
			case record.Connect != nil:
				sessions++
			case record.Text != "":
				statements++
				if record.Took != nil {
					timed++
				}
				if record.Error != "" {
					failed++
				}
			}
		}
		if sessions != head.Sessions || statements != head.Statements || timed != head.Timed || failed != head.Failed || statements == 0 {
			t.Errorf("%s has %d sessions, %d statements, %d timed, %d failed; the head says %+v", name, sessions, statements, timed, failed, head)
		}
	}
}

// TestATransactionWithoutItsBeginning: what came before the first COMMIT of a session that was there
// before the log is the rest of a transaction.
func TestATransactionWithoutItsBeginning(t *testing.T) {
	log := ""
	for i, text := range []string{"update a set b = 1", "update a set b = 2", "commit", "begin", "update a set b = 3", "commit", "rollback"} {
		log += fmt.Sprintf("2026-11-26 21:38:44.%d UTC [1] LOG:  duration: 0.001 ms  statement: %s\n", 100+i, text)
	}
	head, text := captured(t, log, Options{})
	if head.LeftOut[Headless] != 3 || head.Statements != 4 || head.Transactions != 1 || strings.Contains(text, "b = 2") || !strings.Contains(text, "b = 3") {
		t.Errorf("left out %v, %d statements in %d transactions:\n%s", head.LeftOut, head.Statements, head.Transactions, text)
	}
}

func TestOneDatabaseOrUser(t *testing.T) {
	log := ""
	for i, name := range []string{"shop", "other"} {
		for _, text := range []string{"connection received: host=[local]", "connection authorized: user=" + name + "r database=" + name, "duration: 0.1 ms  statement: select '" + name + "'"} {
			log += fmt.Sprintf("2026-11-26 21:38:44.100 UTC [%d] LOG:  %s\n", i, text)
		}
	}
	for _, o := range []Options{{Database: "shop"}, {User: "shopr"}, {User: "shopr", Database: "shop"}} {
		head, text := captured(t, log, o)
		if head.Sessions != 1 || head.Statements != 1 || head.LeftOut[Elsewhere] != 1 || strings.Contains(text, "'other'") || !strings.Contains(text, "'shop'") {
			t.Errorf("%+v: %+v\n%s", o, head, text)
		}
	}
	// Where the prefix does not say whether a word is a user, no session is the user's, and the
	// error says why.
	log = strings.Repeat("2026-11-26 21:38:44.100 UTC [1] shop LOG:  duration: 0.1 ms  statement: select 1\n", 3)
	_, err := Write(t.Context(), strings.NewReader(log), Options{User: "shop", Folder: t.TempDir()}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), Elsewhere) || !strings.Contains(err.Error(), "--prefix") {
		t.Errorf("a user whom the log may not name: %v", err)
	}
}

func TestLogsWithoutStatements(t *testing.T) {
	var out bytes.Buffer
	_, err := Write(t.Context(), strings.NewReader("2026-11-26 21:38:44.100 UTC [1] LOG:  checkpoint starting: time\n"), Options{Folder: t.TempDir()}, &out)
	if wrong := (*serverlog.FormatError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "log_min_duration_statement") || out.Len() > 0 {
		t.Errorf("error %v, written %q", err, out.String())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, strings.NewReader(realLog(t, "postgres-dur.log")), Options{Folder: t.TempDir()}, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("a capture that was ended: %v", err)
	}
}
