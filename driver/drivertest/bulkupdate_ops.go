package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

func (r *rack) testDescribe() {
	product, err := r.store.Describe(r.ctx)
	if err != nil {
		r.t.Fatalf("Describe: %v", err)
	}
	if product.Name == "" || product.Version == "" || len(product.Settings) == 0 {
		r.t.Errorf("Describe gave %+v; name, version and settings are due", product)
	}
	text, err := json.Marshal(product)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.h.Secret != "" && strings.Contains(string(text), r.h.Secret) {
		r.t.Error("Describe tells the password")
	}
}

func (r *rack) testFindNothing() {
	for range 2 { // looking must not make anything that the second look finds
		remains, err := r.store.Find(r.ctx)
		if remains != nil || err != nil {
			r.t.Fatalf("Find on nothing: %+v, %v; want nil", remains, err)
		}
	}
}

// mustFind looks with the rack's Store and with a new one.
func (r *rack) mustFind(mark workload.Mark, rows int64) {
	r.t.Helper()
	for _, store := range []bulkupdate.Store{r.store, r.open()} {
		remains, err := store.Find(r.ctx)
		if err != nil || remains == nil {
			r.t.Fatalf("Find: %+v, %v; want %+v", remains, err, mark)
		}
		got := remains.Mark
		if !got.Created.Equal(mark.Created) {
			r.t.Errorf("Find: created %v, want %v", got.Created, mark.Created)
		}
		got.Created = mark.Created
		if got != mark || remains.Rows != rows {
			r.t.Errorf("Find: %+v with %d documents, want %+v with %d", got, remains.Rows, mark, rows)
		}
	}
}

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
	if err := r.store.Drop(r.ctx); err != nil {
		r.t.Fatalf("Drop: %v", err)
	}
	if remains, err := r.store.Find(r.ctx); remains != nil || err != nil {
		r.t.Errorf("Find after Drop: %+v, %v; want nil", remains, err)
	}
	if err := r.store.Drop(r.ctx); err != nil {
		r.t.Errorf("Drop of nothing: %v", err)
	}
	r.fill(r.store, "run-2", 2, 2)
	r.check()
}

func (r *rack) testReadNothing() {
	calls := 0
	err := r.store.Read(r.ctx, func(bulkupdate.Document) error { calls++; return nil })
	var missing *workload.NoSchemaError
	if !errors.As(err, &missing) || calls != 0 {
		r.t.Errorf("Read on nothing: %d calls, %v; want *workload.NoSchemaError", calls, err)
	}
}

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
	sentinel := errors.New("the reader has had enough")
	for stop := 1; stop <= 4; stop++ {
		calls := 0
		err := r.store.Read(r.ctx, func(bulkupdate.Document) error {
			if calls++; calls == stop {
				return sentinel
			}
			return nil
		})
		if err != sentinel || calls != stop {
			r.t.Errorf("the callback failed at call %d: Read made %d calls and returned %v", stop, calls, err)
		}
	}
	r.check()
}

func (r *rack) testSize() {
	r.fill(r.store, "run-1", 3, 100)
	size, err := r.store.Size(r.ctx)
	if err != nil {
		r.t.Fatalf("Size: %v", err)
	}
	if size.Bytes <= 0 || size.Tables+size.Indexes != 0 && size.Tables+size.Indexes != size.Bytes {
		r.t.Errorf("Size: %+v", size)
	}
	rows := int64(0)
	for _, n := range size.Rows {
		rows += n
	}
	if rows != 300 {
		r.t.Errorf("Size: rows %v, want 300", size.Rows)
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
	r.h.MakeForeign(r.t)
	for name, attempt := range map[string]func(bulkupdate.Store) error{
		"Find":   func(s bulkupdate.Store) error { _, err := s.Find(r.ctx); return err },
		"Create": func(s bulkupdate.Store) error { return s.Create(r.ctx, markOf("run-1", 1)) },
		"Drop":   func(s bulkupdate.Store) error { return s.Drop(r.ctx) },
	} {
		err := attempt(r.open())
		var foreign *workload.ForeignError
		if !errors.As(err, &foreign) {
			r.t.Errorf("%s on what is not ours: %v; want *workload.ForeignError", name, err)
		}
		r.h.ForeignIntact(r.t)
	}
	if err := r.open().Read(r.ctx, func(bulkupdate.Document) error { return nil }); err == nil {
		r.t.Error("Read of what is not ours gave no error")
	}
	r.h.ForeignIntact(r.t)
}

// testCutAtAnyTime cuts the network while clients update, again and again.
func (r *rack) testCutAtAnyTime() {
	const cuts = 6
	r.fill(r.store, "run-1", 3, 100)
	proxy := NewProxy(r.t, r.h.Server)
	via, err := r.h.OpenVia(r.t, proxy.Addr())
	if err != nil {
		r.t.Fatalf("open through the proxy: %v", err)
	}
	r.closing(via)
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	progress := make(chan struct{})
	var all sync.WaitGroup
	for user := int64(1); user <= 3; user++ {
		w := r.writer(via)
		all.Go(func() {
			defer w.close()
			for generation := int64(1); ctx.Err() == nil; generation++ {
				limit, cancel := context.WithTimeout(r.ctx, 10*time.Second)
				reply := w.update(limit, user, generation)
				cancel()
				if reply.Outcome != history.Committed {
					pause(ctx, 5*time.Millisecond)
					continue
				}
				select {
				case progress <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	for range cuts {
		for range 8 {
			select {
			case <-progress:
			case <-r.ctx.Done():
				r.t.Fatal("no update commits any more")
			}
		}
		proxy.Cut()
		proxy.Pass()
	}
	stop()
	all.Wait()
	r.check()
}
