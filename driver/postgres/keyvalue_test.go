package postgres

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

func openKeyValue(t *testing.T, target workload.Target, table keyvalue.Table) keyvalue.Store {
	t.Helper()
	store, err := keyvalue.By(Driver().Open)(t.Context(), target, table)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func openAvailability(t *testing.T, target workload.Target) keyvalue.Store {
	t.Helper()
	return openKeyValue(t, target, availability.Table())
}

func TestKeyValue(t *testing.T) {
	for name, changes := range map[string][]func(*url.URL){
		"prepared":                    nil,
		"without prepared statements": {parameter("default_query_exec_mode", "exec")},
	} {
		for _, table := range drivertest.KeyValueTables() {
			t.Run(table.Workload+" "+name, func(t *testing.T) {
				drivertest.RunKeyValue(t, table, keyValueHarness(t, table, changes...))
			})
		}
	}
	for _, policy := range availability.Policies() {
		store := openAvailability(t, target(t))
		config := availability.Defaults()
		config.Policy, config.Readers = policy, 2
		run := drivertest.ShortRun{Workload: availability.Definition(), Config: &config, Seed: 1, Clients: 4, Each: 100, Attempts: 1000, Limit: 5 * time.Second}
		run.Valid(t.Context(), t, store)
		if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
			t.Error(err)
		}
	}
	store := openKeyValue(t, target(t, parameter("default_query_exec_mode", "exec")), entity.Table())
	config := entity.Defaults()
	config.Entities = 20
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 60, Attempts: 1}
	if j := run.Valid(t.Context(), t, store); j.Counts.Committed != 180 {
		t.Errorf("%+v", j.Entity)
	}
	if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
		t.Error(err)
	}
}

func TestMutable(t *testing.T) {
	for _, changes := range [][]func(*url.URL){nil, {parameter("default_query_exec_mode", "exec")}} {
		drivertest.RunMutable(t, false, func(t *testing.T) keyvalue.Store {
			return openKeyValue(t, target(t, changes...), drivertest.MutableTable())
		})
	}
}

func keyValueHarness(t *testing.T, table keyvalue.Table, changes ...func(*url.URL)) drivertest.KeyValue {
	u, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	schema := "assay_" + table.Workload
	theirs := schema + "." + sqldb.Renamed(keyvalue.Schema(table), reserved()).Tables[0].Name
	return drivertest.KeyValue{
		Secret: secret,
		Open:   func(t *testing.T) keyvalue.Store { return openKeyValue(t, target(t, changes...), table) },
		MakeForeign: func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE SCHEMA `+schema)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA `+schema+` CASCADE`) })
			exec(t, conn, `CREATE TABLE `+theirs+` AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM `+theirs).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
		Server: u.Host,
		OpenVia: func(t *testing.T, addr string) (keyvalue.Store, error) {
			return keyvalue.By(Driver().Open)(t.Context(), target(t, append(changes, host(addr))...), table)
		},
	}
}

