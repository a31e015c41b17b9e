package drivertest

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"assay/history"
	"assay/workload/bulkupdate"
)

// testCreateLoadFind loads several batches at the same time.
func (r *rack) testCreateLoadFind() {
	r.config = bulkupdate.Config{Users: 3, Documents: 700}
	r.documents = bulkupdate.NewDocuments(r.config, 1)
	if err := r.store.Create(r.ctx, r.mark("run-1")); err != nil {
		r.t.Fatalf("Create: %v", err)
	}
	if err := r.store.Load(r.ctx, []bulkupdate.Document{r.documents.At(5)}); err != nil {
		r.t.Fatalf("Load: %v", err)
	}
	r.mustFind(r.mark("run-1"), 1)
	r.fill(r.store, "run-2", 3, 700)
	mark := r.mark("run-2")
	mark.Loaded = true
	r.mustFind(mark, 2100)
	r.check()
}

func (r *rack) testCreateAgain() {
	r.fill(r.store, "run-1", 2, 3)
	w := r.writer(r.store)
	w.commit(r.ctx, 1, 1)
	w.close()
	second := r.open()
	r.fill(second, "run-2", 3, 2)
	r.check()
	w = r.writer(second)
	w.commit(r.ctx, 3, 2)
	w.close()
	r.check()
}

func (r *rack) testDrop() {
	r.fill(r.store, "run-1", 2, 2)
	r.drop()
	r.fill(r.store, "run-2", 2, 2)
	r.check()
}

func (r *rack) testReadNothing() { r.readNothing(readDocuments(r.store)) }

// testUpdate wants the documents of one user changed, all of them and no
// others.
func (r *rack) testUpdate() {
	r.fill(r.store, "run-1", 4, 50)
	w, x := r.writer(r.store), r.writer(r.open())
	w.commit(r.ctx, 2, 1)
	r.check()
	x.commit(r.ctx, 2, 2)
	w.commit(r.ctx, 4, 1<<60+1) // more than a floating-point number holds
	x.commit(r.ctx, 1, 7)
	if reply := w.update(r.ctx, 99, 1); reply.Outcome != history.Committed || reply.Changed != 0 {
		r.t.Errorf("update of a user without documents: %+v, want committed with none changed", reply)
	}
	w.close()
	x.close()
	r.check()
}

func (r *rack) testReadCallbackErrors() {
	r.fill(r.store, "run-1", 2, 2)
	r.stopReading(readDocuments(r.store), 1, 2, 3, 4)
	r.check()
}

func (r *rack) testSize() {
	r.fill(r.store, "run-1", 3, 100)
	if size, rows := r.size(); size.Bytes == 0 || rows != 300 {
		r.t.Errorf("Size: %+v, want 300 rows", size)
	}
}

// testWaits wants the same names each time, and nothing that shrinks but what
// is of the moment.
func (r *rack) testWaits() {
	r.fill(r.store, "run-1", 2, 10)
	before, err := r.store.Waits(r.ctx)
	if err != nil || (len(before) > 0) != r.h.Waits {
		r.t.Fatalf("Waits: %+v, %v", before, err)
	}
	w := r.writer(r.store)
	w.commit(r.ctx, 1, 1)
	w.close()
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
func (r *rack) testContextOver() {
	r.fill(r.store, "run-1", 2, 200)
	w := r.writer(r.store)
	w.commit(r.ctx, 1, 1)
	over, cancel := context.WithCancel(r.ctx)
	cancel()
	for range 3 {
		if reply := w.update(over, 1, 2); reply.Outcome == history.Committed {
			r.t.Errorf("update in a context that was over: %+v", reply)
		}
	}
	start := time.Now()
	w.commit(r.ctx, 1, 3)
	usual := time.Since(start)
	for generation := int64(4); generation < 24; generation++ {
		ctx, cancel := context.WithTimeout(r.ctx, rand.N(2*usual+time.Microsecond))
		w.update(ctx, 1, generation)
		cancel()
	}
	// What was abandoned must not stand in the way for ever.
	w.commit(r.ctx, 2, 3)
	w.close()
	r.check()
}

// testRace has four clients update users of their own.
func (r *rack) testRace() {
	r.fill(r.store, "run-1", 8, 60)
	var all sync.WaitGroup
	for number := range int64(4) {
		w := r.writer(r.store)
		all.Go(func() {
			defer w.close()
			for generation := int64(1); generation <= 6; generation++ {
				for _, user := range []int64{2*number + 1, 2*number + 2} {
					w.update(r.ctx, user, generation)
				}
			}
		})
	}
	all.Wait()
	r.check()
}

// testRaceForOneUser has four clients update the same user: which is the last is
// not known, and with updates that are atomic it is one for all documents.
func (r *rack) testRaceForOneUser() {
	r.fill(r.store, "run-1", 1, 100)
	var all sync.WaitGroup
	for number := range int64(4) {
		w := r.writer(r.store)
		all.Go(func() {
			defer w.close()
			for i := range int64(5) {
				generation := 4*i + number + 1
				if reply := w.update(r.ctx, 1, generation); reply.Outcome == history.Committed {
					r.mu.Lock()
					r.unsure[1] = append(r.unsure[1], generation)
					r.mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	r.check()
}

func (r *rack) testForeign() {
	r.foreign(func(s bulkupdate.Store) error { return s.Create(r.ctx, r.mark("run-1")) })
	r.foreignUnread(readDocuments(r.open()))
}

// testCutAtAnyTime cuts while three clients update, each users of its own.
func (r *rack) testCutAtAnyTime() {
	r.fill(r.store, "run-1", 3, 100)
	proxy, via := r.through(r.h.Server, r.h.OpenVia)
	var clients []cutClient
	for user := int64(1); user <= 3; user++ {
		w, generation := r.writer(via), int64(0)
		clients = append(clients, cutClient{close: w.close, attempt: func(ctx context.Context) bool {
			generation++
			return w.update(ctx, user, generation).Outcome == history.Committed
		}})
	}
	cutAtAnyTime(r.ctx, r.t, proxy, 6, 8, clients)
	r.check()
}
