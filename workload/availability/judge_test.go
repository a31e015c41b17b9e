package availability

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/measure"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

const (
	seed = 7
	ms   = int64(1e6)
)

// story is a run, written by hand.
type story struct {
	config   Config
	promise  string
	inFlight string
	ops      []history.Op
	reserved map[int]uint64
	rows     []row
	after    []history.Op // after the measured part has ended
	cut      bool         // the history has no end
	noState  bool
}

// told returns a run of one writer, client 0, and one reader, client 9: three
// inserts acknowledged at 10, 20 and 30 ms, the first read at 15 ms.
func told(policy Policy) *story {
	s := &story{config: Config{Policy: policy, Readers: 1, ReadRate: 1}, reserved: map[int]uint64{0: 100, 9: 100}}
	for seq := range uint64(3) {
		s.insert(seq, 1, history.Committed, true)
		s.row(s.key(seq, 1))
	}
	s.get(0, 15*ms, s.key(0, 1), 5*ms, true)
	return s
}

func (s *story) key(seq uint64, attempt int) int64 {
	return keyOf(s.config.Policy, 0, seq, attempt)
}

// insert adds an attempt of client 0, which takes the nine milliseconds up to
// 10, 20, ...
func (s *story) insert(seq uint64, attempt int, outcome history.Outcome, last bool) *history.Op {
	end := (int64(seq) + int64(attempt)) * 10 * ms
	final := outcome
	for _, op := range s.ops {
		if op.Client == 0 && op.Seq == seq && op.Attempt == attempt-1 {
			final = op.Final.Then(outcome)
		}
	}
	op := history.Op{Client: 0, Seq: seq, Attempt: attempt, Last: last, Kind: keyvalue.KindInsert, Outcome: outcome, Final: final,
		Start: end - 9*ms, First: end - 9*ms, Due: end - 9*ms, End: end}
	if outcome != history.Committed {
		op.Error = "timeout"
	}
	s.ops = append(s.ops, op)
	return &s.ops[len(s.ops)-1]
}

// get adds a read of client 9, which takes a millisecond.
func (s *story) get(seq uint64, at, key, age int64, found bool) *history.Op {
	op := history.Op{Client: 9, Seq: seq, Attempt: 1, Last: true, Kind: keyvalue.KindGet, Outcome: history.Committed, Final: history.Committed,
		Start: at, First: at, Due: at, End: at + ms, Values: []int64{key, age}}
	if found {
		op.Values = append(op.Values, key, Value(seed, key))
	}
	s.ops = append(s.ops, op)
	return &s.ops[len(s.ops)-1]
}

func (s *story) row(key int64) { s.rows = append(s.rows, row{Key: key, Value: Value(seed, key)}) }

// without takes the row of a key away.
func (s *story) without(key int64) {
	s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return r.Key == key })
}

func (s *story) write(t *testing.T) definition.Evidence {
	t.Helper()
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, FileState), Promise: s.promise, InFlight: s.inFlight}
	w, err := history.Create(e.History, history.Header{Run: "told"})
	for client, upTo := range s.reserved {
		err = errors.Join(err, w.Reserve(history.Reservation{Client: client, UpTo: upTo}))
	}
	for i := range s.ops {
		err = errors.Join(err, w.Record(&s.ops[i]))
	}
	err = errors.Join(err, w.Mark(history.Event{At: 100 * ms, Name: history.EventMeasureEnd}))
	for i := range s.after {
		err = errors.Join(err, w.Record(&s.after[i]))
	}
	if info, statErr := os.Stat(e.History); statErr == nil && s.cut {
		size := info.Size()
		err = errors.Join(err, w.Close(), os.Truncate(e.History, size))
	} else {
		err = errors.Join(err, w.Close())
	}
	if !s.noState {
		err = errors.Join(err, keyvalue.Save(t.Context(), &fake{rows: s.rows}, preset(s.config, seed), e.State, func(int64) {}))
	}
	expect.NoError(t, err)
	return e
}

func (s *story) judge(t *testing.T) ([]check.Result, Figures) {
	t.Helper()
	results, figures, err := Judge(s.config, seed, s.write(t))
	expect.NoError(t, err)
	return results, figures
}

