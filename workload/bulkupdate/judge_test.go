package bulkupdate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
)

const seed = 7

// story is a run, written by hand: three users of four documents each, a round
// of one worker (client 0) and one of two (clients 1 and 2).
type story struct {
	config    Config
	promise   string
	inFlight  string
	ops       []history.Op
	documents []Document
	noEnd     bool // the history has no end
	noState   bool
}

// told returns a run in which all went well.
func told() *story {
	s := &story{config: Config{Users: 3, Documents: 4, Workers: "1,2", Field: FieldAlternate, Loaders: 1}, promise: PromiseAtomic}
	for user := int64(1); user <= 3; user++ {
		s.update(0, user, 1, history.Committed, 4)
	}
	s.update(1, 1, 2, history.Committed, 4)
	s.update(2, 2, 2, history.Committed, 4)
	s.update(1, 3, 2, history.Committed, 4)
	all := documents{s.config, seed}
	for id := int64(1); id <= all.Len(); id++ {
		s.documents = append(s.documents, all.At(id))
	}
	for user := int64(1); user <= 3; user++ {
		s.set(user, 2, 4)
	}
	return s
}

// update adds an operation of one attempt.
func (s *story) update(client int, user, generation int64, outcome history.Outcome, changed int64) *history.Op {
	seq := uint64(0)
	for _, op := range s.ops {
		if op.Client == client && op.Last {
			seq++
		}
	}
	op := history.Op{Client: client, Seq: seq, Attempt: 1, Last: true, Kind: KindUpdate, Outcome: outcome, Final: outcome,
		Values: []int64{user, generation, changed}, Start: int64(len(s.ops)), End: int64(len(s.ops)) + 1}
	if outcome != history.Committed {
		op.Error = "timeout"
	}
	s.ops = append(s.ops, op)
	return &s.ops[len(s.ops)-1]
}

// at is the operation of a user and generation.
func (s *story) at(user, generation int64) *history.Op {
	for i := range s.ops {
		if s.ops[i].Values[0] == user && s.ops[i].Values[1] == generation {
			return &s.ops[i]
		}
	}
	panic("there is no such operation")
}

func (s *story) end(user, generation int64, outcome history.Outcome) {
	op := s.at(user, generation)
	op.Outcome, op.Final, op.Values[2] = outcome, outcome, 0
}

// without takes an operation away.
func (s *story) without(user, generation int64) {
	s.ops = slices.DeleteFunc(s.ops, func(op history.Op) bool { return op.Values[0] == user && op.Values[1] == generation })
}

// set gives the first documents of a user this generation.
func (s *story) set(user, generation int64, first int) {
	all := documents{s.config, seed}
	for i := range s.documents {
		if d := &s.documents[i]; d.User == user && d.Number <= int64(first) {
			d.Generation, d.Flag = generation, all.flag(d.ID, generation)
		}
	}
}

func (s *story) each(use func(Document) error) (err error) {
	for _, d := range s.documents {
		err = errors.Join(err, use(d))
	}
	return err
}

func (s *story) judge(t *testing.T) (definition.Judgement, error) {
	t.Helper()
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, FileState), Promise: s.promise, InFlight: s.inFlight}
	w, err := history.Create(e.History, history.Header{Run: "told"})
	for client := range 3 {
		err = errors.Join(err, w.Reserve(history.Reservation{Client: client, UpTo: 100}))
	}
	for i := range s.ops {
		err = errors.Join(err, w.Record(&s.ops[i]))
	}
	if s.noEnd {
		err = errors.Join(err, w.Mark(history.Event{Name: "flushed"}))
		info, statErr := os.Stat(e.History)
		err = errors.Join(err, statErr, w.Close(), os.Truncate(e.History, info.Size()))
	} else {
		err = errors.Join(err, w.Close())
	}
	if !s.noState {
		err = errors.Join(err, save(e.State, func(int64) {}, s.each))
	}
	expect.NoError(t, err)
	return s.config.Judge(t.Context(), seed, e)
}

