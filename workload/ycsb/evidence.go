package ycsb

import (
	"fmt"
	"math"

	"assay/check"
	"assay/history"
	"assay/workload/keyvalue"
)

const (
	kindLost    = "lost"        // a record that is not there, and was acknowledged
	kindBehind  = "overwritten" // an acknowledged write whose record holds an earlier one
	kindStale   = "stale read"  // a version that was overwritten before
	kindOrder   = "order"       // two things, each before the other
	kindMissing = "missing"     // a record that was not found
	kindForeign = "foreign"     // what nobody of this run wrote
	kindGarbage = "garbage"     // fields that nobody wrote
	kindMixed   = "mixed"       // fields of several versions
	kindFailed  = "failed"      // what a failed write left
	kindEarly   = "too early"   // a version before its write began
	kindDoubled = "doubled"     // a record twice
	kindDropped = "left out"    // a record that a scan did not return
	kindSurplus = "surplus"     // more records than a scan asked for
)

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// recordName names a unit: a record, or a field of it.
func (j *judge) recordName(unit int64) string {
	number := unit / j.units()
	name := fmt.Sprintf("record %d (id %s)", number, j.keys.text(j.keys.keyOf(max(number, 0))))
	if j.units() > 1 {
		name = j.fieldName(int(unit%j.units())) + " of " + name
	}
	return name
}

func (j *judge) recordEvidence(kind string, unit int64, what string) check.Evidence {
	number := unit / j.units()
	return check.Evidence{Kind: kind, Text: j.recordName(unit) + " " + what,
		Fields: map[string]int64{"record": number, "id": j.keys.keyOf(number)}}
}

func (j *judge) foreignRecord(got keyvalue.Observed) check.Evidence {
	id := got.Key[0]
	if got.Number >= 0 {
		id = j.keys.keyOf(got.Number)
	}
	return check.Evidence{Kind: kindForeign, Fields: map[string]int64{"id": id, "record": got.Number},
		Text: "a record is there that no client of this run has begun to write"}
}

// lostEvidence is for a missing record; last is nil if it was only loaded.
func (j *judge) lostEvidence(unit int64, last *write) check.Evidence {
	if last == nil {
		return j.recordEvidence(kindLost, unit, "was loaded and is not there")
	}
	return withWrite(j.recordEvidence(kindLost, unit, fmt.Sprintf("is not there, and %s was acknowledged", last.version)), last)
}

func (j *judge) oldEvidence(unit int64, holds version, last *write) check.Evidence {
	return withWrite(j.recordEvidence(kindBehind, unit, fmt.Sprintf("holds %s, which was there before %s; the write of that, begun at %.6f s, was acknowledged and is lost",
		holds, last.version, seconds(last.start))), last)
}

// withWrite adds the writer of a version.
func withWrite(e check.Evidence, w *write) check.Evidence {
	client, seq, attempt := w.version.split()
	e.Fields["client"], e.Fields["seq"], e.Fields["attempt"], e.Fields["begun_ns"] = int64(client), int64(seq), int64(attempt), w.start
	return e
}

func fieldsOf(op *history.Op, number int64) map[string]int64 {
	return map[string]int64{"record": number, "client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End}
}

func (j *judge) readEvidence(kind string, op *history.Op, unit int64, v version, why string) check.Evidence {
	return check.Evidence{Kind: kind, Fields: fieldsOf(op, unit/j.units()),
		Text: fmt.Sprintf("at %.6f s operation %d of client %d (%s) found %s in %s, %s",
			seconds(op.Start), op.Seq, op.Client, operations()[op.Kind], v, j.recordName(unit), why)}
}

func (j *judge) scanEvidence(kind string, op *history.Op, number int64, what string) check.Evidence {
	return check.Evidence{Kind: kind, Fields: fieldsOf(op, number),
		Text: fmt.Sprintf("%s: at %.6f s operation %d of client %d, a scan from record %d on, %s",
			j.recordName(max(number, 0)*j.units()), seconds(op.Start), op.Seq, op.Client, op.Values[0], what)}
}

// conflictEvidence is for versions that each must precede the other; the record had version a
// from a.ends to a.begins.
func (j *judge) conflictEvidence(unit int64, a, b *write) check.Evidence {
	kind := kindOrder
	switch {
	case b.firstBy == b.version && a.lastBy != a.version && b.lastBy == b.version:
		if kind = kindBehind; a.version == absent { // nobody has seen it
			kind = kindLost
		}
	case b.firstBy == b.version && a.lastBy != a.version:
		kind = kindStale
	}
	did := func(w *write, by version) string {
		client, seq, _ := by.split()
		if by == w.version {
			return "its write"
		}
		return fmt.Sprintf("the read of operation %d of client %d", seq, client)
	}
	when := func(ns int64) string {
		if ns == math.MinInt64 {
			return "before the run"
		}
		return fmt.Sprintf("at %.6f s", seconds(ns))
	}
	e := j.recordEvidence(kind, unit, fmt.Sprintf("cannot have held %s (A) and %s (B) in any order: A was there when %s ended %s, before %s began for B %s; and B when %s ended %s, before %s began for A %s",
		a.version, b.version, did(a, a.firstBy), when(a.ends), did(b, b.lastBy), when(b.begins), did(b, b.firstBy), when(b.ends), did(a, a.lastBy), when(a.begins)))
	for name, v := range map[string]version{"a": a.version, "b": b.version, "a_first": a.firstBy, "a_last": a.lastBy, "b_first": b.firstBy, "b_last": b.lastBy} {
		if v >= 0 {
			client, seq, _ := v.split()
			e.Fields[name+"_client"], e.Fields[name+"_seq"] = int64(client), int64(seq)
		}
	}
	return e
}