// findings returns the kinds of evidence of each check, and fails the test for
// a verdict that does not go with them.
func findings(t *testing.T, results []check.Result) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, r := range results {
		for _, e := range r.Evidence {
			found[r.Name] = append(found[r.Name], e.Kind)
			if e.Text == "" || len(e.Fields) == 0 {
				t.Errorf("%s: evidence %+v says nothing", r.Name, e)
			}
		}
		if (r.Verdict == check.Violated || r.Verdict == check.Allowed) != (r.Found > 0) || int(r.Found) != len(found[r.Name]) || r.Detail == "" {
			t.Errorf("%s: %v, %d found, %q", r.Name, r.Verdict, r.Found, r.Detail)
		}
	}
	return found
}

// TestEveryRuleConvictsAndItsNearMissDoesNot has each wrong next to what is
// all but the same and right.
func TestEveryRuleConvictsAndItsNearMissDoesNot(t *testing.T) {
	linearizable := func(s *story) { s.promise = store.Linearizable }
	tests := []struct {
		name   string
		policy Policy
		tell   func(*story)
		// check and kind are what is found; both empty for the near miss.
		check, kind string
	}{
		{"nothing is wrong", PolicyTimeout, func(*story) {}, "", ""},

		{"an acknowledged row is lost", PolicyTimeout, func(s *story) { s.without(s.key(1, 1)) }, keyvalue.CheckAcknowledged, "lost"},
		{"an unknown one is not there", PolicyTimeout, func(s *story) { s.insert(3, 1, history.Unknown, true) }, "", ""},
		{"an unknown one is there", PolicyTimeout, func(s *story) { s.insert(3, 1, history.Unknown, true); s.row(s.key(3, 1)) }, "", ""},
		{"a failed one is not there", PolicyTimeout, func(s *story) { s.insert(3, 1, history.Failed, true) }, "", ""},
		{"a failed one is there", PolicyTimeout, func(s *story) { s.insert(3, 1, history.Failed, true); s.row(s.key(3, 1)) }, keyvalue.CheckRows, "failed"},
		{"a rejected one is there", PolicyTimeout, func(s *story) { s.insert(3, 1, history.Rejected, true); s.row(s.key(3, 1)) }, keyvalue.CheckRows, "failed"},

		{"a row is there twice", PolicyTimeout, func(s *story) { s.row(s.key(1, 1)) }, keyvalue.CheckRows, "doubled"},
		{"a row is altered", PolicyTimeout, func(s *story) { s.rows[1].Value++ }, keyvalue.CheckRows, "altered"},
		{"a row of another client", PolicyTimeout, func(s *story) { key, _ := Key(5, 0, 1); s.row(key) }, keyvalue.CheckRows, "foreign"},
		{"a row of the reader's number", PolicyTimeout, func(s *story) { key, _ := Key(9, 0, 1); s.row(key) }, keyvalue.CheckRows, "foreign"},
		{"a row of nobody's", PolicyTimeout, func(s *story) { s.row(-5) }, keyvalue.CheckRows, "foreign"},
		{"a row of an attempt that was not made", PolicyTimeout, func(s *story) { s.row(s.key(1, 2)) }, keyvalue.CheckRows, "foreign"},
		{"a row of no attempt", PolicyTimeout, func(s *story) { key, _ := Key(0, 1, 0); s.row(key) }, keyvalue.CheckRows, "foreign"},
		{"a row of an attempt, where none has its own", PolicyIdempotent, func(s *story) { key, _ := Key(0, 1, 1); s.row(key) }, keyvalue.CheckRows, "foreign"},

		// What has no record because its client never came back.
		{"the next operation, which hung", PolicyTimeout, func(s *story) { s.row(s.key(3, 1)) }, "", ""},
		{"the one after it", PolicyTimeout, func(s *story) { s.row(s.key(4, 1)) }, keyvalue.CheckRows, "foreign"},
		{"the next one, beyond what was reserved", PolicyTimeout, func(s *story) { s.reserved[0] = 3; s.row(s.key(3, 1)) }, keyvalue.CheckRows, "foreign"},
		{"the next one, twice", PolicyTimeout, func(s *story) { s.row(s.key(3, 1)); s.row(s.key(3, 1)) }, keyvalue.CheckRows, "doubled"},
		{"the next one, altered", PolicyTimeout, func(s *story) { s.row(s.key(3, 1)); s.rows[3].Value++ }, keyvalue.CheckRows, "altered"},
		{"the second attempt of the next one", PolicyRetry, func(s *story) { s.row(s.key(3, 2)) }, keyvalue.CheckRows, "foreign"},
		{"the next attempt, which hung", PolicyRetry, func(s *story) { s.insert(3, 1, history.Failed, false); s.row(s.key(3, 2)) }, "", ""},
		{"the attempt after it", PolicyRetry, func(s *story) { s.insert(3, 1, history.Failed, false); s.row(s.key(3, 3)) }, keyvalue.CheckRows, "foreign"},
		{"the next attempt of what has ended", PolicyRetry, func(s *story) { s.insert(3, 1, history.Failed, true); s.row(s.key(3, 2)) }, keyvalue.CheckRows, "foreign"},
		{"the same number of attempt of an operation before", PolicyRetry, func(s *story) { s.insert(3, 1, history.Failed, false); s.row(s.key(1, 2)) }, keyvalue.CheckRows, "foreign"},
		{"an operation after one that goes on", PolicyRetry, func(s *story) { s.insert(3, 1, history.Failed, false); s.row(s.key(4, 1)) }, keyvalue.CheckRows, "foreign"},
		{"the next attempt of the same row, which hung", PolicyIdempotent, func(s *story) { s.insert(3, 1, history.Failed, false); s.row(s.key(3, 2)) }, "", ""},
		{"no next attempt of the same row", PolicyIdempotent, func(s *story) { s.insert(3, 1, history.Failed, true); s.row(s.key(3, 2)) }, keyvalue.CheckRows, "failed"},

		// What has no record because the run was killed.
		{"killed, an operation after the next", PolicyTimeout, func(s *story) { s.cut = true; s.row(s.key(50, 1)) }, "", ""},
		{"killed, beyond what was reserved", PolicyTimeout, func(s *story) { s.cut = true; s.row(s.key(100, 1)) }, keyvalue.CheckRows, "foreign"},
		{"killed, an attempt that is not made", PolicyTimeout, func(s *story) { s.cut = true; s.row(s.key(50, 2)) }, keyvalue.CheckRows, "foreign"},
		{"killed, an attempt that may be", PolicyRetry, func(s *story) { s.cut = true; s.row(s.key(50, 2)) }, "", ""},
		{"killed, further attempts", PolicyRetry, func(s *story) {
			s.cut = true
			s.insert(3, 1, history.Unknown, false)
			s.row(s.key(3, 7))
		}, "", ""},

		// Several attempts.
		{"each attempt is another row", PolicyRetry, func(s *story) {
			s.insert(3, 1, history.Unknown, false)
			s.insert(3, 2, history.Committed, true)
			s.insert(4, 1, history.Committed, true)
			s.row(s.key(3, 1))
			s.row(s.key(3, 2))
			s.row(s.key(4, 1))
		}, "", ""},
		{"only the unacknowledged row is there", PolicyRetry, func(s *story) {
			s.insert(3, 1, history.Unknown, false)
			s.insert(3, 2, history.Committed, true)
			s.row(s.key(3, 1))
		}, keyvalue.CheckAcknowledged, "lost"},
		{"a failed attempt has a row beside", PolicyRetry, func(s *story) {
			s.insert(3, 1, history.Failed, false)
			s.insert(3, 2, history.Committed, true)
			s.insert(4, 1, history.Unknown, true)
			s.row(s.key(3, 1))
			s.row(s.key(3, 2))
		}, keyvalue.CheckRows, "failed"},
		{"the attempts of one row", PolicyIdempotent, func(s *story) {
			s.insert(3, 1, history.Failed, false)
			s.insert(3, 2, history.Unknown, false)
			s.insert(3, 3, history.Failed, true).Final = history.Committed // a duplicate
			s.insert(4, 1, history.Committed, true)
			s.row(s.key(3, 1))
			s.row(s.key(4, 1))
		}, "", ""},
		{"a duplicate, of which the row is lost", PolicyIdempotent, func(s *story) {
			s.insert(3, 1, history.Unknown, false)
			s.insert(3, 2, history.Failed, true).Final = history.Committed
		}, keyvalue.CheckAcknowledged, "lost"},
		{"all attempts of one row failed", PolicyIdempotent, func(s *story) {
			s.insert(3, 1, history.Failed, false)
			s.insert(3, 2, history.Failed, true)
			s.row(s.key(3, 1))
		}, keyvalue.CheckRows, "failed"},
		{"one of them did not", PolicyIdempotent, func(s *story) {
			s.insert(3, 1, history.Unknown, false)
			s.insert(3, 2, history.Failed, true)
			s.row(s.key(3, 1))
		}, "", ""},

		// Reads.
		{"a wrong value was read", PolicyTimeout, func(s *story) { s.get(1, 50*ms, s.key(1, 1), ms, true).Values[3]++ }, keyvalue.CheckReads, "altered"},
		{"another row was read", PolicyTimeout, func(s *story) {
			op := s.get(1, 50*ms, s.key(1, 1), ms, true)
			op.Values[2], op.Values[3] = s.key(2, 1), Value(seed, s.key(2, 1))
		}, keyvalue.CheckReads, "other row"},
		{"nobody's row was read", PolicyTimeout, func(s *story) {
			op := s.get(1, 50*ms, s.key(1, 1), ms, true)
			op.Values[2], op.Values[3] = -1, Value(seed, -1)
		}, keyvalue.CheckReads, "foreign"},
		{"a key that cannot exist was read", PolicyTimeout, func(s *story) { s.get(1, 50*ms, keyvalue.Impossible, 0, true).Kind = keyvalue.KindProbe }, keyvalue.CheckReads, "foreign"},
		{"a key that cannot exist was not found", PolicyTimeout, func(s *story) { s.get(1, 50*ms, keyvalue.Impossible, 0, false).Kind = keyvalue.KindProbe }, "", ""},
		{"a row was read before it was written", PolicyTimeout, func(s *story) { s.get(1, 19*ms, s.key(2, 1), 0, true) }, keyvalue.CheckReads, "too early"},
		{"a row was read while it was written", PolicyTimeout, func(s *story) { s.get(1, 20*ms, s.key(2, 1), 0, true) }, "", ""},
		{"a failed row was read, which is gone", PolicyTimeout, func(s *story) {
			s.insert(3, 1, history.Failed, true)
			s.get(1, 50*ms, s.key(3, 1), 0, true)
		}, keyvalue.CheckReads, "failed"},
		{"an unknown row was read, which is gone", PolicyTimeout, func(s *story) {
			s.insert(3, 1, history.Unknown, true)
			s.get(1, 50*ms, s.key(3, 1), 0, true)
		}, "", ""},
		{"a row without a record was read", PolicyTimeout, func(s *story) { s.get(1, 50*ms, s.key(3, 1), 0, true) }, "", ""},
		{"a row is missed against the promise", PolicyTimeout, func(s *story) { linearizable(s); s.get(1, 50*ms, s.key(1, 1), 30*ms, false) }, keyvalue.CheckReads, "stale"},
		{"a row is missed by a secondary", PolicyTimeout, func(s *story) {
			linearizable(s)
			s.config.Read = store.ReadSecondaryPreferred
			s.get(1, 50*ms, s.key(1, 1), 30*ms, false)
		}, keyvalue.CheckReads, "stale"},
		{"a row is missed that nobody promised", PolicyTimeout, func(s *story) { s.get(1, 50*ms, s.key(1, 1), 30*ms, false) }, keyvalue.CheckReads, "stale"},
		{"a row is missed that was lost", PolicyTimeout, func(s *story) {
			linearizable(s)
			s.without(s.key(1, 1))
			s.get(1, 50*ms, s.key(1, 1), 30*ms, false)
		}, keyvalue.CheckAcknowledged, "lost"},
		{"a row without a record is missed", PolicyTimeout, func(s *story) {
			linearizable(s)
			s.row(s.key(3, 1))
			s.get(1, 50*ms, s.key(3, 1), ms, false)
		}, keyvalue.CheckReads, "stale"},
		{"a read that failed is none", PolicyTimeout, func(s *story) {
			linearizable(s)
			op := s.get(1, 50*ms, s.key(1, 1), ms, false)
			op.Outcome, op.Final, op.Values = history.Failed, history.Failed, nil
		}, "", ""},
	}
	for _, test := range tests {
		s := told(test.policy)
		test.tell(s)
		results, _ := s.judge(t)
		got := findings(t, results)
		want := map[string][]string{}
		if test.check != "" {
			want[test.check] = []string{test.kind}
		}
		for _, name := range []string{keyvalue.CheckAcknowledged, keyvalue.CheckRows, keyvalue.CheckReads} {
			if !slices.Equal(got[name], want[name]) {
				t.Errorf("%s: %s found %v, want %v", test.name, name, got[name], want[name])
			}
		}
		allowed := slices.Contains([]string{"a row is missed by a secondary", "a row is missed that nobody promised"}, test.name)
		for _, r := range results {
			if r.Verdict == check.Unknown || r.Found > 0 && (r.Verdict == check.Allowed) != allowed {
				t.Errorf("%s: %s is %s: %s", test.name, r.Name, r.Verdict, r.Detail)
			}
		}
	}
}

