package drivertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// RunBulkUpdate tests everything that bulkupdate.Store promises. Its subtests
// run one after the other on one schema.
func RunBulkUpdate(t *testing.T, h BulkUpdate) {
	on := func(t *testing.T) *bulkUpdateFixture {
		f := &bulkUpdateFixture{fixture: newFixture(t, h, contents{workload: bulkupdate.Name, found: 8, tables: []int64{8}})}
		f.plan(4, 2)
		return f
	}
	all := []operation[*bulkUpdateFixture]{
		{"LoadAtOnce", (*bulkUpdateFixture).testLoadAtOnce},
		{"Update", (*bulkUpdateFixture).testUpdate},
		{"Waits", (*bulkUpdateFixture).testWaits},
		{"ContextOver", (*bulkUpdateFixture).testContextOver},
		{"Race", (*bulkUpdateFixture).testRace},
		{"RaceForOneUser", (*bulkUpdateFixture).testRaceForOneUser},
	}
	operations(t, on, checked(all))
}

// bulkUpdateFixture is a fixture with what was answered to updates.
type bulkUpdateFixture struct {
	*fixture[bulkupdate.Store]
	config    bulkupdate.Config
	documents bulkupdate.Documents
	loaded    bool

	mu sync.Mutex
	// last has, by user, what the last acknowledged update set, and unsure what
	// others may have set.
	last   map[int64]int64
	unsure map[int64][]int64
}

// plan has so many users have so many documents each.
func (r *bulkUpdateFixture) plan(users, each int64) {
	r.config = bulkupdate.Config{Users: users, Documents: each, Workers: "1", Field: bulkupdate.FieldRandom, Loaders: 3}
	r.documents = bulkupdate.NewDocuments(r.config, 1)
	r.contents.loads = r.documents.Len()
}

func (r *bulkUpdateFixture) create(store bulkupdate.Store, marker workload.Marker) error {
	r.last, r.unsure, r.loaded = map[int64]int64{}, map[int64][]int64{}, false
	return store.Create(r.ctx, marker)
}

func (r *bulkUpdateFixture) load(store bulkupdate.Store) {
	r.t.Helper()
	r.must("Load", bulkupdate.Open(r.ctx, store, r.config, 1, func(int64, int64) {}))
	r.loaded = true
}

func (r *bulkUpdateFixture) write(store bulkupdate.Store, number int) {
	w := r.client(store, number)
	defer w.close()
	w.commit(r.ctx, int64(number)+1, int64(number)+7)
}

func (r *bulkUpdateFixture) read(store bulkupdate.Store) reading { return each(store.Read) }

// fill makes the documents of so many users.
func (r *bulkUpdateFixture) fill(users, each int64) {
	r.t.Helper()
	r.plan(users, each)
	r.must("Create", r.create(r.store, r.marker("run-1")))
	r.load(r.store)
}

// check settles and compares what was answered with what is there.
func (r *bulkUpdateFixture) check() {
	r.t.Helper()
	r.settle()
	seen, of := map[int64]bool{}, map[int64]map[int64]bool{}
	err := r.store.Read(r.ctx, func(d bulkupdate.Document) error {
		if d.ID < 1 || d.ID > r.documents.Len() || seen[d.ID] {
			r.t.Errorf("document %+v is not one that was loaded, or is there twice", d)
			return nil
		}
		seen[d.ID] = true
		want := r.documents.At(d.ID)
		if d.Generation > 0 {
			want.Generation, want.Flag = d.Generation, d.Generation%2 == 1
		}
		if d != want {
			r.t.Errorf("document %+v, want %+v", d, want)
		}
		possible := d.Generation == r.last[d.User]
		for _, g := range r.unsure[d.User] {
			possible = possible || g == d.Generation
		}
		if !possible {
			r.t.Errorf("document %+v: its user's last update was to %d, and perhaps %v", d, r.last[d.User], r.unsure[d.User])
		}
		if of[d.User] == nil {
			of[d.User] = map[int64]bool{}
		}
		of[d.User][d.Generation] = true
		return nil
	})
	r.must("Read", err)
	want := int64(0)
	if r.loaded {
		want = r.documents.Len()
	}
	if int64(len(seen)) != want {
		r.t.Errorf("%d documents are there, want %d", len(seen), want)
	}
	for user, generations := range of {
		if len(generations) > 1 && r.store.Atomic() {
			r.t.Errorf("documents of user %d are of the generations %v, though updates are atomic", user, generations)
		}
	}
}

// bulkUpdateClient is one client, every answer to which is recorded. It is used by
// one goroutine.
type bulkUpdateClient struct {
	connection[bulkupdate.Session]
	r      *bulkUpdateFixture
	number int64
}

func (r *bulkUpdateFixture) client(store bulkupdate.Store, number int) *bulkUpdateClient {
	return opened(r.fixture, &bulkUpdateClient{connection: newConnection(r.fixture, store.Session), r: r, number: int64(number)})
}

