package serverlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"assay/internal/expect"
)

// eventsOf are the events of a log as lines: kind, session, text with its parameters, what the
// server answered. duration and code say whether these are part of it.
func eventsOf(t *testing.T, text []byte, o Options, duration, code bool) (all []string, of *Log) {
	t.Helper()
	log, err := Open(bytes.NewReader(text), o)
	expect.NoError(t, err)
	last := map[int64]int64{}
	expect.NoError(t, log.Events(func(e *Event) error {
		line := fmt.Sprintf("%d %d %s %s@%s %q %s", e.Kind, e.Session, e.Rejected, e.User, e.Database, e.Text, e.Prepared)
		for _, p := range e.Parameters {
			if p == nil {
				line += " NULL"
			} else {
				line += fmt.Sprintf(" %q", *p)
			}
		}
		if e.Error != "" {
			line += " !" + strings.TrimSuffix(e.Error, " at character 8")
		}
		if duration {
			line += fmt.Sprint(" ", e.Duration)
		}
		if code {
			line += " " + e.Code
		}
		if e.At < last[e.Session] {
			t.Errorf("session %d goes back in time at %s", e.Session, line)
		}
		last[e.Session] = e.At + max(e.Duration, 0)
		all = append(all, line)
		return nil
	}))
	return all, log
}

// bySession brings the events of a session together: the forms of a log may have lines of two
// processes in another order.
func bySession(events []string) {
	slices.SortStableFunc(events, func(a, b string) int { return cmp.Compare(strings.Fields(a)[1], strings.Fields(b)[1]) })
}

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	expect.NoError(t, err)
	return text
}

// One server wrote each of these logs in all three forms (PostgreSQL 15), once with
// log_min_duration_statement = 0 and once with log_statement = all and log_duration = on.
func TestTheFormsOfOneLogAgree(t *testing.T) {
	for _, name := range []string{"postgres-dur", "postgres-all"} {
		csv, of := eventsOf(t, testdata(t, name+".csv"), Options{}, true, true)
		json, _ := eventsOf(t, testdata(t, name+".json"), Options{}, true, true)
		bySession(csv)
		bySession(json)
		if of.Format != CSV || strings.Join(csv, "\n") != strings.Join(json, "\n") {
			t.Errorf("%s: csvlog and jsonlog differ:\n%s\n---\n%s", name, strings.Join(csv, "\n"), strings.Join(json, "\n"))
		}
		csv, _ = eventsOf(t, testdata(t, name+".csv"), Options{}, true, false)
		lines, from := eventsOf(t, testdata(t, name+".log"), Options{}, true, false)
		if from.Format != Stderr || len(lines) != len(csv) {
			t.Fatalf("%s: %s has %d events, csvlog %d", name, from.Format, len(lines), len(csv))
		}
		bySession(lines)
		bySession(csv)
		for i := range lines {
			if lines[i] != csv[i] {
				t.Errorf("%s, event %d:\nstderr %s\ncsvlog %s", name, i, lines[i], csv[i])
			}
		}
	}
}

func TestWhatALogTells(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"postgres-dur.log", `2 1  @ "select 'multi\n\tline', $$x$$;"`},
		{"postgres-dur.log", `2 1  @ "insert into pgbench_branches values (1,1,'');"  !duplicate key value violates unique constraint "pgbench_branches_pkey"`},
		{"postgres-dur.log", `2 1  @ "select 2;"  !current transaction is aborted, commands ignored until end of transaction block`},
		{"postgres-dur.log", `2 1 ` + NoParameters + ` @ "select $1;"  !there is no parameter $1`},
		{"postgres-dur.log", `2 3  @ "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2;" P_1 "`},
		{"postgres-dur.log", `1 3  postgres@bench ""`},
		{"postgres-dur.log", `3 3  @ ""`},
		{"postgres-all.csv", `2 8  @ "select $1 / 0;"  "5" !division by zero 22012`},
		{"postgres-all.csv", `2 0 ` + NoConnection},
		{"mariadb.log", `2 1  @ "insert into a values (1,'x'),(2,'it''s\ntwo lines')"`},
		{"mariadb.log", "2 1  @ \"USE `shop`\""},
		{"mariadb.log", `1 1  root@ ""`},
	} {
		all, _ := eventsOf(t, testdata(t, c.file), Options{}, false, strings.HasSuffix(c.file, "csv"))
		found := false
		for _, line := range all {
			found = found || strings.HasPrefix(line, c.want)
		}
		if !found {
			t.Errorf("%s has no %s among\n%s", c.file, c.want, strings.Join(all, "\n"))
		}
	}
}

