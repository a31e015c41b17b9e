package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/isolation"
)

func openAvailability(t *testing.T, target store.Target) store.Database {
	t.Helper()
	return openOf(t, target, availability.Schema())
}

// TestAvailabilityHasNoTimeLimitOfOurs: the library's default holds, whatever the first contact may
// take.
func TestAvailabilityHasNoTimeLimitOfOurs(t *testing.T) {
	for limit, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second} {
		to := target(t)
		if limit != "" {
			to = target(t, parameter("connect_timeout", limit))
		}
		db, err := openSchema(t.Context(), to, availability.Schema())
		expect.NoError(t, err)
		if db.reads.writers.ConnectTimeout != want || db.reads.readers.ConnectTimeout != want || db.config.ConnectTimeout != to.ConnectTimeout {
			t.Errorf("connect_timeout %q: sessions have %v and %v", limit, db.reads.writers.ConnectTimeout, db.reads.readers.ConnectTimeout)
		}
		product, err := db.Describe(t.Context())
		expect.NoError(t, err)
		if !strings.HasPrefix(drivertest.Value(product.Settings, "session's time limit to connect"), map[bool]string{true: "none", false: "7s"}[want == 0]) {
			t.Errorf("connect_timeout %q is not told: %+v", limit, product.Settings)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAvailabilityReadsWhereAsked: reads go to a standby, with the primary named last, until it
// stops.
func TestAvailabilityReadsWhereAsked(t *testing.T) {
	ctx := expect.Patiently(t)
	set := startSet(t, ctx, 2)
	to := store.Target{Address: atNodes(t, set, set.Node(1).Address(), set.Node(0).Address()), ConnectTimeout: 30 * time.Second}
	for _, test := range []struct {
		read    string
		standby bool
	}{{"", false}, {store.ReadPrimary, false}, {store.ReadSecondaryPreferred, true}, {store.ReadNearest, true}} {
		to.Read = test.read
		db, err := openSchema(ctx, to, availability.Schema())
		expect.NoError(t, err)
		connects := keepLast(db)
		expect.NoError(t, db.Create(ctx, store.Marker{Run: "r", Workload: "availability", Created: time.Now()}))
		if promise := db.Promises().Reads; promise != "" {
			t.Errorf("of two servers %q is promised", promise)
		}
		session := drivertest.OpenRecords(t, db)
		if found, r := session.Find(ctx, 5); r.Outcome != history.Committed || found != 0 {
			t.Errorf("read %q at once after Create: %d, %+v", test.read, found, r)
		}
		if r := session.Add(ctx, 5); r.Outcome != history.Committed {
			t.Errorf("read %q: insert: %+v", test.read, r)
		}
		all, onStandby := 0, 0
		for _, c := range []*sqldb.Session{connects.routed().Writer, connects.routed().Reader} {
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
		if err := errors.Join(db.Drop(ctx), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestAvailabilityReadsWithoutAPrimary: readers of standbys go on.
func TestAvailabilityReadsWithoutAPrimary(t *testing.T) {
	ctx := expect.Patiently(t)
	set := startSet(t, ctx, 2)
	to := store.Target{Address: set.Address(), ConnectTimeout: 30 * time.Second, Read: store.ReadSecondaryPreferred}
	db := openAvailability(t, to)
	defer db.Close()
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "r", Workload: "availability", Created: time.Now()}))
	expect.NoError(t, set.Node(0).Kill())
	session := drivertest.OpenRecords(t, db)
	defer session.Close()
	if found, r := session.Find(ctx, 5); r.Outcome != history.Committed || found != 0 {
		t.Errorf("get: %d, %+v", found, r)
	}
	if r := session.Add(ctx, 5); r.Outcome != history.Failed || r.Class != store.ClassConnect || !r.Broken {
		t.Errorf("insert: %+v", r)
	}
}

// TestTransactionsOfStandbys: read-only transactions go to a standby too, at the requested level,
// which cannot be serializable.
func TestTransactionsOfStandbys(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := startSet(t, ctx, 2)
	of := isolation.Schema()
	of.Reads = true
	to := store.Target{Address: set.Address(), ConnectTimeout: 30 * time.Second, Read: store.ReadSecondaryPreferred, Isolation: "serializable"}
	if _, err := openSchema(ctx, to, of); !strings.Contains(fmt.Sprint(err), "hot standby has no serializable") {
		t.Errorf("serializable: %v", err)
	}
	to.Isolation = "repeatable read"
	db, err := openSchema(ctx, to, of)
	expect.NoError(t, err)
	defer func() { expect.NoError(t, errors.Join(db.Drop(ctx), db.Close())) }()
	connects := keepLast(db)
	expect.NoError(t, db.Create(ctx, store.Marker{Run: "r", Workload: "isolation", Created: time.Now()}))
	session, err := isolation.Open(ctx, db)
	expect.NoError(t, err)
	defer session.Close()
	reads := []isolation.Op{{Kind: isolation.ReadList, Key: 2}}
	for _, x := range []struct {
		ops              []isolation.Op
		atPrimary        bool
		writers, readers bool
	}{
		{reads, true, true, false}, {[]isolation.Op{reads[0], {Kind: isolation.Append, Key: 2, Value: 16}}, false, true, false}, {reads, false, true, true},
	} {
		session.AtPrimary = x.atPrimary
		if r := session.Do(ctx, x.ops); r.Outcome != history.Committed {
			t.Fatalf("%+v: %+v", x.ops, r)
		}
		if c := connects.routed(); (c.Writer != nil) != x.writers || (c.Reader != nil) != x.readers {
			t.Errorf("%+v, at the primary %t: writer %t, reader %t", x.ops, x.atPrimary, c.Writer != nil, c.Reader != nil)
		}
	}
	if on := connects.routed().Reader.Wire.(*connection).conn.ParameterStatus("in_hot_standby"); on != "on" {
		t.Errorf("the reader's in_hot_standby is %q", on)
	}
}

func TestAvailabilityOptions(t *testing.T) {
	for _, read := range []string{store.ReadSecondaryPreferred, store.ReadNearest, "anywhere"} {
		to := target(t)
		to.Read = read
		_, err := Open(t.Context(), to, availability.Schema())
		var refused *store.OptionError
		if !errors.As(err, &refused) || refused.Option != "--read" {
			t.Errorf("read %q of one host: %v", read, err)
		}
	}
	db := openAvailability(t, target(t))
	defer db.Close()
	if promise := db.Promises().Reads; promise != store.Linearizable {
		t.Errorf("of one server %q is promised", promise)
	}
}
