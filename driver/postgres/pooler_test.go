package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	cluster "assay/cluster/postgres"
	nodes "assay/cluster/server"
	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/internal/wait"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/smallbank"
	"assay/workload/tpcc"
)

// startPooler starts PgBouncer before the test server. It admits all clients as the test's user.
func startPooler(t *testing.T, mode string, size int, more ...string) string {
	t.Helper()
	return startPoolerBefore(t, server, mode, size, more...)
}

func startPoolerBefore(t *testing.T, server *cluster.Server, mode string, size int, more ...string) string {
	t.Helper()
	behind, err := url.Parse(server.Address())
	expect.NoError(t, err)
	program, err := (&nodes.Program{Name: "pgbouncer", Folders: []string{"/usr/sbin", "/usr/bin"},
		Get: "scripts/install-servers.sh pgbouncer"}).Find("")
	expect.NoError(t, err)
	user, err := nodes.Unprivileged("postgres", "nobody")
	expect.NoError(t, err)
	folder, err := nodes.PrivateDir("", user)
	expect.NoError(t, err)
	port, err := new(nodes.Ports).Next()
	expect.NoError(t, err)
	configuration := filepath.Join(folder, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s user=assay password='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
max_client_conn = 500
pool_mode = %s
default_pool_size = %d
%s
`, behind.Hostname(), behind.Port(), secret, port, mode, size, strings.Join(more, "\n"))
	expect.NoError(t, os.WriteFile(configuration, []byte(text), 0o644))
	process, err := nodes.StartProcess(nodes.ProcessOptions{Program: program, Args: []string{configuration}, User: user,
		Dir: folder, Log: filepath.Join(folder, "pgbouncer.log")})
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return errors.Join(process.Kill(), os.RemoveAll(folder)) })
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for range 500 {
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			return at
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	t.Fatalf("PgBouncer does not listen: %s", process.Tail(5))
	return ""
}

func pause(ctx context.Context, d time.Duration) { _ = wait.Pause(ctx, d) }

func through(at string) store.Target {
	return store.Target{Address: "postgres://assay@" + at + "/postgres", ConnectTimeout: 30 * time.Second}
}

// TestEveryWorkloadThroughAPooler: assay works without what the pooler keeps from sessions, and with
// one connection that all share. With parameters that the pooler ignores, and in its session mode,
// the bank stands for all.
func TestEveryWorkloadThroughAPooler(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode string
		size int
		more string
	}{
		"transaction":               {"transaction", 5, ""},
		"transaction, one":          {"transaction", 1, ""},
		"transaction, all is taken": {"transaction", 5, "ignore_startup_parameters = " + strings.Join(parameterNames(), ",")},
		"session":                   {"session", 40, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behind, err := cluster.Start(t.Context(), cluster.Options{Password: secret, Settings: []string{"deadlock_timeout=10ms"}})
			expect.NoError(t, err)
			expect.AtEnd(t, behind.Close)
			at := startPoolerBefore(t, behind, c.mode, c.size, c.more)
			all := slices.DeleteFunc(supports(), func(s definition.Support) bool {
				return s.Workload == tpcc.Name && name != "transaction" || s.Workload != bank.Name && (c.more != "" || c.mode == "session")
			})
			drivertest.ShortRuns(t, through(at), all...)
		})
	}
}

func parameterNames() []string {
	names := []string{"default_transaction_isolation"}
	for name := range pinned() {
		names = append(names, name)
	}
	return names
}

// TestAPoolerBeforeASilentServer: a server that keeps warnings from sessions would hide that a commit
// no longer waits for its standby, and poolers do not pass the setting on.
func TestAPoolerBeforeASilentServer(t *testing.T) {
	t.Parallel()
	behind, err := cluster.Start(t.Context(), cluster.Options{Password: secret, Settings: []string{"client_min_messages=error"}})
	expect.NoError(t, err)
	expect.AtEnd(t, behind.Close)
	at := startPoolerBefore(t, behind, "transaction", 2)
	p, err := openSchema(t.Context(), through(at), entity.Schema())
	expect.NoError(t, err)
	defer p.Close()
	if err = p.Create(t.Context(), store.Marker{Run: "r", Workload: "entity"}); err == nil {
		_, err = p.Session(t.Context(), nil)
	}
	var refused *store.OptionError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "client_min_messages=error") {
		t.Errorf("a session gives %v", err)
	}
}

// TestLevelsThroughAPooler: every transaction has the requested level, also single statements.
func TestLevelsThroughAPooler(t *testing.T) {
	to := through(startPooler(t, "transaction", 2))
	to.Isolation = "repeatable read"
	p, err := openSchema(t.Context(), to, entity.Schema())
	expect.NoError(t, err)
	defer p.Close()
	expect.NoError(t, p.Create(t.Context(), store.Marker{Run: "r", Workload: "entity"}))
	defer p.Drop(context.Background())
	c, err := p.Connect(t.Context(), []sqldb.Statement{{Name: "level", Text: `SELECT current_setting('transaction_isolation')`}, {Name: "wrong", Text: `SELECT 1/0`}})
	expect.NoError(t, err)
	defer c.Close()
	var level string
	for range 3 {
		if r := c.Run(t.Context(), 0, func(row store.Row) error { return row.Scan(&level) }, nil); r.Outcome != history.Committed || level != "repeatable read" {
			t.Errorf("%q, %+v", level, r)
		}
		if r := c.Run(t.Context(), 1, nil, nil); r.Outcome != history.Failed || r.Broken {
			t.Errorf("%+v", r)
		}
	}
}

// TestManyClientsThroughFewConnections wait for each other in transaction mode. In session mode
// some get none, which is reported.
func TestManyClientsThroughFewConnections(t *testing.T) {
	for mode, works := range map[string]bool{"transaction": true, "session": false} {
		to := through(startPooler(t, mode, 6))
		if !works {
			to.ConnectTimeout = 2 * time.Second
		}
		db := openBank(t, to)
		expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "few", Workload: "bank"}))
		var failed error
		for range 16 {
			s, err := db.Session(t.Context())
			if err != nil {
				failed = err
				break
			}
			defer s.Close()
		}
		if works && failed != nil || !works && (failed == nil || !strings.Contains(failed.Error(), "pool_size") || !strings.Contains(failed.Error(), "session mode")) {
			t.Errorf("%s: %v", mode, failed)
		}
		product, err := db.Describe(t.Context())
		if works && (err != nil || !strings.Contains(fmt.Sprint(product.Settings), "response times include waiting")) {
			t.Errorf("%v, %+v", err, product.Settings)
		}
		db.Close()
	}
	exec(t, admin(t), `DROP SCHEMA IF EXISTS assay_bank CASCADE`)
}

// TestSettleBehindAPooler: an abandoned session's waiting transaction is waited for and ended,
// others' are left alone.
func TestSettleBehindAPooler(t *testing.T) {
	at := startPooler(t, "transaction", 5)
	db := openBank(t, through(at))
	defer db.Close()
	ours := db.below.schema
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "settled", Workload: "bank"}))
	defer db.Drop(context.Background())
	blocker, other := admin(t), admin(t)
	exec(t, blocker, `BEGIN`)
	exec(t, blocker, `LOCK TABLE assay_bank.transfer`)
	exec(t, other, `BEGIN`)
	exec(t, other, `SELECT 1`)
	c, err := ours.Connect(t.Context(), []sqldb.Statement{{Name: "late", Text: `DELETE FROM assay_bank.transfer`}})
	expect.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if r := c.Run(short, 0, nil, nil); r.Outcome != history.Unknown || !r.Broken {
		t.Errorf("%+v", r)
	}
	c.Close()
	bounded, over := context.WithTimeout(t.Context(), 20*time.Second)
	defer over()
	expect.NoError(t, db.Settle(bounded))
	var left int
	err = blocker.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%DELETE FROM assay_bank%' AND pid <> pg_backend_pid()`).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%d statements are still in flight; %v", left, err)
	}
	exec(t, other, `COMMIT`)
	exec(t, blocker, `COMMIT`)
}

