package runner

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/check"
	"assay/internal/expect"
	"assay/measure"
	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
)

// shortRuns is a short run of every workload that the database serves.
func shortRuns(database string) map[string]Scenario {
	timed := func(w definition.Workload) Scenario {
		s := small(database, 3, 0)
		become(&s, w)
		s.Load.Duration, s.Load.Clients, s.Load.Timeout = 1500*time.Millisecond, 4, 2*time.Second
		return s
	}
	all := map[string]Scenario{
		churn.Name: churning(database, 3), bulkupdate.Name: bulkUpdates(database, 3), candles.Name: smallCandles(database),
	}
	for _, w := range []definition.Workload{bank.Definition(), isolation.Definition(), availability.Definition(), entity.Definition()} {
		all[w.Name] = timed(w)
	}
	in := all[availability.Name]
	in.Load.Rate, in.Load.Arrivals = 100, availability.LoadDefaults().Arrivals
	in.Plan()
	all[availability.Name] = in
	driver, err := catalog.DriverFor(database)
	for name := range all {
		if err != nil || driver.Support(name).Open == nil {
			delete(all, name)
		}
	}
	return all
}

// intruder disturbs the database once, at a stage of the run or after a second of work.
type intruder struct {
	diary
	once  sync.Once
	stage string // "" for the work
	act   func()
}

func (i *intruder) Stage(text string) {
	i.diary.Stage(text)
	if i.stage != "" && strings.HasPrefix(text, i.stage) || i.stage == "" && strings.HasPrefix(text, "round 2") {
		i.once.Do(i.act)
	}
}

func (i *intruder) Rows(done, total int64) {
	if i.stage == "rows" && done > 0 {
		i.once.Do(i.act)
	}
}

func (i *intruder) Working(time.Duration, bool, measure.Snapshot) {
	if i.stage == "" {
		i.once.Do(i.act)
	}
}

func intrusions() map[string]func(ctx context.Context, other definition.Work, name string) error {
	return map[string]func(context.Context, definition.Work, string) error{
		"dropped": func(ctx context.Context, other definition.Work, _ string) error {
			return regardless(ctx, other, func() error { return other.Drop(ctx) })
		},
		"replaced": func(ctx context.Context, other definition.Work, name string) error {
			return regardless(ctx, other, func() error {
				return other.Create(ctx, store.Marker{Run: "another", Workload: name, Rows: 1})
			})
		},
	}
}

// regardless ignores leases and leaves none.
func regardless(ctx context.Context, other definition.Work, do func() error) error {
	left, err := other.Lease(ctx)
	if err != nil {
		return err
	}
	stranger := lease.NewHolder("another")
	if left != nil {
		if err := other.TakeLease(ctx, stranger, lease.TTL, left.Token); err != nil {
			return err
		}
	}
	return errors.Join(do(), other.ReleaseLease(ctx, stranger.Token))
}

// mustNotConvict disturbs a run, which must end without a verdict and say why, also when judged
// again.
func mustNotConvict(t *testing.T, s Scenario, stage string, act func()) {
	t.Helper()
	progress := &intruder{stage: stage, act: act}
	out, err := Run(t.Context(), s, Options{Version: "test", Out: filepath.Join(t.TempDir(), "run"), Progress: progress})
	if held := (*store.HeldError)(nil); errors.As(err, &held) {
		return // the run renewed its lease just then, and found it taken: exit code 5
	}
	if replaced := (*lease.ReplacedError)(nil); errors.As(err, &replaced) && replaced.By != "" {
		return // another run's mark is there: exit code 5
	}
	if err != nil { // a round that could not begin: exit code 5
		if len(progress.stages) == 0 || !strings.HasPrefix(progress.stages[len(progress.stages)-1], "round ") {
			t.Error(err)
		}
		return
	}
	endedAs(t, check.Unknown, out)
	if notes := strings.Join(out.Result.Notes, "\n"); !strings.Contains(notes, noteNotRead) {
		t.Errorf("no note says that it could not be read back: %s", notes)
	}
}