func (w *bulkUpdateClient) update(ctx context.Context, user, generation int64) bulkupdate.Reply {
	var reply bulkupdate.Reply
	reply.Reply = w.attempt(ctx, "update", func(session bulkupdate.Session) workload.Reply {
		reply = session.Update(ctx, user, generation, generation%2 == 1)
		return reply.Reply
	})
	if reply.Outcome == history.Rejected || reply.Outcome != history.Committed && reply.Changed != 0 {
		w.r.t.Errorf("an update that was rejected, for which there is no rule, or has a count: %+v", reply)
	}
	w.r.mu.Lock()
	switch reply.Outcome {
	case history.Committed:
		w.r.last[user] = generation
	case history.Unknown:
		w.r.unsure[user] = append(w.r.unsure[user], generation)
	}
	w.r.mu.Unlock()
	return reply
}

// commit is update, and ends the test unless it is acknowledged for all
// documents of the user. It is for the test's own goroutine.
func (w *bulkUpdateClient) commit(ctx context.Context, user, generation int64) {
	w.r.t.Helper()
	var reply bulkupdate.Reply
	retry(ctx, func() workload.Reply { reply = w.update(ctx, user, generation); return reply.Reply })
	if reply.Outcome != history.Committed || reply.Changed != w.r.config.Documents {
		w.r.t.Fatalf("update of user %d to %d: %+v, want committed with %d changed", user, generation, reply, w.r.config.Documents)
	}
}

// testLoadAtOnce loads several batches at the same time.
func (r *bulkUpdateFixture) testLoadAtOnce() {
	r.plan(3, 700)
	marker := r.marker("run-1")
	r.must("Create", r.create(r.store, marker))
	r.must("Load", r.store.Load(r.ctx, []bulkupdate.Document{r.documents.At(5)}))
	r.mustFind(marker, 1)
	r.fill(3, 700)
	marker.Loaded = true
	r.mustFind(marker, 2100)
}

// testUpdate wants the documents of one user changed, all of them and no
// others.
func (r *bulkUpdateFixture) testUpdate() {
	r.fill(4, 50)
	w, x := r.client(r.store, 0), r.client(r.open(), 1)
	w.commit(r.ctx, 2, 1)
	r.check()
	x.commit(r.ctx, 2, 2)
	w.commit(r.ctx, 4, 1<<60+1) // more than a floating-point number holds
	x.commit(r.ctx, 1, 7)
	if reply := w.update(r.ctx, 99, 1); reply.Outcome != history.Committed || reply.Changed != 0 {
		r.t.Errorf("update of a user without documents: %+v, want committed with none changed", reply)
	}
}

// testWaits wants the same names each time, and nothing that shrinks but what
// is of the moment.
func (r *bulkUpdateFixture) testWaits() {
	r.fill(2, 10)
	before, err := r.store.Waits(r.ctx)
	if err != nil || (len(before) > 0) != r.harness.Waits {
		r.t.Fatalf("Waits: %+v, %v", before, err)
	}
	w := r.client(r.store, 0)
	w.commit(r.ctx, 1, 1)
	after, err := r.store.Waits(r.ctx)
	if err != nil || len(after) != len(before) {
		r.t.Fatalf("Waits again: %+v, %v; before %+v", after, err, before)
	}
	for i, a := range after {
		b := before[i]
		if a.Name == "" || a.Name != b.Name || a.Unit != b.Unit || a.Value < 0 || a.Unit != bulkupdate.Gauge && a.Value < b.Value {
			r.t.Errorf("Waits: %+v after %+v", a, b)
		}
	}
}

// testContextOver ends contexts before and at all moments of an update.
func (r *bulkUpdateFixture) testContextOver() {
	r.fill(2, 200)
	w := r.client(r.store, 0)
	w.commit(r.ctx, 1, 1)
	start := time.Now()
	w.commit(r.ctx, 1, 3)
	generation := int64(3)
	next := func(ctx context.Context) bulkupdate.Reply {
		generation++
		return w.update(ctx, 1, generation)
	}
	over := func(ctx context.Context) {
		if reply := next(ctx); reply.Outcome == history.Committed {
			r.t.Errorf("update in a context that was over: %+v", reply)
		}
	}
	contextsOver(r.ctx, 20, time.Since(start), over, func(ctx context.Context) { next(ctx) })
	// What was abandoned must not stand in the way for ever.
	w.commit(r.ctx, 2, 3)
}

// testRace has four clients update users of their own.
func (r *bulkUpdateFixture) testRace() {
	r.fill(8, 60)
	together(connected(r.fixture, 4, r.client), func(w *bulkUpdateClient) {
		for generation := int64(1); generation <= 6; generation++ {
			for _, user := range []int64{2*w.number + 1, 2*w.number + 2} {
				w.update(r.ctx, user, generation)
			}
		}
	})
}

// testRaceForOneUser has four clients update the same user: which is the last is
// not known, and with updates that are atomic it is one for all documents.
func (r *bulkUpdateFixture) testRaceForOneUser() {
	r.fill(1, 100)
	together(connected(r.fixture, 4, r.client), func(w *bulkUpdateClient) {
		for i := range int64(5) {
			generation := 4*i + w.number + 1
			if reply := w.update(r.ctx, 1, generation); reply.Outcome == history.Committed {
				r.mu.Lock()
				r.unsure[1] = append(r.unsure[1], generation)
				r.mu.Unlock()
			}
		}
	})
}
