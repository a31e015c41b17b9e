package drivertest

import (
	"context"
	"sync"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// BulkUpdate is what a driver's test gives to have its bulkupdate.Store tried.
// The fields that it shares with Availability mean the same.
type BulkUpdate struct {
	Open func(t *testing.T) bulkupdate.Store

	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)

	Secret string

	// Waits is true if the server tells of its locks.
	Waits bool

	OpenVia func(t *testing.T, addr string) (bulkupdate.Store, error)
	Server  string
}

// RunBulkUpdate tries everything that bulkupdate.Store promises. Its subtests
// run one after the other on one place.
func RunBulkUpdate(t *testing.T, h BulkUpdate) {
	for _, s := range []struct {
		name string
		run  func(*rack)
	}{
		{"Describe", (*rack).describe},
		{"FindNothing", (*rack).findNothing},
		{"CreateLoadFind", (*rack).testCreateLoadFind},
		{"CreateAgain", (*rack).testCreateAgain},
		{"Drop", (*rack).testDrop},
		{"ReadNothing", (*rack).testReadNothing},
		{"Update", (*rack).testUpdate},
		{"ReadCallbackErrors", (*rack).testReadCallbackErrors},
		{"Size", (*rack).testSize},
		{"Waits", (*rack).testWaits},
		{"ContextOver", (*rack).testContextOver},
		{"Race", (*rack).testRace},
		{"RaceForOneUser", (*rack).testRaceForOneUser},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(emptyRack(t, h)) })
	}
	runLease(t, func(t *testing.T) *hold[bulkupdate.Store] { return emptyRack(t, h).hold },
		func(ctx context.Context, s bulkupdate.Store, run string) error {
			return s.Create(ctx, markOf("bulkupdate", run, 2))
		})
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { emptyRack(t, h).testForeign() })
	}
	if h.OpenVia != nil {
		t.Run("CutAtAnyTime", func(t *testing.T) { emptyRack(t, h).testCutAtAnyTime() })
	}
}

// rack is one subtest's hold on the place under test.
type rack struct {
	*hold[bulkupdate.Store]
	h         BulkUpdate
	config    bulkupdate.Config
	documents bulkupdate.Documents

	mu sync.Mutex
	// last has, by user, what the last acknowledged update set, and unsure what
	// others may have set.
	last   map[int64]int64
	unsure map[int64][]int64
}

func emptyRack(t *testing.T, h BulkUpdate) *rack {
	t.Helper()
	return &rack{h: h, hold: empty(t, harness[bulkupdate.Store]{h.Open, h.MakeForeign, h.ForeignIntact, h.Secret})}
}

func (r *rack) mark(run string) workload.Marker {
	return markOf("bulkupdate", run, int(r.documents.Len()))
}

// readDocuments is a Store's Read.
func readDocuments(store bulkupdate.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(bulkupdate.Document) error { return each() })
	}
}

// fill makes the documents of so many users.
func (r *rack) fill(store bulkupdate.Store, run string, users, each int64) {
	r.t.Helper()
	r.config = bulkupdate.Config{Users: users, Documents: each, Workers: "1", Field: bulkupdate.FieldRandom, Loaders: 3}
	r.documents = bulkupdate.NewDocuments(r.config, 1)
	r.last, r.unsure = map[int64]int64{}, map[int64][]int64{}
	if err := store.Create(r.ctx, r.mark(run)); err != nil {
		r.t.Fatalf("Create: %v", err)
	}
	if err := bulkupdate.Open(r.ctx, store, r.config, 1, func(int64, int64) {}); err != nil {
		r.t.Fatalf("Load: %v", err)
	}
}

// check settles and compares what was answered with what is there.
func (r *rack) check() {
	r.t.Helper()
	if err := r.store.Settle(r.ctx); err != nil {
		r.t.Fatalf("Settle: %v", err)
	}
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
	if err != nil {
		r.t.Fatalf("Read: %v", err)
	}
	if int64(len(seen)) != r.documents.Len() {
		r.t.Errorf("%d documents are there, want %d", len(seen), r.documents.Len())
	}
	for user, generations := range of {
		if len(generations) > 1 && r.store.Atomic() {
			r.t.Errorf("documents of user %d are of the generations %v, though updates are atomic", user, generations)
		}
	}
}

// writer is one client: it replaces its session when it must, and every answer
// goes into the book. It is used by one goroutine.
type writer struct {
	line[bulkupdate.Session]
	r *rack
}

func (r *rack) writer(store bulkupdate.Store) *writer {
	w := &writer{line: line[bulkupdate.Session]{dial: store.Session}, r: r}
	r.t.Cleanup(w.close)
	return w
}

func (w *writer) update(ctx context.Context, user, generation int64) bulkupdate.Reply {
	reply := bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Broken: true}}
	if reply.Err = w.connect(ctx); reply.Err == nil {
		reply = w.session.Update(ctx, user, generation, generation%2 == 1)
	}
	a := answer{outcome: reply.Outcome, class: reply.Class, err: reply.Err, broken: reply.Broken}
	a.inspect(w.r.t, w.r.h.Secret, func() string { return "update" })
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
	w.replace(a)
	return reply
}

// commit is update, and ends the test unless it is acknowledged for all
// documents of the user. It is for the test's own goroutine.
func (w *writer) commit(ctx context.Context, user, generation int64) {
	w.r.t.Helper()
	var reply bulkupdate.Reply
	for range tries {
		if reply = w.update(ctx, user, generation); reply.Outcome != history.Failed || ctx.Err() != nil {
			break
		}
	}
	if reply.Outcome != history.Committed || reply.Changed != w.r.config.Documents {
		w.r.t.Fatalf("update of user %d to %d: %+v, want committed with %d changed", user, generation, reply, w.r.config.Documents)
	}
}
