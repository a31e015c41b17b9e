package cycle_test

import (
	"context"
	"fmt"
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/history"
)

// manyBlindWrites is a history in which 24 transactions read that x was never written and 24 write
// it in an unknown order: too many pairs for an edge each. The numbered reader also read y, which
// the numbered writer wrote. So it saw a part of that writer and missed the other. A reader from 24
// on is writer number reader-24, which reads x before it writes it.
func manyBlindWrites(reader, writer int, sees bool) []Txn {
	const n = 24
	var all []Txn
	for i := range 2 * n {
		t := Txn{ID: int64(i), Process: int32(i), Complete: 1000, Outcome: history.Committed}
		t.Ops = append(t.Ops, Op{Key: 1, Kind: ReadNothing})
		if i >= n && i != reader {
			t.Ops = t.Ops[:0] // a blind write
		}
		if i == reader {
			o := Op{Key: 2, Kind: ReadNothing}
			if sees {
				o = Op{Key: 2, Kind: ReadValue, Value: 1}
			}
			t.Ops = append(t.Ops, o)
		}
		if i >= n {
			t.Ops = append(t.Ops, Op{Key: 1, Kind: Write, Value: int64(i)})
		}
		if i == n+writer {
			t.Ops = append(t.Ops, Op{Key: 2, Kind: Write, Value: 1})
		}
		all = append(all, t)
	}
	return all
}

// Auxiliary nodes between many readers and many versions mean the same as direct edges, wherever in
// their row the reader and the writer stand.
func TestManyBlindWrites(t *testing.T) {
	for _, model := range []Model{Serializable, SnapshotIsolation, Prefix, UpdateSerializable} {
		for _, reader := range []int{0, 11, 23, 24, 35, 47} {
			for writer := range 24 {
				if reader == 24+writer {
					continue // it sees what it wrote itself
				}
				name := fmt.Sprintf("%s, reader %d, writer %d", model, reader, writer)
				r := Check(context.Background(), build(t, manyBlindWrites(reader, writer, true)), model, Options{})
				if r.Verdict != check.Violated {
					t.Errorf("%s: %v: %s", name, r.Verdict, r.Reason)
				}
				r = Check(context.Background(), build(t, manyBlindWrites(reader, writer, false)), model, Options{})
				if r.Verdict == check.Violated {
					t.Errorf("%s: the twin is violated: %v", name, r.Anomalies)
				}
			}
		}
	}
}