// TestNothingIsNotValid: what was not looked at has no verdict.
func TestNothingIsNotValid(t *testing.T) {
	const v, u, x = check.Valid, check.Unknown, check.Violated
	tests := []struct {
		name                      string
		tell                      func(*story)
		acknowledged, rows, reads check.Verdict
	}{
		{"all is there", func(*story) {}, v, v, v},
		{"nothing was done", func(s *story) { s.ops, s.rows = nil, nil }, u, u, u},
		{"nothing was acknowledged", func(s *story) {
			s.ops, s.rows = nil, nil
			s.insert(0, 1, history.Unknown, true)
			s.row(s.key(0, 1))
		}, u, v, u},
		{"nothing was read", func(s *story) { s.ops = s.ops[:3] }, v, v, u},
		{"nothing but what cannot be was read", func(s *story) {
			s.ops[3].Kind, s.ops[3].Values = keyvalue.KindProbe, []int64{keyvalue.Impossible, 0}
		}, v, v, u},
		{"not read back", func(s *story) { s.noState = true }, u, u, v},
		{"not read back, and a row was missed", func(s *story) {
			s.noState, s.promise = true, store.Linearizable
			s.get(1, 50*ms, s.key(1, 1), ms, false)
		}, u, u, u},
		{"not settled", func(s *story) { s.inFlight = "a session is still there" }, u, u, v},
		{"not settled, and a row is missing", func(s *story) { s.inFlight = "no majority"; s.without(s.key(1, 1)) }, u, u, v},
		{"not settled, and a row is altered", func(s *story) { s.inFlight = "no majority"; s.rows[0].Value++ }, u, x, v},
	}
	for _, test := range tests {
		s := told(PolicyTimeout)
		test.tell(s)
		results, _ := s.judge(t)
		for i, want := range []check.Verdict{test.acknowledged, test.rows, test.reads} {
			if r := results[i]; r.Verdict != want {
				t.Errorf("%s: %s is %v, want %v: %s", test.name, r.Name, r.Verdict, want, r.Detail)
			}
		}
	}
	s := told(PolicyTimeout)
	s.config.Readers = 0
	if results, _ := s.judge(t); len(results) != 2 {
		t.Errorf("without readers there are %d checks", len(results))
	}
}

