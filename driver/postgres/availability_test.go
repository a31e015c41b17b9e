package postgres

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

func openAvailability(t *testing.T, target workload.Target) availability.Store {
	t.Helper()
	store, err := OpenAvailability(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestAvailability(t *testing.T) {
	for name, changes := range map[string][]func(*url.URL){
		"prepared":                    nil,
		"without prepared statements": {parameter("default_query_exec_mode", "exec")},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunAvailability(t, availabilityHarness(t, changes...))
		})
	}
	for _, policy := range availability.Policies() {
		store := openAvailability(t, target(t))
		config := availability.Defaults()
		config.Policy, config.Readers = policy, 2
		run := drivertest.AvailabilityRun{Config: config, Seed: 1, Clients: 4, Each: 100, Attempts: 1000, Limit: 5 * time.Second}
		run.Valid(t.Context(), t, store)
		if err := errors.Join(store.Drop(t.Context()), store.Close()); err != nil {
			t.Error(err)
		}
	}
}

func availabilityHarness(t *testing.T, changes ...func(*url.URL)) drivertest.Availability {
	u, err := url.Parse(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	return drivertest.Availability{
		Secret: secret,
		Open:   func(t *testing.T) availability.Store { return openAvailability(t, target(t, changes...)) },
		MakeForeign: func(t *testing.T) {
			conn := admin(t)
			exec(t, conn, `CREATE SCHEMA assay_availability`)
			t.Cleanup(func() { exec(t, admin(t), `DROP SCHEMA assay_availability CASCADE`) })
			exec(t, conn, `CREATE TABLE assay_availability.entry AS SELECT 'mine'::text AS owner`)
		},
		ForeignIntact: func(t *testing.T) {
			var owner string
			if err := admin(t).QueryRow(t.Context(), `SELECT min(owner) FROM assay_availability.entry`).Scan(&owner); err != nil || owner != "mine" {
				t.Errorf("the foreign schema was touched: owner %q, %v", owner, err)
			}
		},
		Server: u.Host,
		OpenVia: func(t *testing.T, addr string) (availability.Store, error) {
			return OpenAvailability(t.Context(), target(t, append(changes, host(addr))...))
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
		store := openAvailability(t, to).(*availabilityStore)
		if store.writers.ConnectTimeout != want || store.readers.ConnectTimeout != want || store.config.ConnectTimeout != to.ConnectTimeout {
			t.Errorf("connect_timeout %q: sessions have %v and %v", limit, store.writers.ConnectTimeout, store.readers.ConnectTimeout)
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
		store := openAvailability(t, to)
		if err := store.Create(ctx, workload.Marker{Run: "r", Workload: "availability", Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if promise := store.(availability.Promising).Promise(); promise != "" {
			t.Errorf("of two servers %q is promised", promise)
		}
		session := mustSession(t, store)
		if r := session.Get(ctx, 5); r.Outcome != history.Committed || r.Found {
			t.Errorf("read %q at once after Create: %+v", test.read, r)
		}
		if r := session.Insert(ctx, availability.Row{Key: 5, Value: 6}); r.Outcome != history.Committed {
			t.Errorf("read %q: insert: %+v", test.read, r)
		}
		pid := session.(*availabilitySession)
		if reads := pid.reading != nil; reads != test.standby {
			t.Errorf("read %q: a connection to read is %v", test.read, reads)
		}
		if test.standby {
			var recovering string
			if recovering = pid.reading.conn.ParameterStatus("in_hot_standby"); recovering != "on" {
				t.Errorf("read %q: the server that answers is in recovery: %q", test.read, recovering)
			}
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
	if r := session.Get(ctx, 5); r.Outcome != history.Committed || r.Found {
		t.Errorf("get: %+v", r)
	}
	if r := session.Insert(ctx, availability.Row{Key: 5}); r.Outcome != history.Failed || r.Class != workload.ClassConnect || !r.Broken {
		t.Errorf("insert: %+v", r)
	}
}

func mustSession(t *testing.T, store availability.Store) availability.Session {
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
		_, err := OpenAvailability(t.Context(), to)
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Option != "--read" {
			t.Errorf("read %q of one host: %v", read, err)
		}
	}
	store := openAvailability(t, target(t))
	defer store.Close()
	if promise := store.(availability.Promising).Promise(); promise != availability.PromiseLinearizable {
		t.Errorf("of one server %q is promised", promise)
	}
}
