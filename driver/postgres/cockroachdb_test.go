package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// TestCockroachDBsDialect runs the conformance suite in CockroachDB's dialect.
// The server is PostgreSQL: what is tried is the statements that both know, and
// the driver around them. Those for sizes and for abandoned sessions are
// PostgreSQL's here; see TestCockroachDBsOwnStatements.
func TestCockroachDBsDialect(t *testing.T) {
	d := drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Unproven: true, Target: target(t, inDialect), Secret: secret, MakeForeign: makeForeign,
		Others: func(workload string) []drivertest.Other { return othersPlainly(others("assay_" + workload)) }}
	drivertest.RunStore(t, d)
	supported := slices.DeleteFunc(drivertest.Supports(d.Open, d.Lacks), func(s definition.Support) bool { return s.Workload == churn.Name })
	drivertest.ShortRuns(t, d.Target, supported...)
	t.Run("serializable, without prepared statements", func(t *testing.T) {
		d.Target = at(t, "serializable", inDialect, parameter("default_query_exec_mode", "exec"))
		drivertest.RunOutcomes(t, d)
		drivertest.ShortRuns(t, d.Target, supported...)
	})
}

func TestWhatCockroachDBLacks(t *testing.T) {
	open := openers(t)
	levels := target(t, inDialect)
	levels.Isolation = "repeatable read"
	nearest := target(t, inDialect)
	nearest.Read = store.ReadNearest
	for name, c := range map[string]struct {
		err    error
		option string
		want   string
	}{
		"churn":           {open["churn"](target(t, inDialect)), "dialect", "gc.ttlseconds"},
		"repeatable read": {open["isolation"](levels), "isolation level", "read committed, serializable"},
		"another reader":  {open["availability"](nearest), "--read", "primary"},
		"compression": {func() error {
			opened := openOf(t, target(t, inDialect), candles.Schema())
			defer opened.Close()
			config := candles.Defaults()
			config.Engine = "lz4"
			_, err := candles.NewWork(t.Context(), opened, config, 1, 1)
			return err
		}(), "--engine", "pebble"},
	} {
		var refused *store.OptionError
		if !errors.As(c.err, &refused) || refused.Option != c.option || !strings.Contains(refused.Want, c.want) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	to := target(t, inDialect, parameter("default_transaction_isolation", "repeatable read"))
	if err := open["isolation"](to); err == nil || !strings.Contains(err.Error(), "--isolation") {
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

// refuse has a function of a schema raise an error of this code.
func refuse(t *testing.T, schema, code string) {
	t.Helper()
	exec(t, admin(t), `CREATE OR REPLACE FUNCTION `+schema+`.refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'restart transaction: as told' USING ERRCODE = '`+code+`'; END $$`)
}

// TestErrorsOfAStatementAlone has the server refuse a statement that is its own
// transaction. In CockroachDB it may have been the commit that failed.
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

// TestErrorsInATransaction has the server refuse a statement, and COMMIT.
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
	if err := errors.Join(opened.Drop(t.Context()), opened.Close()); err != nil {
		t.Error(err)
	}
}

// TestCandlesOverSeveralStatements writes more rows than one statement takes, in
// one transaction all the same.
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
	if err := errors.Join(opened.Drop(t.Context()), opened.Close()); err != nil {
		t.Error(err)
	}
}

// TestMadeHalfway has a creation end after the mark: what is there is ours, and
// the next creation begins anew.
func TestMadeHalfway(t *testing.T) {
	opened := openBank(t, target(t, inDialect))
	halfway := opened.below.SQL
	halfway.Derived = " nonsense" // of the second table's columns
	err := opened.below.CreateBy(t.Context(), store.Marker{Workload: "bank", Rows: 3}, &halfway)
	if err == nil {
		t.Fatal("nonsense was created")
	}
	if remains, err := opened.Find(t.Context()); err != nil || remains == nil || remains.Rows != 0 || remains.Marker.Loaded || remains.Marker.Rows != 3 {
		t.Errorf("found %+v, %v", remains, err)
	}
	expect.NoError(t, opened.Create(t.Context(), store.Marker{Workload: "bank"}))
	if remains, err := opened.Find(t.Context()); err != nil || remains == nil || remains.Marker.Rows != 0 {
		t.Errorf("found %+v, %v", remains, err)
	}
	expect.NoError(t, opened.Drop(t.Context()), opened.Close())
}

// tap passes connections on to the server and keeps what clients sent.
type tap struct {
	mu   sync.Mutex
	sent strings.Builder
}

func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.Write(b)
}