// intrude replaces the bank, or the chosen workloads, in every way at these stages.
func intrude(t *testing.T, database func(t *testing.T) string, meant func(name, stage string) bool, stages ...string) {
	for _, stage := range stages {
		for deed, do := range intrusions() {
			for name, s := range shortRuns(database(t)) {
				if name != bank.Name && ((stage == "") == (deed == "dropped") || !meant(name, stage)) {
					continue // much like those of the bank
				}
				at := stage
				if at == "" {
					at = "work"
				}
				t.Run(name+" "+deed+" at "+at, func(t *testing.T) {
					s.Database = database(t)
					s.ConnectTimeout = time.Minute // for the server of a busy machine
					other, err := openWork(t.Context(), s, s.Database, 0)
					for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); {
						other, err = openWork(t.Context(), s, s.Database, 0)
					}
					expect.NoError(t, err)
					defer other.Close()
					mustNotConvict(t, s, stage, func() {
						err := do(t.Context(), other, name)
						if err != nil && !strings.Contains(err.Error(), "NamespaceExists") { // the clients were faster
							t.Errorf("%s: %v", deed, err)
						}
					})
				})
			}
		}
	}
}

const atReading = "reading everything back"

// TestASchemaThatSomebodyElseReplaces: a schema dropped, or made anew, before the reading convicts
// nobody. During the work SQLite itself prevents that.
func TestASchemaThatSomebodyElseReplaces(t *testing.T) {
	t.Parallel()
	intrude(t, func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "file") },
		func(string, string) bool { return true }, atReading)
}

