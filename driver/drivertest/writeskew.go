package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/smallbank"
)

// WriteSkew makes the anomaly of SmallBank's paper: between the reads of a WriteCheck and
// its write a TransactSaving commits, and then a Balance. A database with snapshot
// isolation commits all three. One customer does all, and each of three clients makes a
// single attempt.
type WriteSkew struct {
	t      *testing.T
	ctx    context.Context
	store  smallbank.Store
	work   definition.Work
	config smallbank.Config
	ops    [3]history.Op
	folder string
}

const skewSeed = 3

// NewWriteSkew loads the bank. It drops it and closes the store when the test ends.
func NewWriteSkew(t *testing.T, store smallbank.Store) *WriteSkew {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &WriteSkew{t: t, ctx: ctx, store: store, config: smallbank.Defaults(), folder: t.TempDir()}
	s.config.Customers, s.config.Hotspot, s.config.HotspotShare = 2, 1, 1
	work, err := smallbank.NewWork(s.store, s.config, skewSeed)
	if err == nil {
		s.work = work
		err = work.Create(ctx, workload.Marker{Run: "skew", Workload: smallbank.Name, Created: time.Now()})
	}
	if err == nil {
		err = work.Load(ctx, func(int64, int64) {})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.store.Drop(context.Background()), s.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// WriteCheck does the WriteCheck; Meanwhile is to be called after it has read and before
// it writes.
func (s *WriteSkew) WriteCheck() { s.attempt(0, smallbank.KindWriteCheck) }

// Meanwhile does the TransactSaving and the Balance.
func (s *WriteSkew) Meanwhile() {
	s.attempt(1, smallbank.KindTransactSaving)
	s.attempt(2, smallbank.KindBalance)
}

// attempt has a client do its first operation of a kind.
func (s *WriteSkew) attempt(client int, kind uint8) {
	operations, err := smallbank.NewOperations(s.config, skewSeed)
	if err != nil {
		s.t.Error(err)
		return
	}
	seq := uint64(0)
	for o := operations.At(workload.OperationID(client, seq)); o.Kind != kind || kind != smallbank.KindBalance && o.Amount < 1; o = operations.At(workload.OperationID(client, seq)) {
		seq++
	}
	c, err := s.work.Client(s.ctx, client)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.Close()
	a := c.Attempt(s.ctx, seq, 1)
	s.ops[client] = history.Op{Client: client, Seq: seq, Attempt: 1, Last: true, Kind: a.Kind, Outcome: a.Outcome, Final: a.Outcome, End: 1, Values: a.Values}
}

// Judge fails the test unless all three were committed if that is allowed, and one was not
// if it is not; the promise is kept; and what is allowed is named, and violates
// serializability.
func (s *WriteSkew) Judge(allowed bool) {
	s.t.Helper()
	s.end()
	committed := 0
	for _, op := range s.ops {
		if op.Outcome == history.Committed {
			committed++
		}
	}
	if committed < 2 || (committed == 3) != allowed {
		s.t.Fatalf("%d of 3 committed: %+v", committed, s.ops)
	}
	j := s.judge("")
	mustBeValid(s.t, j.Results)
	if named := strings.Contains(strings.Join(j.Notes, "\n"), "G2-item, allowed by snapshot-isolation: T1 is "); named != allowed {
		s.t.Errorf("notes %q", j.Notes)
	}
	want := check.Valid
	if allowed {
		want = check.Violated
	}
	r := s.judge("serializable").Results[2]
	if r.Name != smallbank.CheckIsolation || r.Verdict != want {
		s.t.Fatalf("by serializable it is %v, want %v: %+v", r.Verdict, want, r)
	}
	if allowed && (r.Evidence[0].Kind != "G2-item" || !strings.Contains(r.Evidence[0].Text, "write skew: the WriteCheck T")) {
		s.t.Errorf("evidence %+v", r.Evidence[0])
	}
}

// end writes the history and the state.
func (s *WriteSkew) end() {
	s.t.Helper()
	w, err := history.Create(filepath.Join(s.folder, "history"), history.Header{Run: "skew"})
	for i := range s.ops {
		err = errors.Join(err, w.Record(&s.ops[i]))
	}
	if err = errors.Join(err, w.Close(), s.store.Settle(s.ctx), s.work.Save(s.ctx, s.folder, func(int64) {})); err != nil {
		s.t.Fatal(err)
	}
}

func (s *WriteSkew) judge(model string) definition.Judgement {
	s.t.Helper()
	config := s.config
	config.Model = model
	j, err := config.Judge(s.ctx, skewSeed, definition.Evidence{Promise: s.work.Promise(), History: filepath.Join(s.folder, "history"),
		State: filepath.Join(s.folder, smallbank.Definition().State)})
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}