// TestAvailabilityHasNoTimeLimitOfOurs: what the address does not say, the
// library decides, whatever the first contact may take.
func TestAvailabilityHasNoTimeLimitOfOurs(t *testing.T) {
	for limit, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second} {
		to := target(t)
		if limit != "" {
			to = target(t, parameter("connect_timeout", limit))
		}
		store, err := openSchema(t.Context(), to, keyvalue.Schema(availability.Table()))
		if err != nil {
			t.Fatal(err)
		}
		if store.reads.writers.ConnectTimeout != want || store.reads.readers.ConnectTimeout != want || store.config.ConnectTimeout != to.ConnectTimeout {
			t.Errorf("connect_timeout %q: sessions have %v and %v", limit, store.reads.writers.ConnectTimeout, store.reads.readers.ConnectTimeout)
		}
		product, err := store.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := false
		for _, s := range product.Settings {
			told = told || s.Name == "session's time limit to connect" && strings.HasPrefix(s.Value, map[bool]string{true: "none", false: "7s"}[want == 0])
		}
		if !told {
			t.Errorf("connect_timeout %q is not told: %+v", limit, product.Settings)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAvailabilityReadsWhereAsked has a standby beside the primary, which is
// named last, and stops it.
func TestAvailabilityReadsWhereAsked(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := startSet(t, ctx, 2)
	to := workload.Target{Address: atNodes(t, set, set.Node(1).Address(), set.Node(0).Address()), ConnectTimeout: 3 * time.Second}
	for _, test := range []struct {
		read    string
		standby bool
	}{{"", false}, {workload.ReadPrimary, false}, {workload.ReadSecondaryPreferred, true}, {workload.ReadNearest, true}} {
		to.Read = test.read
		schema, err := openSchema(ctx, to, keyvalue.Schema(availability.Table()))
		if err != nil {
			t.Fatal(err)
		}
		connects := &keyValueConnects{schema: schema}
		store := keyvalue.Over(sqldb.StoreOf(connects, keyvalue.Schema(availability.Table())), availability.Table())
		if err := store.Create(ctx, workload.Marker{Run: "r", Workload: "availability", Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if promise := keyvalue.PromiseOf(store); promise != "" {
			t.Errorf("of two servers %q is promised", promise)
		}
		session := mustSession(t, store)
		if r := session.Get(ctx, int64(5)); r.Outcome != history.Committed || r.Found {
			t.Errorf("read %q at once after Create: %+v", test.read, r)
		}
		if r := session.Insert(ctx, availability.Row(1, 5)); r.Outcome != history.Committed {
			t.Errorf("read %q: insert: %+v", test.read, r)
		}
		all, onStandby := 0, 0
		for _, c := range []*sqldb.Session{connects.last.Writer, connects.last.Reader} {
			if c == nil {
				continue
			}
			if all++; c.Wire.(*connection).conn.ParameterStatus("in_hot_standby") == "on" {
				onStandby++
			}
		}
		if test.standby && (all != 2 || onStandby != 1) || !test.standby && (all != 1 || onStandby != 0) {
			t.Errorf("read %q: of %d connections %d are to a standby", test.read, all, onStandby)
		}
		session.Close()
		if err := errors.Join(store.Drop(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestAvailabilityReadsWithoutAPrimary: who reads from standbys first goes on.
func TestAvailabilityReadsWithoutAPrimary(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := startSet(t, ctx, 2)
	to := workload.Target{Address: set.Address(), ConnectTimeout: 3 * time.Second, Read: workload.ReadSecondaryPreferred}
	store := openAvailability(t, to)
	defer store.Close()
	if err := store.Create(ctx, workload.Marker{Run: "r", Workload: "availability", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := set.Node(0).Kill(); err != nil {
		t.Fatal(err)
	}
	session := mustSession(t, store)
	defer session.Close()
	if r := session.Get(ctx, int64(5)); r.Outcome != history.Committed || r.Found {
		t.Errorf("get: %+v", r)
	}
	if r := session.Insert(ctx, availability.Row(1, 5)); r.Outcome != history.Failed || r.Class != workload.ClassConnect || !r.Broken {
		t.Errorf("insert: %+v", r)
	}
}

// keyValueConnects keeps the connections of its last session.
type keyValueConnects struct {
	*schema
	last *sqldb.Routed
}

func (s *keyValueConnects) ConnectApart(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	e, err := s.schema.ConnectApart(ctx, statements)
	if err == nil {
		s.last = e.(*sqldb.Routed)
	}
	return e, err
}

func mustSession(t *testing.T, store keyvalue.Store) keyvalue.Session {
	t.Helper()
	session, err := store.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func TestAvailabilityOptions(t *testing.T) {
	for _, read := range []string{workload.ReadSecondaryPreferred, workload.ReadNearest, "anywhere"} {
		to := target(t)
		to.Read = read
		_, err := keyvalue.By(Driver().Open)(t.Context(), to, availability.Table())
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Option != "--read" {
			t.Errorf("read %q of one host: %v", read, err)
		}
	}
	store := openAvailability(t, target(t))
	defer store.Close()
	if promise := keyvalue.PromiseOf(store); promise != keyvalue.PromiseLinearizable {
		t.Errorf("of one server %q is promised", promise)
	}
}
