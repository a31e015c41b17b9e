package availability

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/store"
	"assay/workload/keyvalue"
)

func TestKeys(t *testing.T) {
	for _, k := range []struct {
		client  int
		seq     uint64
		attempt int
	}{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {MaxClient, MaxSeq, MaxAttempt}, {load.MaxClients + MaxReaders, 1 << 32, 77}} {
		key, ok := Key(k.client, k.seq, k.attempt)
		client, seq, attempt, split := SplitKey(key)
		if !ok || !split || key < 0 || client != k.client || seq != k.seq || attempt != k.attempt {
			t.Errorf("%+v has key %d, which is client %d, operation %d, attempt %d", k, key, client, seq, attempt)
		}
	}
	for _, k := range []struct {
		client  int
		seq     uint64
		attempt int
	}{{-1, 0, 0}, {MaxClient + 1, 0, 0}, {0, MaxSeq + 1, 0}, {0, 0, -1}, {0, 0, MaxAttempt + 1}} {
		if _, ok := Key(k.client, k.seq, k.attempt); ok {
			t.Errorf("%+v has a key", k)
		}
	}
	if _, _, _, ok := SplitKey(keyvalue.Impossible); ok {
		t.Error("the keyvalue.Impossible key is possible")
	}
}

func TestValuesDependOnSeedAndKey(t *testing.T) {
	seen := map[int64]bool{}
	for s := range uint64(20) {
		for key := range int64(50) {
			v := Value(s, key)
			if seen[v] || v != Value(s, key) {
				t.Errorf("value %d of seed %d, key %d", v, s, key)
			}
			seen[v] = true
		}
	}
}

func TestPlanFollowsThePolicy(t *testing.T) {
	for policy, want := range map[Policy]load.Plan{
		PolicyNone:       {Timeout: 0, Retry: load.RetryNone, MaxAttempts: 10},
		PolicyTimeout:    {Timeout: 3 * time.Second, Retry: load.RetryNone, MaxAttempts: 10},
		PolicyRetry:      {Timeout: 3 * time.Second, Retry: load.RetryBlind, MaxAttempts: 0},
		PolicyIdempotent: {Timeout: 3 * time.Second, Retry: load.RetryIdempotent, MaxAttempts: 0},
	} {
		p := LoadDefaults()
		p.Timeout, p.Retry = 3*time.Second, load.RetryFailed
		got := Plan(Config{Policy: policy}, p)
		if got.Timeout != want.Timeout || got.Retry != want.Retry || got.MaxAttempts != want.MaxAttempts || got.Clients != p.Clients || got.Rate != p.Rate {
			t.Errorf("%s: %+v", policy, got)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", policy, err)
		}
		p.Timeout, p.Ops = 0, 5
		got = Plan(Config{Policy: policy}, p)
		if (got.Timeout == 5*time.Second) != (policy != PolicyNone) || got.MaxAttempts != 10 {
			t.Errorf("%s, without a limit and with a number of operations: %+v", policy, got)
		}
	}
	p := LoadDefaults()
	if float64(p.Clients) < p.Rate*p.Timeout.Seconds() || 1/p.Rate > 0.1 || p.Clients+Defaults().Readers > 96 {
		t.Errorf("the defaults %+v do not do what they are said to", p)
	}
}

// keyOf is the key of an attempt under a policy.
func keyOf(p Policy, client int, seq uint64, attempt int) int64 {
	if p == PolicyIdempotent {
		attempt = 0
	}
	key, _ := Key(client, seq, attempt)
	return key
}

func mustWork(t *testing.T, db store.Database, change func(*Config)) *work {
	t.Helper()
	c := Defaults()
	change(&c)
	w, err := c.Open(t.Context(), db, seed, 1)
	expect.NoError(t, err)
	return w.(*work)
}

func mustClient(t *testing.T, w *work, n int) load.Client {
	t.Helper()
	client, err := w.Client(t.Context(), n)
	expect.NoError(t, err)
	return client
}