// TestACutStateConvictsByWhatIsThere takes the end of the state away.
func TestACutStateConvictsByWhatIsThere(t *testing.T) {
	s := told(PolicyTimeout)
	s.without(s.key(0, 1))
	key, _ := Key(5, 0, 1)
	s.row(key)
	e := s.write(t)
	err := history.SaveRecords(e.State, preset(s.config, seed).Magic, func() {}, func(w *history.RecordWriter) error {
		return w.Put(1, key, Value(seed, key))
	})
	expect.NoError(t, err)
	results, f, err := Judge(s.config, seed, e)
	expect.NoError(t, err)
	if results[0].Verdict != check.Unknown || results[1].Verdict != check.Violated || f.Missing == "" {
		t.Errorf("%+v, %+v", results, f)
	}
}

func TestFigures(t *testing.T) {
	s := told(PolicyRetry)
	s.insert(3, 1, history.Unknown, false)
	s.insert(3, 2, history.Failed, false)
	s.insert(3, 3, history.Committed, true)
	s.insert(4, 1, history.Unknown, true).Error = history.ClassHung
	s.insert(5, 1, history.Unknown, true)
	s.insert(6, 1, history.Failed, true)
	s.insert(7, 1, history.Failed, true)
	for _, key := range []int64{s.key(3, 1), s.key(3, 3), s.key(4, 1), s.key(6, 1), s.key(8, 1)} {
		s.row(key)
	}
	s.without(s.key(2, 1))
	s.get(1, 50*ms, s.key(0, 1), 40*ms, false)
	s.get(2, 52*ms, s.key(1, 1), 32*ms, false)
	s.get(3, 54*ms, s.key(2, 1), 4*ms, false)
	s.get(4, 56*ms, keyvalue.Impossible, 0, false).Kind = keyvalue.KindProbe
	late := s.get(5, 58*ms, s.key(0, 1), 0, false)
	late.Outcome, late.Final, late.Values, late.End, late.Error = history.Unknown, history.Unknown, nil, 90*ms, history.ClassHung
	_, got := s.judge(t)
	want := Figures{
		Writes: history.Counts{Committed: 4, Unknown: 2, Failed: 2},
		Reads:  history.Counts{Committed: 5, Failed: 1},
		Figures: keyvalue.Figures{
			Rows: 7, Acknowledged: 4, Lost: 1, Duplicates: 1, Surplus: 1, UnknownDone: 1, FailedDone: 1,
			Answered: 4, Stale: 2, StaleBy: 40 * ms, Missed: 1,
		},
		HungWrites: 1, HungReads: 1,
	}
	impact := got.Impact
	got.Impact = measure.Impact{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("figures\n%+v, want\n%+v", got, want)
	}
	if impact.LongestWrite.Length != 9*ms || impact.LongestRead != (measure.Call{Length: 32 * ms, Cut: true}) ||
		impact.Writes != gap(60, 100, true) || impact.Reads != gap(57, 100, true) {
		t.Errorf("impact %+v", impact)
	}
}

