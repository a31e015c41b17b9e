package drivertest

import (
	"context"
	"time"

	"assay/history"
	"assay/workload/bulkupdate"
)

// testLoadAtOnce loads several batches at the same time.
func (r *bulkUpdateFixture) testLoadAtOnce() {
	r.plan(3, 700)
	marker := r.marker("run-1")
	if err := r.create(r.store, marker); err != nil {
		r.t.Fatalf("Create: %v", err)
	}
	if err := r.store.Load(r.ctx, []bulkupdate.Document{r.documents.At(5)}); err != nil {
		r.t.Fatalf("Load: %v", err)
	}
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

// testCutAtAnyTime cuts while three clients update, each users of its own.
func (r *bulkUpdateFixture) testCutAtAnyTime() {
	r.fill(3, 100)
	proxy, via := r.openProxied()
	updaters := workers(via, 3, func(store bulkupdate.Store, number int) writer { return &updater{r.client(store, number), 0} })
	disturbed(r.ctx, r.t, updaters, 8, cuts(proxy, 6)...)
}