func (p *tap) listen(t *testing.T, server string) (addr string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() { listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { _, _ = io.Copy(client, upstream); client.Close() })
			all.Go(func() { _, _ = io.Copy(upstream, io.TeeReader(client, p)); upstream.Close() })
		}
	})
	return listener.Addr().String()
}

// TestNothingIsSentThatCockroachDBLacks reads along while the workloads are
// worked. Sizes and abandoned sessions are not asked for: on this server that is
// done by PostgreSQL's statements.
func TestNothingIsSentThatCockroachDBLacks(t *testing.T) {
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	wire := new(tap)
	via := host(wire.listen(t, u.Host))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	mark := func(name string) store.Marker { return store.Marker{Workload: name} }

	b := openBank(t, target(t, via, inDialect))
	expect.NoError(t, b.Create(ctx, mark("bank")), b.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 5}, {ID: 2, Balance: 5}}), b.FinishLoad(ctx))
	s, err := b.Session(ctx)
	expect.NoError(t, err)
	if r := s.Transfer(ctx, bank.Transfer{ID: 1, Source: 1, Destination: 9, Amount: 1}); r.Outcome != history.Rejected || r.Class != bank.ClassNoAccount {
		t.Errorf("to an account that is not there: %+v", r)
	}
	s.Close()
	_, err = b.AuditAll(ctx)
	expect.NoError(t, err, b.Read(ctx, func(bank.Account) error { return nil }, func(bank.Entry) error { return nil }))
	_, err = b.Describe(ctx)
	_, _, replicas := b.Replicas(ctx)
	expect.NoError(t, err, replicas, b.Drop(ctx), b.Close())

	a := openAvailability(t, target(t, via, inDialect))
	_, err = a.Describe(ctx)
	expect.NoError(t, err, a.Create(ctx, mark("availability")), a.Drop(ctx), a.Close())
	e := openOf(t, target(t, via, inDialect), entity.Schema())
	expect.NoError(t, e.Create(ctx, mark("entity")), e.Drop(ctx), e.Close())
	c := openOf(t, target(t, via, inDialect), candles.Schema())
	expect.NoError(t, c.Create(ctx, mark("candles")))
	writer, err := c.Session(ctx, nil)
	expect.NoError(t, err)
	if r := candles.Insert(ctx, writer, make([]candles.Candle, 1)); r.Outcome != history.Committed {
		t.Errorf("candles: %+v", r)
	}
	writer.Close()
	expect.NoError(t, c.FinishLoad(ctx), c.Drop(ctx), c.Close())
	k, err := Open(ctx, target(t, via, inDialect), bulkupdate.Schema())
	expect.NoError(t, err)
	expect.NoError(t, k.Create(ctx, mark("bulkupdate")), k.Load(ctx, store.RowsOf("document", bulkupdate.Columns(), []bulkupdate.Document{{ID: 1, User: 1}})), k.FinishLoad(ctx))
	counting, is := store.As[store.Counting](k)
	if !is {
		t.Fatal("it does not tell of waits")
	}
	_, err = counting.Waits(ctx)
	expect.NoError(t, err, k.Drop(ctx), k.Close())
	i, err := Open(ctx, target(t, via, inDialect), isolation.Schema())
	expect.NoError(t, err)
	expect.NoError(t, i.Create(ctx, mark("isolation")), i.Drop(ctx), i.Close())

	wire.mu.Lock()
	defer wire.mu.Unlock()
	sent := strings.ToLower(wire.sent.String())
	for _, lacking := range []string{
		"copy", "vacuum", "fillfactor", "compression", "pg_stat_", "pg_is_in_recovery", "_lsn", "lsn()", "pg_table_size",
		"synchronous_commit", "repeatable read", "add constraint", "inet_server", "xmin", "advisory", "lock_timeout", "unnest", "dialect",
	} {
		if strings.Contains(sent, lacking) {
			t.Errorf("%q was sent", lacking)
		}
	}
	for _, needed := range []string{"create table assay_isolation.list", "analyze assay_bank.account", "analyze assay_candles.candle", "insert into assay_bulkupdate.document"} {
		if !strings.Contains(sent, needed) {
			t.Errorf("%q was not sent; the tap does not see what goes over it", needed)
		}
	}
}