func TestJudge(t *testing.T) {
	tests := []struct {
		name     string
		change   func(*story)
		findings []string // check and kind
	}{
		{"all went well", func(*story) {}, nil},
		{"an update is lost", func(s *story) { s.set(2, 1, 4) }, []string{"documents lost"}},
		{"an update is lost, of the opening state", func(s *story) { s.set(2, 0, 4) }, []string{"documents lost"}},
		{"an update has reached a part", func(s *story) { s.set(2, 1, 3) }, []string{"documents partial"}},
		{"one of an unknown update", func(s *story) { s.end(2, 2, history.Unknown); s.set(2, 1, 1) }, []string{"documents partial"}},
		{"the same without the promise", func(s *story) { s.promise = ""; s.end(2, 2, history.Unknown); s.set(2, 1, 1) }, nil},
		{"an unknown update is done", func(s *story) { s.end(2, 2, history.Unknown) }, nil},
		{"an unknown update is not done", func(s *story) { s.end(2, 2, history.Unknown); s.set(2, 1, 4) }, nil},
		{"an unknown update is done late", func(s *story) { s.end(2, 1, history.Unknown); s.set(2, 1, 4) }, nil},
		{"an unknown update cannot take one back", func(s *story) { s.end(2, 2, history.Unknown); s.set(2, 0, 4) }, []string{"documents lost"}},
		{"a failed update is not done", func(s *story) { s.end(2, 2, history.Failed); s.set(2, 1, 4) }, nil},
		{"a failed update is done", func(s *story) { s.end(2, 2, history.Failed) }, []string{"documents failed"}},
		{"a failed update is done in part", func(s *story) { s.end(2, 2, history.Failed); s.set(2, 1, 2) }, []string{"documents failed"}},
		{"an update that was never begun", func(s *story) { s.without(3, 2) }, []string{"documents foreign"}},
		{"the same in a run that was killed", func(s *story) { s.without(3, 2); s.noEnd = true }, nil},
		{"not done in a run that was killed", func(s *story) { s.without(3, 2); s.noEnd = true; s.set(3, 1, 4) }, nil},
		{"lost in a run that was killed", func(s *story) { s.noEnd = true; s.set(3, 1, 4) }, []string{"documents lost"}},
		{"a generation beyond the last", func(s *story) { s.set(1, 3, 4) }, []string{"documents foreign"}},
		{"a generation below the first", func(s *story) { s.documents[0].Generation = -1 }, []string{"documents foreign"}},
		{"a document is missing", func(s *story) { s.documents = s.documents[1:] }, []string{"documents missing"}},
		{"all of a user are missing", func(s *story) { s.documents = s.documents[4:] }, []string{"documents missing"}},
		{"a document is there twice", func(s *story) { s.documents = append(s.documents, s.documents[3]) }, []string{"documents doubled"}},
		{"a document of nobody's", func(s *story) { s.documents = append(s.documents, Document{ID: 13, Generation: 2}) }, []string{"documents foreign"}},
		{"a document of id 0", func(s *story) { s.documents = append(s.documents, Document{}) }, []string{"documents foreign"}},
		{"a boolean is wrong", func(s *story) { s.documents[5].Flag = !s.documents[5].Flag }, []string{"documents altered"}},
		{"a payload is wrong", func(s *story) { s.documents[5].Payload = "f" + s.documents[5].Payload[1:] + "e" }, []string{"documents altered"}},
		{"another owner", func(s *story) { s.documents[5].User = 3 }, []string{"documents altered"}},
		{"another number", func(s *story) { s.documents[5].Number = 3 }, []string{"documents altered"}},
		{"a count is too low", func(s *story) { s.at(1, 1).Values[2] = 3 }, []string{"counts count"}},
		{"a count is too high", func(s *story) { s.at(1, 1).Values[2] = 5 }, []string{"counts count"}},
		{"a count below none", func(s *story) { s.at(1, 1).Values[2] = -1 }, []string{"counts count"}},
	}
	for _, test := range tests {
		s := told()
		test.change(s)
		j, err := s.judge(t)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got []string
		for _, r := range j.Results {
			for _, e := range r.Evidence {
				got = append(got, r.Name+" "+e.Kind)
				if e.Text == "" || len(e.Fields) == 0 {
					t.Errorf("%s: evidence %+v says nothing", test.name, e)
				}
			}
			want := check.Valid
			if r.Found > 0 {
				want = check.Violated
			}
			if r.Verdict != want || r.Detail == "" {
				t.Errorf("%s: %s is %v, %q", test.name, r.Name, r.Verdict, r.Detail)
			}
		}
		if !slices.Equal(got, test.findings) {
			t.Errorf("%s: found %v, want %v", test.name, got, test.findings)
		}
	}
}

