package bugs

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/mem"
	"assay/driver/sqlite"
	"assay/internal/expect"
	"assay/store"
	"assay/store/bug"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
)

func TestTake(t *testing.T) {
	for address, want := range map[string]struct {
		rest   string
		seeded []Seeded
	}{
		"mem://":                  {"mem://", nil},
		"mem://?latency=1ms":      {"mem://?latency=1ms", nil},
		"mem://?bug=lost-ack:0.5": {"mem://", []Seeded{{"lost-ack", 0.5}}},
		"mem://?bug=lost-ack:0":   {"mem://", []Seeded{{"lost-ack", 0}}},
		"sqlite:a%20b.db?bug=lost-ack:1&synchronous=off": {"sqlite:a%20b.db?synchronous=off", []Seeded{{"lost-ack", 1}}},
		"postgres://u:p%3F@h,i:5/d?sslmode=disable&bug=extra-row:1,torn-transfer:0.1&x=%20&bug=late-apply%3A1e-3": {
			"postgres://u:p%3F@h,i:5/d?sslmode=disable&x=%20", []Seeded{{"extra-row", 1}, {"torn-transfer", 0.1}, {"late-apply", 0.001}}},
	} {
		rest, seeded, err := Take(address, bank.Bugs())
		if rest != want.rest || !reflect.DeepEqual(seeded, want.seeded) || err != nil {
			t.Errorf("%s: %s, %v, %v", address, rest, seeded, err)
		}
	}
	for _, bug := range []string{"", "lost-ack", "lost-ack:", "lost-ack:x", "lost-ack:1.1", "lost-ack:-1", "lost-ack:NaN", "lost-ack:1,lost-ack:1", "no-such:1", "phantom:1", "%zz"} {
		_, _, err := Take("mem://?bug="+bug, bank.Bugs())
		var refused *store.OptionError
		if !errors.As(err, &refused) || refused.Option != "bug" {
			t.Errorf("%s: %v", bug, err)
		}
		if strings.HasPrefix(bug, "no-such") && !strings.Contains(refused.Want, "duplicate-apply, ") {
			t.Errorf("%s: %v does not list the bugs", bug, err)
		}
	}
}

func TestBugsAreDescribed(t *testing.T) {
	for name, known := range map[string]struct {
		bugs  []bug.Bug
		count int
	}{
		bank.Name: {bank.Bugs(), 15}, isolation.Name: {isolation.Bugs(), 15}, bulkupdate.Name: {bulkupdate.Bugs(), 9}, candles.Name: {candles.Bugs(), 5},
		churn.Name: {churn.Bugs(), 7}, availability.Name: {availability.Bugs(), 7}, entity.Name: {entity.Bugs(), 7}, ycsb.Name: {ycsb.Bugs(), 8},
		smallbank.Name: {smallbank.Bugs(), 8}, tpcb.Name: {tpcb.Bugs(), 8}, tpcc.Name: {tpcc.Bugs(), 10}, script.Name: {script.Bugs(), 5},
	} {
		seen, count := map[string]bool{}, known.count
		for _, b := range known.bugs {
			if b.Name == "" || b.Doc == "" || seen[b.Name] || (b.Check == "") != (b.Name == bug.LateApply) {
				t.Errorf("%s: bug %+v", name, b)
			}
			seen[b.Name] = true
		}
		if len(seen) != count {
			t.Errorf("%s has %d bugs, want %d", name, len(seen), count)
		}
	}
}

type engine struct {
	name    string
	open    store.Opener
	address func(t testing.TB) string
}

func inMemory() engine {
	return engine{"mem", mem.Open, func(testing.TB) string { return "mem://" }}
}

func onSQLite() engine {
	return engine{"sqlite", sqlite.Open, func(t testing.TB) string {
		return "sqlite:" + filepath.Join(t.TempDir(), "bugs.db") + "?synchronous=off"
	}}
}

func opened(t testing.TB, e engine, schema store.Schema, all []bug.Bug, seed uint64, seeded ...Seeded) store.Database {
	t.Helper()
	db, err := e.open(t.Context(), store.Target{Address: e.address(t)}, schema)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() }) // the run may have closed it
	return Over(db, schema, all, seeded, seed)
}

// never has no effect.
var never = Seeded{"late-apply", 1e-300}

func TestAWrapperConforms(t *testing.T) {
	audited := drivertest.ShortRun{Workload: bank.Definition(), Config: &bank.Config{Accounts: 20, Keys: "uniform", Loaders: 1, Audits: 10}, Seed: 1, Clients: 4, Each: 50, Attempts: 3}
	audited.Valid(t.Context(), t, opened(t, onSQLite(), bank.Schema(), bank.Bugs(), 1, never))
	config := entity.Defaults()
	config.Entities = 50
	run := drivertest.ShortRun{Workload: entity.Definition(), Config: &config, Seed: 1, Clients: 4, Each: 300, Attempts: 1}
	run.Valid(t.Context(), t, opened(t, inMemory(), entity.Schema(), entity.Bugs(), 1, never))
	for seed := range uint64(3) {
		database := opened(t, inMemory(), isolation.Schema(), isolation.Bugs(), seed, never)
		c := isolation.Defaults()
		c.Test = "all"
		j := drivertest.ShortRun{Workload: isolation.Definition(), Config: &c, Seed: seed, Clients: 8, Each: 200, Attempts: 3}.Judge(t.Context(), t, database)
		for _, r := range j.Results {
			if r.Verdict.String() != "valid" {
				t.Errorf("seed %d: %s is %v: %s", seed, r.Name, r.Verdict, r.Detail)
			}
		}
	}
}

// TestEverybodyIsTold of a bug and of its number of effects.
func TestEverybodyIsTold(t *testing.T) {
	db := opened(t, onSQLite(), bank.Schema(), bank.Bugs(), 1, Seeded{"torn-transfer", 1})
	b := bank.Over(db)
	p, err := b.Describe(t.Context())
	if err != nil || p.Name != "SQLite" || !strings.HasSuffix(p.Version, " with seeded bugs (torn-transfer:1)") ||
		p.Settings[len(p.Settings)-1] != (store.Setting{Name: store.SettingBugs, Value: "torn-transfer:1"}) {
		t.Errorf("%+v, %v", p, err)
	}
	err = errors.Join(b.Create(t.Context(), store.Marker{}), b.FinishLoad(t.Context()),
		b.LoadAccounts(t.Context(), []bank.Account{{ID: 1, Balance: 1000}, {ID: 2, Balance: 1000}}))
	expect.NoError(t, err)
	session, err := b.Session(t.Context())
	expect.NoError(t, err)
	session.Transfer(t.Context(), bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 100})
	session.Transfer(t.Context(), bank.Transfer{ID: 2, Source: 1, Destination: 9, Amount: 100})
	session.Close()
	torn := Bug{Name: "torn-transfer"}
	if n := strikesOf(t, b, torn); n != 1 {
		t.Errorf("%d strikes, want 1", n)
	}
	if err := b.Create(t.Context(), store.Marker{}); err != nil || strikesOf(t, b, torn) != 0 {
		t.Errorf("%d strikes in an empty database, %v", strikesOf(t, b, torn), err)
	}
}
