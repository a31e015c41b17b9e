package mongodb

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

func openAvailability(t *testing.T, target store.Target) *database {
	t.Helper()
	target.ConnectTimeout = 20 * time.Second
	db, err := Open(t.Context(), target, availability.Schema())
	expect.NoError(t, err)
	return db.(*database)
}

// TestTransactionsReadFromThePrimary: MongoDB refuses any other read preference in them.
func TestTransactionsReadFromThePrimary(t *testing.T) {
	of := store.Schema{Workload: "isolation", Transactions: true, Judged: true, Reads: true}
	_, err := Open(t.Context(), store.Target{Address: "mongodb://h:1,h:2/?replicaSet=s", Read: store.ReadNearest}, of)
	if refused := (*store.OptionError)(nil); !errors.As(err, &refused) || refused.Option != "--read" {
		t.Errorf("transactions elsewhere: %v", err)
	}
}

// TestAvailabilityOfASet judges runs by each policy and from each member.
func TestAvailabilityOfASet(t *testing.T) {
	t.Parallel()
	set := startSet(t, 3)
	for i, policy := range availability.Policies() {
		reads := []string{"", store.ReadSecondaryPreferred, store.ReadNearest, store.ReadPrimary}[i]
		target := store.Target{Address: set.Address(), Read: reads}
		linearizable := reads == store.ReadPrimary
		if linearizable {
			target.Address += "&readConcernLevel=linearizable"
		}
		db := openAvailability(t, target)
		config := availability.Defaults()
		config.Policy, config.Readers, config.Read = policy, 2, reads
		run := drivertest.ShortRun{Workload: availability.Definition(), Config: &config, Seed: 1, Clients: 3, Each: 30, Attempts: 1000, Limit: 10 * time.Second}
		if f := run.Valid(expect.Patiently(t), t, db).Availability; f.Reads.Committed < 50 || f.Writes.Committed != 90 {
			t.Errorf("%+v", f)
		}
		if promised := db.Promises().Reads == store.Linearizable; promised != linearizable {
			t.Errorf("read %q: the promise is %q", reads, db.Promises().Reads)
		}
		product, err := db.Describe(expect.Patiently(t))
		expect.NoError(t, err)
		told := func(name string) string { return drivertest.Value(product.Settings, name) }
		if !strings.HasPrefix(told("time limit to find a server"), "30s") || told("reads are answered by") == "" || told("write concern") == "" {
			t.Errorf("told is %v", product.Settings)
		}
		if err := errors.Join(db.Drop(expect.Patiently(t)), db.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Run("settled", func(t *testing.T) { testAvailabilitySettles(t, set.Address()) })
	t.Run("without a primary", func(t *testing.T) {
		db := openAvailability(t, store.Target{Address: set.Address(), Read: store.ReadSecondaryPreferred})
		defer db.Close()
		ctx := expect.Patiently(t)
		expect.NoError(t, db.Create(ctx, store.Marker{Run: "r", Workload: "availability", Created: time.Now()}))
		session := drivertest.OpenRecords(t, db)
		if r := session.Add(ctx, 1); r.Outcome != history.Committed {
			t.Fatalf("%+v", r)
		}
		for i := range 2 {
			expect.NoError(t, set.Node(i).Kill())
		}
		for { // until the library knows
			if _, r := session.Find(ctx, 1); r.Outcome == history.Committed {
				break
			} else if ctx.Err() != nil {
				t.Fatalf("get without a primary: %+v", r)
			}
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if r := session.Add(limited, 2); r.Outcome == history.Committed || r.Class == "" {
			t.Errorf("insert without a primary: %+v", r)
		}
	})
}

// testAvailabilitySettles: what is left of a session may still bring an insert,
// what is another application's not.
func testAvailabilitySettles(t *testing.T, address string) {
	db := openAvailability(t, store.Target{Address: address})
	defer db.Close()
	for _, name := range []string{"another", db.appName + applicationSuffix} {
		open := name != "another"
		client := plainClient(t, address+"&appName="+url.QueryEscape(name))
		expect.NoError(t, client.Ping(t.Context(), nil))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if err := db.Settle(ctx); (err != nil) != open || open && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Settle while %q has a connection: %v", name, err)
		}
		cancel()
	}
	session := drivertest.OpenRecords(t, db)
	if _, r := session.Find(t.Context(), 1); r.Outcome != history.Committed {
		t.Errorf("a session after Settle: %+v", r)
	}
}

func TestWithoutReads(t *testing.T) {
	for address, want := range map[string]string{
		"mongodb://a/":     "mongodb://a/",
		"mongodb://a/?w=1": "mongodb://a/?w=1",
		"mongodb://a/?readConcernLevel=majority&w=1":  "mongodb://a/?readConcernLevel=majority&w=1",
		"mongodb://a/?w=1&readConcernLevel=available": "mongodb://a/?w=1",
		"mongodb://a/?ReadConcernLevel=linearizable":  "mongodb://a/?",
	} {
		if got := withoutReads(address); got != want {
			t.Errorf("%s became %s, want %s", address, got, want)
		}
	}
}

func TestJudgeInsert(t *testing.T) {
	concern := &mongo.WriteConcernError{Code: 64}
	duplicate := mongo.WriteErrors{{Code: codeDuplicateKey}}
	tests := map[string]struct {
		err       error
		sent      int
		outcome   history.Outcome
		duplicate bool
		class     string
	}{
		"acknowledged":                {nil, 1, history.Committed, false, ""},
		"no server":                   {errors.New("no server"), 0, history.Failed, false, store.ClassConnect},
		"cancelled before":            {context.Canceled, 0, history.Failed, false, classCancelled},
		"cancelled":                   {context.Canceled, 1, history.Unknown, false, classCancelled},
		"lost":                        {mongo.CommandError{Labels: []string{"NetworkError"}}, 1, history.Unknown, false, store.ClassLost},
		"duplicate":                   {mongo.WriteException{WriteErrors: duplicate}, 1, history.Failed, true, store.ClassDuplicate},
		"duplicate, not confirmed":    {mongo.WriteException{WriteErrors: duplicate, WriteConcernError: concern}, 1, history.Failed, false, classUnconfirmed},
		"duplicate of itself":         {mongo.WriteException{WriteErrors: duplicate}, 2, history.Unknown, false, store.ClassDuplicate},
		"not confirmed":               {mongo.WriteException{WriteConcernError: concern}, 1, history.Unknown, false, classWriteConcern},
		"not confirmed, stepped down": {mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 10107}}, 1, history.Unknown, false, store.ClassNotPrimary},
		"not the primary":             {answer(10107), 1, history.Failed, false, store.ClassNotPrimary},
		"not valid":                   {answer(codeNotValidated), 1, history.Failed, false, store.ClassConstraint},
		"not allowed":                 {answer(codeUnauthorized), 1, history.Failed, false, classUnauthorized},
		"stepped down":                {answer(189), 1, history.Unknown, false, store.ClassNotPrimary},
		"interrupted":                 {answer(11602), 1, history.Unknown, false, store.ClassNotPrimary},
		"interrupted, nothing done":   {answer(11602, labelNoWrites), 1, history.Failed, false, store.ClassNotPrimary},
		"nothing done, says nobody":   {mongo.CommandError{Labels: []string{labelNoWrites, "NetworkError"}}, 1, history.Unknown, false, store.ClassLost},
		"shutting down":               {answer(91), 1, history.Unknown, false, store.ClassShutdown},
	}
	for name, test := range tests {
		r := judgeInsert(test.err, test.sent)
		if r.Outcome != test.outcome || r.Duplicate != test.duplicate || r.Confirmed != test.duplicate || r.Class != test.class || (r.Err == nil) != (test.err == nil) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