// TestKilledConnectionsBehindAPooler: the server's connections are killed under a run.
func TestKilledConnectionsBehindAPooler(t *testing.T) {
	at := startPooler(t, "transaction", 3)
	// An idle connection, or one that just changes its name, may be about to serve another session.
	killer := admin(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		kills, pause := 0, 150*time.Millisecond
		for wait.Pause(ctx, pause) == nil {
			n := 0
			pause = 2 * time.Millisecond // until one is met at work
			if err := killer.QueryRow(ctx, `SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
				WHERE application_name LIKE 'assay % session %' AND state <> 'idle' AND query LIKE '%assay!_%' ESCAPE '!' LIMIT 1) p`).Scan(&n); err == nil {
				kills += n
				if n > 0 {
					pause = 150 * time.Millisecond
				}
			}
		}
		done <- kills
	}()
	drivertest.ShortRuns(t, through(at), definition.SupportOf(bank.Definition(), Open, sqldb.Lacks()), definition.SupportOf(smallbank.Definition(), Open, sqldb.Lacks()))
	stop()
	if kills := <-done; kills == 0 {
		t.Error("nothing was killed")
	}
}

// TestParametersThatAPoolerKeeps would have no effect in an address.
func TestParametersThatAPoolerKeeps(t *testing.T) {
	to := through(startPooler(t, "transaction", 5))
	to.Address += "?statement_timeout=5s"
	_, err := Open(t.Context(), to, bank.Schema())
	var refused *store.OptionError
	if !errors.As(err, &refused) || refused.Value != "statement_timeout" || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("got %v", err)
	}
	to.Address = strings.Replace(to.Address, "statement_timeout=5s", "timezone=UTC&application_name=mine&default_query_exec_mode=cache_statement", 1)
	p, err := openSchema(t.Context(), to, bank.Schema())
	if err != nil || p.config.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		t.Errorf("%v", err)
	}
	if err == nil {
		p.Close()
	}
}