// gap is a time without a success, in milliseconds.
func gap(from, to int64, cut bool) measure.Gap {
	return measure.Gap{From: from * ms, To: to * ms, Open: cut, Known: true}
}

// TestARowThatARepetitionMetConvictsNobody: it was there, and nobody has acknowledged that it
// stays. Its loss is a figure of its own.
func TestARowThatARepetitionMetConvictsNobody(t *testing.T) {
	s := told(PolicyIdempotent)
	for seq := uint64(3); seq < 6; seq++ {
		s.insert(seq, 1, history.Unknown, false)
		met := s.insert(seq, 2, history.Failed, true)
		met.Error = store.ClassMet
	}
	s.row(s.key(3, 2))
	results, got := s.judge(t)
	for _, r := range results {
		if r.Verdict != check.Valid {
			t.Errorf("%s is %v: %s", r.Name, r.Verdict, r.Detail)
		}
	}
	if got.Met != 3 || got.MetGone != 2 || got.Lost != 0 || got.Acknowledged != 3 || got.UnknownDone != 1 || got.Writes.Unknown != 3 {
		t.Errorf("%+v", got)
	}
	s.ops[len(s.ops)-1].Final = history.Committed // as a database says that confirms it
	s.ops[len(s.ops)-1].Error = store.ClassDuplicate
	if results, got = s.judge(t); results[0].Verdict != check.Violated || got.Lost != 1 || got.MetGone != 1 {
		t.Errorf("%+v, %+v", results[0], got)
	}
}