// TestAnswers has an operation's attempts answered by a script.
func TestAnswers(t *testing.T) {
	committed, failed, unknown := ended(history.Committed, ""), ended(history.Failed, "deadlock"), ended(history.Unknown, "timeout")
	duplicate, rejected := ended(history.Failed, ""), ended(history.Rejected, "")
	duplicate.Violated = store.Unique
	confirmed := duplicate
	confirmed.Confirmed = true
	done := load.Answer{Outcome: history.Failed, Done: true}
	outcome := func(o history.Outcome) load.Answer { return load.Answer{Outcome: o} }
	tests := []struct {
		policy Policy
		script []store.Reply
		want   load.Answer // of the last
		acked  bool
	}{
		{PolicyTimeout, []store.Reply{committed}, outcome(history.Committed), true},
		{PolicyTimeout, []store.Reply{failed}, outcome(history.Failed), false},
		{PolicyTimeout, []store.Reply{unknown}, outcome(history.Unknown), false},
		{PolicyTimeout, []store.Reply{rejected}, outcome(history.Unknown), false},
		{PolicyTimeout, []store.Reply{duplicate}, outcome(history.Unknown), false},
		{PolicyRetry, []store.Reply{unknown, committed}, outcome(history.Committed), true},
		{PolicyRetry, []store.Reply{unknown, duplicate}, outcome(history.Unknown), false}, // another row: nobody has its key
		{PolicyIdempotent, []store.Reply{duplicate}, outcome(history.Unknown), false},
		{PolicyIdempotent, []store.Reply{unknown, duplicate}, done, false},
		{PolicyIdempotent, []store.Reply{unknown, failed, duplicate}, done, false},
		{PolicyIdempotent, []store.Reply{duplicate, duplicate}, done, false},
		{PolicyIdempotent, []store.Reply{unknown, confirmed}, done, true},
		{PolicyIdempotent, []store.Reply{failed, duplicate}, outcome(history.Failed), false},
		{PolicyIdempotent, []store.Reply{failed, committed}, outcome(history.Committed), true},
	}
	for i, test := range tests {
		db := &fake{}
		var asked []row
		db.insert = func(r row) store.Reply {
			asked = append(asked, r)
			return test.script[len(asked)-1]
		}
		w := mustWork(t, db, func(c *Config) { c.Policy = test.policy })
		client := mustClient(t, w, 3)
		var answer load.Answer
		for attempt := range test.script {
			answer = client.Attempt(t.Context(), 8, attempt+1)
		}
		if answer.Outcome != test.want.Outcome || answer.Done != test.want.Done || answer.Kind != keyvalue.KindInsert || len(answer.Values) != 0 {
			t.Errorf("case %d: %+v, want %+v", i, answer, test.want)
		}
		for attempt, got := range asked {
			key := keyOf(test.policy, 3, 8, attempt+1)
			if got != (row{Key: key, Value: Value(seed, key)}) {
				t.Errorf("case %d: attempt %d inserted %+v", i, attempt+1, got)
			}
		}
		if acked, ok := w.Recent.Choose(rand.New(rand.NewPCG(1, 1)), maxRecent); ok != test.acked || ok && acked.Number != asked[len(asked)-1].Key {
			t.Errorf("case %d: acknowledged is %v, %+v", i, ok, acked)
		}
		client.Close()
		if db.closed != db.sessions {
			t.Errorf("case %d: %d of %d sessions were closed", i, db.closed, db.sessions)
		}
	}
}

// TestUnsureIsOfOneOperation: what is unknown of one says nothing of the next.
func TestUnsureIsOfOneOperation(t *testing.T) {
	replies := []store.Reply{ended(history.Unknown, "timeout"), {Outcome: history.Failed, Violated: store.Unique}}
	db := &fake{insert: func(row) store.Reply { r := replies[0]; replies = replies[1:]; return r }}
	client := mustClient(t, mustWork(t, db, func(c *Config) { c.Policy = PolicyIdempotent }), 0)
	client.Attempt(t.Context(), 0, 1)
	if a := client.Attempt(t.Context(), 1, 1); a.Done || a.Outcome != history.Unknown {
		t.Errorf("%+v", a)
	}
}

func TestSessionsAreReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		reply    store.Reply
		sessions int
	}{
		"committed": {ended(history.Committed, ""), 1},
		"failed":    {ended(history.Failed, "deadlock"), 1},
		"unknown":   {ended(history.Unknown, "timeout"), 2},
		"broken":    {store.Reply{Outcome: history.Failed, Class: "connection lost", Broken: true}, 2},
	} {
		db := &fake{insert: func(row) store.Reply { return test.reply }, get: func(int64) store.Reply { return test.reply }}
		w := mustWork(t, db, func(c *Config) { c.Readers = 1 })
		readers, _ := w.Observers()
		for _, client := range []load.Client{mustClient(t, w, 0), readers[0]} {
			before := db.sessions
			if client == readers[0] {
				before++
			}
			for seq := range uint64(2) {
				if a := client.Attempt(t.Context(), seq, 1); a.Disconnected != test.reply.Broken || a.Class != test.reply.Class {
					t.Errorf("%s: %+v", name, a)
				}
			}
			if got := db.sessions - before + 1; got != test.sessions {
				t.Errorf("%s: %d sessions, want %d", name, got, test.sessions)
			}
			client.Close()
		}
		if db.closed != db.sessions {
			t.Errorf("%s: %d of %d sessions were closed", name, db.closed, db.sessions)
		}
	}
}

// TestWithoutASessionNothingIsSent: the client goes on all the same.
func TestWithoutASessionNothingIsSent(t *testing.T) {
	db := &fake{insert: func(row) store.Reply { return ended(history.Unknown, "timeout") }}
	db.connect = func(n int) error {
		if n == 1 {
			return errors.New("nobody there")
		}
		return nil
	}
	w := mustWork(t, db, func(*Config) {})
	client := mustClient(t, w, 0)
	var got []history.Outcome
	for seq := range uint64(3) {
		got = append(got, client.Attempt(t.Context(), seq, 1).Outcome)
	}
	if !slices.Equal(got, []history.Outcome{history.Unknown, history.Failed, history.Unknown}) {
		t.Errorf("outcomes %v", got)
	}
	db.connect = func(int) error { return errors.New("nobody there") }
	if _, err := w.Client(t.Context(), 1); err == nil {
		t.Error("there is a client without a session")
	}
	readers, _ := w.Observers()
	if a := readers[0].Attempt(t.Context(), 0, 1); a.Outcome != history.Failed || !a.Disconnected || a.Class != store.ClassConnect {
		t.Errorf("a reader without a session: %+v", a)
	}
}