// TestARepeatedUpdateMayFindItsWorkDone: of an attempt after one without an
// answer any count is right.
func TestARepeatedUpdateMayFindItsWorkDone(t *testing.T) {
	for changed, wrong := range map[int64]bool{0: false, 2: false, 4: false, 5: true} {
		s := told()
		first := s.at(3, 2)
		first.Outcome, first.Final, first.Last, first.Error, first.Values = history.Unknown, history.Unknown, false, "timeout", []int64{3, 2, 0}
		again := *first
		again.Attempt, again.Last, again.Outcome, again.Final, again.Error, again.Values = 2, true, history.Committed, history.Committed, "", []int64{3, 2, changed}
		s.ops = append(s.ops, again)
		j, err := s.judge(t)
		expect.NoError(t, err)
		if got := j.Results[1].Found > 0; got != wrong || j.Results[0].Verdict != check.Valid {
			t.Errorf("%d changed: %+v", changed, j.Results)
		}
		if j.Counts.Committed != 6 || j.Counts.Unknown != 0 {
			t.Errorf("outcomes %v", j.Counts)
		}
	}
}

// TestUnknownVerdicts: what was not looked at is not valid.
func TestUnknownVerdicts(t *testing.T) {
	for name, change := range map[string]func(*story){
		"not read back": func(s *story) { s.noState = true },
		"in flight":     func(s *story) { s.inFlight = "a client never came back" },
		"nothing done":  func(s *story) { s.ops = nil; s.set(1, 0, 4); s.set(2, 0, 4); s.set(3, 0, 4) },
	} {
		s := told()
		change(s)
		j, err := s.judge(t)
		if err != nil || j.Results[0].Verdict != check.Unknown || j.Results[0].Found != 0 {
			t.Errorf("%s: %v %+v", name, err, j.Results)
		}
	}
}

// TestMalformedHistories are no verdict but an error.
func TestMalformedHistories(t *testing.T) {
	for name, change := range map[string]func(*story){
		"no values":              func(s *story) { s.ops[0].Values = nil },
		"no such user":           func(s *story) { s.ops[0].Values[0] = 4 },
		"another round's client": func(s *story) { s.ops[0].Values[1] = 2 },
		"no such round":          func(s *story) { s.ops[0].Client, s.ops[0].Values[1] = 3, 3 },
		"a task done twice":      func(s *story) { s.update(2, 1, 2, history.Committed, 4) },
	} {
		s := told()
		change(s)
		_, err := s.judge(t)
		var malformed *history.FormatError
		if !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigs(t *testing.T) {
	for workers, want := range map[string][]int{
		"1": {1}, "1..4": {1, 2, 3, 4}, "1,5,15,30": {1, 5, 15, 30}, "4, 1..2": {4, 1, 2}, "30,1": {30, 1},
		"": nil, "0": nil, "3..1": nil, "1,1": nil, "1..3,2": nil, "1..64": nil, "a": nil, "1..": nil, "1,": nil, "-1": nil, "10001": nil,
	} {
		c := Defaults()
		c.Workers = workers
		got, err := c.workers()
		var refused *store.OptionError
		if !slices.Equal(got, want) || errors.As(err, &refused) != (want == nil) || (c.Validate() == nil) != (want != nil) {
			t.Errorf("%q: %v, %v, want %v", workers, got, err, want)
		}
	}
	c := Defaults()
	c.Documents = maxDocuments
	var refused *store.OptionError
	if err := c.Validate(); !errors.As(err, &refused) || refused.Option != "--documents" {
		t.Errorf("too many documents: %v", err)
	}
}

func TestDocuments(t *testing.T) {
	for _, field := range []string{FieldOff, FieldAlternate, FieldRandom} {
		all := documents{Config{Users: 20, Documents: 50, Field: field}, seed}
		on, payloads := 0, map[string]bool{}
		for id := int64(1); id <= all.Len(); id++ {
			d := all.At(id)
			if d.ID != id || d.User != (id-1)/50+1 || d.Number != (id-1)%50+1 || d.Generation != 0 || len(d.Payload) != PayloadBytes || d != all.At(id) {
				t.Fatalf("%+v", d)
			}
			if d.Flag {
				on++
			}
			payloads[d.Payload] = true
		}
		low, high := map[string]int{FieldOff: 0, FieldAlternate: 500, FieldRandom: 400}[field], map[string]int{FieldOff: 0, FieldAlternate: 500, FieldRandom: 600}[field]
		if on < low || on > high || len(payloads) != 1000 {
			t.Errorf("%s: the boolean is set in %d of 1000; %d payloads", field, on, len(payloads))
		}
	}
}