// What the text of an EXECUTE has is replayed once: MariaDB logs it again with its values.
func TestAnExecuteIsOneStatement(t *testing.T) {
	all, _ := eventsOf(t, testdata(t, "mariadb.log"), Options{}, false, false)
	if text := strings.Join(all, "\n"); strings.Contains(text, "where id=1\\\"") || strings.Contains(text, "select * from a where id=1") || !strings.Contains(text, "execute s using @x") {
		t.Errorf("events\n%s", text)
	}
}

func TestPrefixes(t *testing.T) {
	const stamp = "2026-11-26 21:38:44"
	for _, c := range []struct{ given, line, user, database, session string }{
		{"", stamp + ".123 UTC [77] ", "", "", "77"},
		{"", stamp + ".123 CET [77] shop@orders ", "shop", "orders", "77"},
		{"", stamp + " UTC:10.0.0.5(51017):shop@orders:[77]:", "shop", "orders", "77"},
		{"", stamp + " UTC [77]: [3-1] user=shop,db=orders,app=my app,client=10.0.0.5 ", "shop", "orders", "77"},
		{"", stamp + ".123 +03|shop|orders|6558a3.4d|", "shop", "orders", "6558a3.4d"},
		{"", stamp + " GMT-6558a3.4d-", "", "", "6558a3.4d"},
		{"", "1764193124.123 [77] ", "", "", "77"},
		{"%u/%d %p <%m> ", "shop/orders 77 <" + stamp + ".123 UTC> ", "shop", "orders", "77"},
		{"%m %10u %-6p%%", stamp + ".123 UTC       shop 77    %", "shop", "", "77"},
	} {
		log := ""
		for i := range 3 {
			log += c.line + fmt.Sprintf("LOG:  duration: 0.5 ms  statement: select %d\n", i)
		}
		user, session := "", ""
		l, err := Open(strings.NewReader(log), Options{Prefix: c.given})
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
			continue
		}
		f, severity, rest, ok := l.prefix.match(strings.SplitN(log, "\n", 2)[0])
		user, session = f.user, f.session
		if !ok || severity != "LOG" || rest != "duration: 0.5 ms  statement: select 0" || user != c.user || session != c.session || f.database != c.database {
			t.Errorf("%q as %q: %v, user %q, database %q, session %q, %s %q", c.line, l.prefix.format, ok, user, f.database, session, severity, rest)
		}
	}
	for _, wrong := range []string{"%m ", "[%p] ", "%m [%p] %z", "%m [%p] %"} {
		if _, err := compile(wrong); err == nil {
			t.Errorf("the prefix %q is taken", wrong)
		}
	}
	_, err := Open(strings.NewReader("LOG:  duration: 1 ms  statement: select 1\n"), Options{})
	if wrong := (*FormatError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "--prefix") {
		t.Errorf("a log without a prefix: %v", err)
	}
}