// TestNobodyTakesAServerForAPooler: without a pooler nothing changes.
func TestNobodyTakesAServerForAPooler(t *testing.T) {
	db := openBank(t, target(t))
	defer db.Close()
	if db.below.pooled || db.below.config.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		t.Error("a pooler was found where there is none")
	}
}

// TestStatementsThroughAPooler: a user's texts find the schema, and partial or impossible
// transactions are reported.
func TestStatementsThroughAPooler(t *testing.T) {
	target := through(startPooler(t, "transaction", 3, ""))
	t.Run("outcomes", func(t *testing.T) {
		drivertest.RunOutcomes(t, drivertest.Store{Open: Open, Lacks: sqldb.Lacks(), Target: target})
	})
	target.Isolation = "serializable"
	db, err := Open(t.Context(), target, store.Schema{Workload: "pooled", Open: true})
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	expect.NoError(t, db.Create(t.Context(), store.Marker{Run: "pooled", Workload: "pooled"}))
	defer db.Drop(context.Background())
	session, err := db.Session(t.Context(), nil)
	expect.NoError(t, err)
	defer session.Close()
	var level string
	r := session.(store.Verbatim).Verbatim(t.Context(), true, func(ctx context.Context, s store.Sender) error {
		for _, text := range []store.UserText{{Text: "BEGIN", Kind: store.Begins}, {Text: "SHOW transaction_isolation", Kind: store.NoEffect, Keep: true}, {Text: "END", Kind: store.Commits},
			{Text: "CREATE TABLE x (a int)", Kind: store.Defines}} {
			text.Protocol = store.Simple
			results, err := s.Send(ctx, text)
			if err != nil {
				return err
			}
			if text.Keep {
				level = *results[0].Last[0]
			}
		}
		return nil
	})
	if level != "serializable" || r.Outcome != history.Failed || !strings.Contains(fmt.Sprint(r.Err), "stands between BEGIN and COMMIT") {
		t.Errorf("at %q: %+v", level, r)
	}
}

// TestLevelOfExistingTablesThroughAPooler: texts on a user's tables run at the level that was asked
// for, in a transaction of their own or not.
func TestLevelOfExistingTablesThroughAPooler(t *testing.T) {
	target := through(startPooler(t, "transaction", 3, ""))
	for _, level := range []string{"serializable", ""} {
		target.Isolation, target.Existing = level, true
		db, err := Open(t.Context(), target, store.Schema{Workload: "pooled", Open: true, Existing: true})
		expect.NoError(t, err)
		expect.AtEnd(t, db.Close)
		existing, err := store.OnExisting(t.Context(), db, target, true)
		expect.NoError(t, err)
		expect.NoError(t, existing.Create(t.Context(), store.Marker{Run: "pooled", Workload: "pooled"}), existing.TakeLease(t.Context(), store.Holder{Run: "pooled"}, time.Minute, ""))
		session, err := existing.Session(t.Context(), nil)
		expect.NoError(t, err)
		defer session.Close()
		want := cmp.Or(level, "read committed")
		show := store.UserText{Text: "SELECT current_setting('transaction_isolation') -- the level", Kind: store.NoEffect, Keep: true}
		for _, texts := range [][]store.UserText{
			{show}, {{Text: "BEGIN", Kind: store.Begins}, show, {Text: "END", Kind: store.Commits}},
			{{Text: "BEGIN READ ONLY -- of reads", Kind: store.Begins}, show, {Text: "END", Kind: store.Commits}, show},
		} {
			r := session.(store.Verbatim).Verbatim(t.Context(), true, func(ctx context.Context, s store.Sender) error {
				for _, text := range texts {
					text.Protocol = store.Simple
					results, err := s.Send(ctx, text)
					if err != nil {
						return err
					}
					if text.Keep && (len(results) != 1 || *results[0].Last[0] != want) {
						t.Errorf("%v: %d results, at %s; want %s", texts, len(results), *results[0].Last[0], want)
					}
				}
				return nil
			})
			expect.NoError(t, r.Err)
		}
	}
}