func TestOutages(t *testing.T) {
	for name, test := range map[string]struct {
		tell func(*story)
		want measure.Gap
	}{
		"at the end":    {func(*story) {}, gap(30, 100, true)},
		"in the middle": {func(s *story) { s.ops[2].End = 95 * ms }, gap(20, 95, false)},
		"before the first success": {func(s *story) {
			s.ops = s.ops[:0]
			s.insert(0, 1, history.Unknown, true)
			s.insert(1, 1, history.Committed, true).End = 90 * ms
		}, gap(0, 90, false)},
		"records out of order":     {func(s *story) { s.ops[1].End = 80 * ms }, gap(10, 80, false)},
		"and no success after":     {func(s *story) { s.ops[0].End = 98 * ms }, gap(0, 98, false)},
		"an unknown is no success": {func(s *story) { s.insert(3, 1, history.Unknown, true).End = 60 * ms }, gap(30, 100, true)},
		"a duplicate is one": {func(s *story) {
			s.config.Policy = PolicyIdempotent
			op := s.insert(3, 1, history.Failed, true)
			op.End, op.Final = 60*ms, history.Committed
		}, gap(60, 100, false)},
		"ended after the end": {func(s *story) {
			s.insert(3, 1, history.Committed, true).End = 500 * ms
			s.after, s.ops = s.ops[len(s.ops)-1:], s.ops[:len(s.ops)-1]
		}, gap(30, 500, false)},
	} {
		s := told(PolicyTimeout)
		test.tell(s)
		if _, got := s.judge(t); got.Impact.Writes != test.want {
			t.Errorf("%s: the outage is %+v, want %+v", name, got.Impact.Writes, test.want)
		}
	}
}

