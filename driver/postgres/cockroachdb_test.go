package postgres

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/isolation"
)

// TestCockroachDBsDialect runs the conformance suite on PostgreSQL, by statements that both know.
// Statements for sizes and abandoned sessions are PostgreSQL's; see TestCockroachDBsOwnStatements.
// The other workloads are in TestNothingIsSentThatCockroachDBLacks.
func TestCockroachDBsDialect(t *testing.T) {
	t.Parallel() // nothing that is not sequential is on this server beside it
	d := drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Unproven: true, Target: target(t, inDialect), Secret: secret, MakeForeign: makeForeign,
		Others: func(workload string) []drivertest.Other { return othersPlainly(others("assay_" + workload)) }}
	drivertest.RunStore(t, d)
	drivertest.ShortRuns(t, d.Target, slices.DeleteFunc(drivertest.Supports(d.Open, d.Lacks), func(s definition.Support) bool { return s.Workload == churn.Name || readAlong(s) })...)
	t.Run("serializable, without prepared statements", func(t *testing.T) {
		d.Target = at(t, "serializable", inDialect, parameter("default_query_exec_mode", "exec"))
		drivertest.RunOutcomes(t, d)
	})
}

func TestWhatCockroachDBLacks(t *testing.T) {
	begin := func(to store.Target, schema store.Schema, config definition.Config) error {
		db, err := Open(t.Context(), to, schema)
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = config.Open(t.Context(), db, 1, 1)
		return err
	}
	levels, nearest := at(t, "repeatable read", inDialect), target(t, inDialect)
	nearest.Read = store.ReadNearest
	transactions, reads, rows, packed := isolation.Defaults(), availability.Defaults(), churn.Defaults(), candles.Defaults()
	packed.Engine = "lz4"
	for name, c := range map[string]struct {
		err    error
		option string
		want   string
	}{
		"churn":           {begin(target(t, inDialect), churn.Schema(), &rows), "dialect", "gc.ttlseconds"},
		"repeatable read": {begin(levels, isolation.Schema(), &transactions), "isolation level", "read committed, serializable"},
		"another reader":  {begin(nearest, availability.Schema(), &reads), "--read", "primary"},
		"compression":     {begin(target(t, inDialect), candles.Schema(), &packed), "--engine", "pebble"},
	} {
		var refused *store.OptionError
		if !errors.As(c.err, &refused) || refused.Option != c.option || !strings.Contains(refused.Want, c.want) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	to := target(t, inDialect, parameter("default_transaction_isolation", "repeatable read"))
	if err := begin(to, isolation.Schema(), &transactions); err == nil || !strings.Contains(err.Error(), "--isolation") {
		t.Errorf("of a default of which nothing is known: %v", err)
	}
	b := openBank(t, target(t, inDialect))
	defer b.Close()
	if members, unreachable, err := b.Replicas(t.Context()); len(members)+len(unreachable) != 0 || err != nil {
		t.Errorf("replicas %v, %v, %v", members, unreachable, err)
	}
}

func TestWhatCockroachDBPromises(t *testing.T) {
	for level, want := range map[string]string{
		"read committed": "read-committed", "serializable": "serializable", "repeatable read": "", "snapshot": "",
	} {
		if got, err := promised(cockroachdb(), level); got != want || (err == nil) != (want != "") {
			t.Errorf("%s promises %q, %v; want %q", level, got, err, want)
		}
	}
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	two := host(u.Host + "," + u.Host[:strings.LastIndex(u.Host, ":")] + ":1")
	for want, to := range map[string]store.Target{
		store.Linearizable: target(t, two, inDialect), "": target(t, two),
	} {
		db := openAvailability(t, to)
		if got := db.Promises().Reads; got != want {
			t.Errorf("over two hosts %q is promised, want %q", got, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// refuse makes a function of a schema raise this code.
func refuse(t *testing.T, schema, code string) {
	t.Helper()
	exec(t, admin(t), `CREATE OR REPLACE FUNCTION `+schema+`.refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'restart transaction: as told' USING ERRCODE = '`+code+`'; END $$`)
}

// TestErrorsOfAStatementAlone: in CockroachDB the failed step may have been the commit.
func TestErrorsOfAStatementAlone(t *testing.T) {
	const failed, unknown = history.Failed, history.Unknown
	for name, outcomes := range map[string]map[string]history.Outcome{
		"postgresql":  {"40001": failed, "40003": unknown, "40P01": failed, "57014": failed, "XX000": failed, "23505": failed},
		"cockroachdb": {"40001": failed, "40003": unknown, "40P01": failed, "57014": unknown, "XX000": unknown, "23505": failed},
	} {
		opened := openAvailability(t, target(t, parameter("dialect", name)))
		expect.NoError(t, opened.Create(t.Context(), store.Marker{Workload: "availability"}))
		for code, want := range outcomes {
			refuse(t, "assay_availability", code)
			exec(t, admin(t), `CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON assay_availability.entry
				FOR EACH ROW EXECUTE FUNCTION assay_availability.refuse()`)
			session := drivertest.OpenRecords(t, opened)
			r := session.Add(t.Context(), 1)
			if session.Close(); r.Outcome != want || code == "40001" && r.Class != store.ClassSerialization {
				t.Errorf("%s, %s: %+v; want %v", name, code, r, want)
			}
		}
		exec(t, admin(t), `DROP FUNCTION assay_availability.refuse() CASCADE`)
		if err := errors.Join(opened.Drop(t.Context()), opened.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestErrorsInATransaction, of a statement and of COMMIT.
func TestErrorsInATransaction(t *testing.T) {
	const failed, unknown = history.Failed, history.Unknown
	d := sitDown(t, target(t, inDialect))
	refuse(t, "assay_isolation", "40001")
	for kind, outcomes := range map[string]map[string]history.Outcome{
		"TRIGGER refuse BEFORE INSERT ON assay_isolation.register": {"40001": failed, "40003": failed, "57014": failed},
		"CONSTRAINT TRIGGER refuse AFTER INSERT ON assay_isolation.register DEFERRABLE INITIALLY DEFERRED": {
			"40001": failed, "40003": unknown, "57014": unknown, "23505": failed},
	} {
		exec(t, admin(t), `CREATE `+kind+` FOR EACH ROW EXECUTE FUNCTION assay_isolation.refuse()`)
		for code, want := range outcomes {
			refuse(t, "assay_isolation", code)
			s := d.session()
			r := s.Do(d.ctx, []isolation.Op{{Kind: isolation.Write, Key: 1, Value: 1}})
			if r.Outcome != want || r.Broken != (want == unknown) || code == "40001" && r.Class != store.ClassSerialization {
				t.Errorf("%s, %s: %+v; want %v", kind[:10], code, r, want)
			}
			s.Close()
		}
		exec(t, admin(t), `DROP TRIGGER refuse ON assay_isolation.register`)
	}
	exec(t, admin(t), `DROP FUNCTION assay_isolation.refuse()`)
}

// TestLoadedInBatches: each INSERT of a load is a transaction of its own.
func TestLoadedInBatches(t *testing.T) {
	opened := openBank(t, target(t, inDialect))
	accounts := make([]bank.Account, 2*loadRows+50)
	for i := range accounts {
		accounts[i] = bank.Account{ID: int64(i + 1), Balance: 7}
	}
	err := opened.Create(t.Context(), store.Marker{Workload: "bank"})
	if err == nil {
		err = opened.LoadAccounts(t.Context(), accounts)
	}
	expect.NoError(t, err)
	var rows, transactions, most int
	err = admin(t).QueryRow(t.Context(), `SELECT sum(n)::int, count(*), max(n) FROM
		(SELECT count(*) AS n FROM assay_bank.account GROUP BY xmin::text) AS each`).Scan(&rows, &transactions, &most)
	if err != nil || rows != len(accounts) || transactions != 3 || most != loadRows {
		t.Errorf("%d rows in %d transactions of at most %d, %v", rows, transactions, most, err)
	}
	if err := opened.LoadAccounts(t.Context(), accounts[:1]); !hasCode(err, codeUniqueViolation) {
		t.Errorf("loaded twice: %v", err)
	}
	expect.NoError(t, opened.Drop(t.Context()), opened.Close())
}

// TestCandlesOverSeveralStatements writes more rows than one statement takes, in one transaction.
func TestCandlesOverSeveralStatements(t *testing.T) {
	opened := openOf(t, target(t, inDialect), candles.Schema())
	expect.NoError(t, opened.Create(t.Context(), store.Marker{Workload: "candles"}))
	session, err := opened.Session(t.Context(), nil)
	expect.NoError(t, err)
	batch := make([]candles.Candle, 2*maxInserted+1)
	for i := range batch {
		batch[i].ID = int64(i)
	}
	batch[len(batch)-1].ID = 0 // is there already
	if r := candles.Insert(t.Context(), session, batch); r.Outcome != history.Failed || r.Class != store.ClassDuplicate || r.Broken {
		t.Errorf("with a row twice: %+v", r)
	}
	batch = batch[:len(batch)-1]
	if r := candles.Insert(t.Context(), session, batch[:maxInserted+1]); r.Outcome != history.Committed || r.Broken {
		t.Errorf("got %+v", r)
	}
	var rows, transactions int
	err = admin(t).QueryRow(t.Context(), `SELECT count(*), count(DISTINCT xmin::text) FROM assay_candles.candle`).Scan(&rows, &transactions)
	if err != nil || rows != maxInserted+1 || transactions != 1 {
		t.Errorf("%d rows in %d transactions, %v", rows, transactions, err)
	}
	session.Close()
	expect.NoError(t, opened.Drop(t.Context()), opened.Close())
}

// readAlong reports whether a workload's rows have no random texts, in which anything may stand.
func readAlong(s definition.Support) bool {
	return slices.Contains([]string{bank.Name, isolation.Name, availability.Name, candles.Name, bulkupdate.Name}, s.Workload)
}

// TestNothingIsSentThatCockroachDBLacks reads along with the workloads, except the statements for
// sizes and abandoned sessions, which are PostgreSQL's here.
func TestNothingIsSentThatCockroachDBLacks(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	proxy := drivertest.NewProxy(t, u.Host)
	proxy.Record()
	ctx := expect.Patiently(t)
	to := target(t, host(proxy.Addr()), inDialect)
	sent := func(lacking ...string) string {
		text := strings.ToLower(proxy.Sent())
		for _, l := range lacking {
			if strings.Contains(text, l) {
				t.Errorf("%q was sent", l)
			}
		}
		return text
	}
	b := openBank(t, to)
	_, err = b.Describe(ctx)
	_, _, replicas := b.Replicas(ctx)
	expect.NoError(t, err, replicas, b.Create(ctx, store.Marker{Workload: bank.Name}), b.FinishLoad(ctx), b.Drop(ctx), b.Close())
	k := openOf(t, to, bulkupdate.Schema())
	counting, is := store.As[store.Counting](k)
	if !is {
		t.Fatal("it does not tell of waits")
	}
	_, err = counting.Waits(ctx)
	expect.NoError(t, err, k.Close())
	sent("pg_stat_", "pg_table_size")
	drivertest.ShortRuns(t, to, slices.DeleteFunc(drivertest.Supports(Open, sqldb.Lacks()), func(s definition.Support) bool { return !readAlong(s) })...)
	all := sent("copy", "vacuum", "fillfactor", "compression", "pg_is_in_recovery", "_lsn", "lsn()", "synchronous_commit", "repeatable read",
		"add constraint", "inet_server", "xmin", "advisory", "unnest", "dialect")
	for _, needed := range []string{"create table assay_isolation.list", "analyze assay_bank.account", "analyze assay_candles.candle", "insert into assay_bulkupdate.document"} {
		if !strings.Contains(all, needed) {
			t.Errorf("%q was not sent; the proxy does not see what goes over it", needed)
		}
	}
}