func TestTimesOfZones(t *testing.T) {
	var c clock
	want, _, _, _ := c.read("2026-11-26 21:38:44.123 UTC")
	for _, text := range []string{"2026-11-26 22:38:44.123 +01", "2026-11-27 03:08:44.123 +05:30", "2026-11-26T21:38:44.123Z", "2026-11-26T22:38:44.123+01:00"} {
		if at, n, _, ok := c.read(text); !ok || at != want || n != len(text) {
			t.Errorf("%s is %d of %d bytes, %v; want %d", text, at, n, ok, want)
		}
	}
	if _, _, _, ok := c.read("2026-13-26 21:38:44.123 UTC"); ok {
		t.Error("a thirteenth month is taken")
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct{ detail, want string }{
		{"parameters: $1 = '123', $2 = NULL, $3 = 'it''s, $4 = ''x'''", `"123" NULL "it's, $4 = 'x'"`},
		{"Parameters: $1 = 'a\nb'", `"a\nb"`},
		{"parameters: $1 = 'abc...", "none"},
		{"parameters: $1 = 'abc'...", "none"},
		{"prepare: select 1", "none"},
	} {
		got := "none"
		if all := parametersOf(c.detail); all != nil {
			var parts []string
			for _, p := range all {
				if p == nil {
					parts = append(parts, "NULL")
				} else {
					parts = append(parts, fmt.Sprintf("%q", *p))
				}
			}
			got = strings.Join(parts, " ")
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.detail, got, c.want)
		}
	}
}