// TestOutagesWithoutOperationsAreNotKnown: nobody wrote or read, and no time without a success is 0.
func TestOutagesWithoutOperationsAreNotKnown(t *testing.T) {
	s := told(PolicyTimeout)
	_, f := s.judge(t)
	if a := s.config.section(f); a.WriteOutage != 70 {
		t.Errorf("the outage is %g ms, want 70", a.WriteOutage)
	}
	if a := s.config.section(Figures{}); a.WriteOutage != -1 || a.ReadOutage != -1 {
		t.Errorf("without an operation the outages are %g and %g ms", a.WriteOutage, a.ReadOutage)
	}
}

// TestADuplicateIsAcknowledged even if nothing else is.
func TestADuplicateIsAcknowledged(t *testing.T) {
	s := told(PolicyIdempotent)
	s.ops, s.rows = nil, nil
	s.insert(0, 1, history.Unknown, false)
	s.insert(0, 2, history.Failed, true).Final = history.Committed
	s.row(s.key(0, 1))
	if results, _ := s.judge(t); results[0].Verdict != check.Valid {
		t.Errorf("%+v", results[0])
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	for name, tell := range map[string]func(*story){
		"an operation left out": func(s *story) { s.ops = slices.Delete(s.ops, 1, 2) },
		"an operation twice":    func(s *story) { s.ops = append(s.ops, s.ops[2]) },
		"an attempt left out":   func(s *story) { s.insert(3, 2, history.Unknown, true) },
		"an attempt beyond its operation": func(s *story) {
			s.insert(3, 1, history.Failed, true)
			s.insert(3, 2, history.Failed, true)
		},
		"a client without a key":    func(s *story) { s.ops[0].Client, s.ops[0].Seq = MaxClient+1, 0; s.ops = s.ops[:1] },
		"a read without values":     func(s *story) { s.ops[3].Values = nil },
		"a read with half of a row": func(s *story) { s.ops[3].Values = s.ops[3].Values[:3] },
	} {
		s := told(PolicyRetry)
		tell(s)
		var malformed *history.FormatError
		if _, _, err := Judge(s.config, seed, s.write(t)); !errors.As(err, &malformed) {
			t.Errorf("%s: %v, want *history.FormatError", name, err)
		}
	}
	s := told(PolicyTimeout)
	e := s.write(t)
	err := history.SaveRecords(e.State, preset(s.config, seed).Magic, func() {}, func(w *history.RecordWriter) error {
		return errors.Join(w.Put(1, 1, 1), w.Put(2, 2))
	})
	var malformed *history.FormatError
	if _, _, judged := Judge(s.config, seed, e); err != nil || !errors.As(judged, &malformed) {
		t.Errorf("a count that does not match: %v, %v", err, judged)
	}
}