// TestAFileThatIsRemoved convicts nobody either.
func TestAFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	for name := range shortRuns("sqlite:file") {
		for _, stage := range []string{"", "waiting", "reading"} {
			if name != bank.Name && stage != "reading" {
				continue // much like those of the bank
			}
			path := filepath.Join(t.TempDir(), "file")
			s := shortRuns("sqlite:" + path)[name]
			if stage != "" {
				s.Load.Duration = min(s.Load.Duration, 500*time.Millisecond) // it is enough for rows in each table
			}
			mustNotConvict(t, s, stage, func() {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestServers disturbs runs on one cluster of each product. Cassandra is left alone under load:
// some threads keep dropped tables. One node serves where an election, as on a slow machine, would
// end runs. What a workload does is in the runs on SQLite, and at work in those on PostgreSQL.
func TestServers(t *testing.T) {
	for _, servers := range []struct {
		spec     string
		replaced []string // at these stages
	}{
		{"postgres:1", []string{"", atReading}},
		{"cassandra:1,heap=512MiB", []string{atReading}},
		{"mariadb:1", []string{"", atReading}},
		{"redis:1,appendfsync=always", []string{"", atReading}},
		{"mongodb:1,shutdown=100ms", []string{"", atReading}},
	} {
		t.Run(servers.spec, func(t *testing.T) {
			t.Parallel() // they mostly wait
			c := onServers(t, servers.spec)
			silence(t, c, *trustGone || strings.HasPrefix(servers.spec, "postgres"))
			t.Run("Replaced", func(t *testing.T) {
				intrude(t, func(t *testing.T) string {
					switch scheme, _, _ := strings.Cut(c.Address(), "://"); scheme {
					case "mongodb":
						dropAll(t, c.Address())
					case "redis":
						flushAll(t, c.Node("n1").Address())
					}
					return c.Address()
				}, func(name, stage string) bool {
					return stage == "" && strings.HasPrefix(servers.spec, "postgres") || name == entity.Name && strings.HasPrefix(servers.spec, "cassandra")
				}, servers.replaced...)
			})
		})
	}
}

// dropAll removes what clients wrote after their schema and its mark were dropped: MongoDB remakes
// a collection at an insert.
func dropAll(t *testing.T, address string) {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	expect.NoError(t, err)
	for name := range shortRuns(address) {
		if err := client.Database("assay_" + name).Drop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := client.Disconnect(t.Context()); err != nil {
		t.Error(err)
	}
}

// flushAll removes what clients wrote after the mark was deleted: Redis refuses nothing.
func flushAll(t *testing.T, server string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server)
	expect.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "FLUSHALL\r\n")
	expect.NoError(t, err)
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "+OK\r\n" {
		t.Errorf("FLUSHALL answers %q, %v", answer, err)
	}
}

// TestATableThatSomebodyEmptiesOrDrops: the only table's missing rows convict nobody while the mark
// is there. Another table's rows, written with the missing ones, prove these existed.
func TestATableThatSomebodyEmptiesOrDrops(t *testing.T) {
	t.Parallel()
	runs := func(path string) map[string]Scenario {
		all := shortRuns("sqlite:" + path)
		for name, s := range all {
			s.Load.Duration = min(s.Load.Duration, 500*time.Millisecond) // it is enough for rows in each table
			all[name] = s
		}
		for _, w := range []definition.Workload{tpcb.Definition(), smallbank.Definition()} {
			s := small("sqlite:"+path, 3, 100)
			become(&s, w)
			all[w.Name] = s
		}
		s := all[tpcb.Name]
		s.Config.(*tpcb.Config).Accounts = 100
		s = all[smallbank.Name]
		s.Config.(*smallbank.Config).Customers, s.Config.(*smallbank.Config).Hotspot = 100, 10
		return all
	}
	for name := range runs("file") {
		path := filepath.Join(t.TempDir(), "file")
		tables := filledTables(t, runs(path)[name], path)
		for i, table := range tables {
			for _, statement := range []string{"DELETE FROM ", "DROP TABLE "}[:max(1, 2-i)] { // the first is dropped, too
				want := check.Unknown
				if len(tables) > 1 {
					want = check.Violated
				}
				path := filepath.Join(t.TempDir(), "file")
				mustEndAs(t, want, runs(path)[name], atReading, func() { execute(t, path, statement+table) })
			}
		}
	}
}

func filledTables(t *testing.T, s Scenario, path string) []string {
	t.Helper()
	carryOut(t, s)
	var filled []string
	db, err := sql.Open("sqlite", path)
	expect.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table'")
	expect.NoError(t, err)
	var tables []string
	for rows.Next() {
		var name string
		expect.NoError(t, rows.Scan(&name))
		tables = append(tables, name)
	}
	expect.NoError(t, rows.Err())
	for _, table := range tables {
		var n int64
		expect.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		if n > 0 && !strings.HasPrefix(table, "sqlite_") && !strings.HasPrefix(table, "assay_mark") && !strings.HasPrefix(table, "assay_lease") {
			filled = append(filled, table)
		}
	}
	if len(filled) == 0 {
		t.Fatalf("%s fills no table of %v", s.Workload, tables)
	}
	return filled
}

func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), statement)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

// TestAFileInPlaceOfAnother: sessions keep the moved file, so the new file's missing rows were not
// lost.
func TestAFileInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	s := small("sqlite:"+path, 3, 0)
	s.Load.Duration = 2 * time.Second
	r := carryOutBy(t, s, Options{Progress: &intruder{act: func() {
		execute(t, path, "VACUUM INTO '"+path+"-older'")
		for _, moved := range []string{path, path + "-wal", path + "-shm"} {
			expect.NoError(t, os.Rename(moved, moved+"-away"))
		}
		expect.NoError(t, os.Rename(path+"-older", path))
	}}}).Result
	if notes := strings.Join(r.Notes, "\n"); r.Verdict != check.Unknown || !strings.Contains(notes, "put another in its place") {
		t.Errorf("%v: %s; %s", r.Verdict, details(r), notes)
	}
}

// mustEndAs disturbs a run, which must have this verdict, also when judged again.
func mustEndAs(t *testing.T, want check.Verdict, s Scenario, stage string, act func()) {
	t.Helper()
	endedAs(t, want, carryOutBy(t, s, Options{Progress: &intruder{stage: stage, act: act}}))
}

func endedAs(t *testing.T, want check.Verdict, out Outcome) {
	t.Helper()
	if out.Result.Verdict != want {
		t.Errorf("%s: the verdict is %v, want %v: %s", out.Result.Workload, out.Result.Verdict, want, details(out.Result))
	}
	if again, err := Recheck(t.Context(), out.Folder, RecheckOptions{Version: "test", Progress: &diary{}}); err == nil && again.Result.Verdict != want {
		t.Errorf("%s: judged again it is %v: %s", out.Result.Workload, again.Result.Verdict, details(again.Result))
	}
}