// A log that begins and ends in the middle of things.
func TestTheEdgesOfALog(t *testing.T) {
	const at = "2026-11-26 21:38:44."
	log := at + "100 UTC [1] LOG:  duration: 5000.0 ms  statement: select 'long'\n" +
		at + "100 UTC [2] LOG:  duration: 7.5 ms\n" +
		at + "100 UTC [2] LOG:  duration: 0.5 ms\n" +
		at + "200 UTC [3] LOG:  execute S_1: select $1\n" +
		at + "210 UTC [3] LOG:  execute fetch from S_1/C_1: select 5\n" +
		at + "300 UTC [4] LOG:  statement: select 'last'\n" +
		at + "400 UTC [5] ERROR:  canceling autovacuum task\n" +
		at + "400 UTC [6] LOG:  fastpath function call: \"lo_open\" (OID 952)\n" +
		"garbage that begins no message\n"
	all, _ := eventsOf(t, []byte(log), Options{}, false, false)
	want := []string{
		`1 1  @ "" `, `2 1 ` + RunningAtStart + ` @ "select 'long'" `, `1 2  @ "" `, `2 2 ` + RunningAtStart + ` @ "" `,
		`1 3  @ "" `, `2 3 ` + NoParameters + ` @ "select $1" S_1`, `2 3 ` + Fetches + ` @ "select 5" `, `1 4  @ "" `, `2 4  @ "select 'last'" `, `1 5  @ "" `, `2 5 ` + FunctionCalls + ` @ "" `,
	}
	if strings.Join(all, "\n") != strings.Join(want, "\n") {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}

// A process id that comes again is another session.
func TestAProcessIdComesAgain(t *testing.T) {
	const at = "2026-11-26 21:38:44."
	log := ""
	for i, text := range []string{"connection received: host=[local]", "connection authorized: user=a database=b", "duration: 0.1 ms  statement: select 1",
		"connection received: host=[local]", "replication connection authorized: user=r", "received replication command: IDENTIFY_SYSTEM",
		"connection received: host=[local]", "connection authorized: user=c database=d application_name=x", "duration: 0.1 ms  statement: select 2"} {
		log += fmt.Sprintf("%s%d UTC [9] LOG:  %s\n", at, 100+i, text)
	}
	all, _ := eventsOf(t, []byte(log), Options{}, false, false)
	want := []string{`1 1  a@b "" `, `2 1  @ "select 1" `, `3 1  @ "" `, `2 2 ` + Replication + ` @ "" `, `1 3  c@d "" `, `2 3  @ "select 2" `}
	if strings.Join(all, "\n") != strings.Join(want, "\n") {
		t.Errorf("events\n%s", strings.Join(all, "\n"))
	}
}

func TestMySQLsOwnTimes(t *testing.T) {
	log := "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\nTcp port: 3306  Unix socket: /s\nTime                 Id Command    Argument\n" +
		"2026-11-26T21:38:44.123456Z\t    8 Connect\tapp@10.0.0.5 on shop using TCP/IP\n" +
		"2026-11-26T21:38:44.223456Z\t    8 Prepare\tselect * from t where a = ?\n" +
		"2026-11-26T21:38:44.323456Z\t    8 Execute\tselect * from t where a = 'x\n\t\ty'\n" +
		"2026-11-26T21:38:44.423456Z\t    9 Connect\tAccess denied for user 'x'@'y' (using password: YES)\n" +
		"2026-11-26T21:38:44.523456Z\t    8 Quit\t\n"
	all, of := eventsOf(t, []byte(log), Options{}, false, false)
	want := []string{`1 1  app@shop "" `, `2 1  @ "select * from t where a = 'x\n\t\ty'" `, `2 0 ` + NoConnection + ` @ "" `, `3 1  @ "" `}
	if strings.Join(all, "\n") != strings.Join(want, "\n") || of.Format != General || of.Last-of.First != 4e8 {
		t.Errorf("%s, %d ns, events\n%s", of.Format, of.Last-of.First, strings.Join(all, "\n"))
	}
}

func TestCompressedLogs(t *testing.T) {
	plain := testdata(t, "postgres-dur.log")
	var zipped, zst bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(plain)
	expect.NoError(t, err, z.Close())
	s, err := zstd.NewWriter(&zst)
	expect.NoError(t, err)
	_, err = s.Write(plain)
	expect.NoError(t, err, s.Close())
	for _, packed := range [][]byte{plain, zipped.Bytes(), zst.Bytes()} {
		r, err := Unpack(bytes.NewReader(packed))
		expect.NoError(t, err)
		log, err := Open(r, Options{})
		expect.NoError(t, err)
		n := 0
		expect.NoError(t, log.Events(func(*Event) error { n++; return nil }))
		if n != 75 {
			t.Errorf("%d events of %d bytes", n, len(packed))
		}
	}
	if _, err := Unpack(strings.NewReader("BZh91AY&SY")); err == nil {
		t.Error("bzip2 is taken for a text")
	}
}

func TestLogsThatCannotBeRead(t *testing.T) {
	csv := string(testdata(t, "postgres-dur.csv"))
	for _, c := range []struct {
		name, text, want string
		options          Options
	}{
		{"empty", " \n", "empty", Options{}},
		{"no such form", csv, "there is no form", Options{Format: "syslog"}},
		{"a prefix", csv, "a prefix belongs", Options{Prefix: "%m [%p] "}},
		{"too few columns", csv + "a,b\n" + csv, "columns", Options{}},
		{"a quote within", csv + "a,b\"c\n" + csv, "line", Options{}},
		{"no JSON", "{\"timestamp\":\"2026-11-26 21:38:44.1 UTC\",\"pid\":1}\nx\ny\n", "at line 2", Options{}},
	} {
		log, err := Open(strings.NewReader(c.text), c.options)
		if err == nil {
			err = log.Events(func(*Event) error { return nil })
		}
		if wrong := (*FormatError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	_, of := eventsOf(t, []byte(csv[:len(csv)-200]), Options{}, false, false)
	if len(of.Notes) != 1 || !strings.Contains(of.Notes[0], "ends within a line") {
		t.Errorf("a log that was cut: %q", of.Notes)
	}
}

func FuzzLog(f *testing.F) {
	for _, name := range []string{"postgres-dur.log", "postgres-dur.csv", "postgres-dur.json", "postgres-all.log", "mariadb.log"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		expect.NoError(f, err)
		f.Add(text[:min(len(text), 4000)])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := Open(bytes.NewReader(text), Options{})
		if err == nil {
			err = log.Events(func(e *Event) error {
				if e.Kind == 0 || e.Kind == Did && e.Session == 0 && e.Rejected == "" {
					t.Errorf("event %+v", e)
				}
				return nil
			})
		}
		if wrong := (*FormatError)(nil); err != nil && !errors.As(err, &wrong) {
			t.Errorf("a failure without a type: %v", err)
		}
	})
}