func TestBeyondTheLastNumberNothingIsSent(t *testing.T) {
	db := &fake{insert: func(row) store.Reply { t.Error("something was sent"); return store.Reply{} }}
	client := mustClient(t, mustWork(t, db, func(c *Config) { c.Policy = PolicyRetry }), 0)
	for _, a := range []load.Answer{client.Attempt(t.Context(), MaxSeq+1, 1), client.Attempt(t.Context(), 0, MaxAttempt+1)} {
		if a.Outcome != history.Failed || a.Class != store.ClassBeyond || a.Kind != keyvalue.KindInsert {
			t.Errorf("%+v", a)
		}
	}
}

func TestReadersAskForWhatWasAcknowledged(t *testing.T) {
	db := &fake{}
	w := mustWork(t, db, func(c *Config) { c.Readers, c.ReadRate = 2, 7 })
	readers, rate := w.Observers()
	if len(readers) != 2 || rate != 7 {
		t.Fatalf("%d readers at %v", len(readers), rate)
	}
	if a := readers[0].Attempt(t.Context(), 0, 1); a.Kind != keyvalue.KindProbe || a.Outcome != history.Committed || !slices.Equal(a.Values, []int64{keyvalue.Impossible, 0}) {
		t.Errorf("with nothing acknowledged: %+v", a)
	}
	client := mustClient(t, w, 0)
	for seq := range uint64(maxRecent + 50) {
		client.Attempt(t.Context(), seq, 1)
	}
	asked := map[int64]bool{}
	for n := range 2000 {
		a := readers[n%2].Attempt(t.Context(), uint64(n), 1)
		if a.Kind != keyvalue.KindGet || a.Outcome != history.Committed || len(a.Values) != 4 || a.Values[0] != a.Values[2] ||
			a.Values[3] != Value(seed, a.Values[0]) || a.Values[1] <= 0 || a.Values[1] > int64(time.Minute) {
			t.Fatalf("read %d: %+v", n, a)
		}
		asked[a.Values[0]] = true
	}
	oldest, _ := Key(0, 50, 1)
	for key := range asked {
		if key < oldest {
			t.Errorf("key %d was asked for, which is not among the last %d", key, maxRecent)
		}
	}
	if len(asked) < maxRecent/2 {
		t.Errorf("only %d keys were asked for", len(asked))
	}
	db.rows = nil
	if a := readers[0].Attempt(t.Context(), 5, 1); len(a.Values) != 2 || a.Outcome != history.Committed {
		t.Errorf("of a row that is not there: %+v", a)
	}
	db.get = func(int64) store.Reply { return ended(history.Unknown, "timeout") }
	if a := readers[0].Attempt(t.Context(), 6, 1); a.Outcome != history.Failed || a.Class != "timeout" || a.Values != nil {
		t.Errorf("without an answer: %+v", a)
	}
}

func TestWork(t *testing.T) {
	for _, change := range []func(*Config){func(c *Config) { c.Readers = 0 }, func(c *Config) { c.ReadRate = 0 }} {
		if readers, rate := mustWork(t, &fake{}, change).Observers(); len(readers) != 0 || rate != 0 {
			t.Errorf("%d readers at %v", len(readers), rate)
		}
	}
	db := &fake{promise: store.Linearizable, rows: []row{{1, 2}, {3, -4}}}
	w := mustWork(t, db, func(*Config) {})
	if err := errors.Join(w.Create(t.Context(), store.Marker{Run: "r"}), w.Load(t.Context(), nil)); err != nil || !db.mark.Loaded || db.mark.Run != "r" {
		t.Errorf("created %+v, %v", db.mark, err)
	}
	if w.Promise() != store.Linearizable || w.Rows() != 0 {
		t.Error("the work is not what the database is")
	}
	folder := t.TempDir()
	expect.NoError(t, w.Save(t.Context(), folder, func(int64) {}))
	var rows []row
	err := keyvalue.Replay(folder+"/"+FileState, preset(w.config, w.seed), func(o keyvalue.Observed) error { rows = append(rows, row{o.Number, o.Digest[0]}); return nil })
	if err != nil || !slices.Equal(rows, db.rows) {
		t.Errorf("read back %v, %v", rows, err)
	}
	sentinel := errors.New("enough")
	if err := keyvalue.Replay(folder+"/"+FileState, preset(Defaults(), seed), func(keyvalue.Observed) error { return sentinel }); !errors.Is(err, sentinel) {
		t.Errorf("the callback's error came back as %v", err)
	}
}
