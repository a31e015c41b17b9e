package candles

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
)

// story is a run as it is told to the judge: everything went well, and then
// something is changed.
type story struct {
	t       *testing.T
	config  Config
	queries queries
	// batches are how the writes ended, there what of each is in the database.
	batches []history.Outcome
	rows    []Candle
	// answers are changed by answer before they are recorded.
	answer func(kind uint8, task int64, rows []Candle) []Candle
	fail   bool // all queries
}

const storySeed = 3

func newStory(t *testing.T) *story {
	config := small()
	s := &story{t: t, config: config, queries: queries{NewGenerator(config, storySeed), config}}
	for range config.batches() {
		s.batches = append(s.batches, history.Committed)
	}
	for n := range config.Candles {
		s.rows = append(s.rows, s.queries.Candle(n))
	}
	return s
}

// without takes rows out of the database.
func (s *story) without(gone func(c Candle) bool) { s.rows = slices.DeleteFunc(s.rows, gone) }

func (s *story) inBatch(batch int64) func(c Candle) bool {
	first, end := s.config.batch(batch)
	return func(c Candle) bool { return c.ID >= first && c.ID < end }
}

// ask answers as a database with these rows does.
func (s *story) ask(q query) (found []Candle) {
	for _, c := range slices.Backward(s.rows) {
		if (q.ticker < 0 || c.Ticker == s.queries.Ticker(q.ticker)) && c.Moment >= q.from && c.Moment < q.to && (q.limit == 0 || len(found) < q.limit) {
			found = append(found, c)
		}
	}
	return found
}

func (s *story) judge(change ...func(*definition.Evidence)) Judgement {
	s.t.Helper()
	folder := s.t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, FileState)}
	w, err := history.Create(e.History, history.Header{Run: "story", Workload: "candles"})
	if err != nil {
		s.t.Fatal(err)
	}
	at := int64(0)
	record := func(client int, seq uint64, kind uint8, outcome history.Outcome, values ...int64) {
		at += 1000
		if err := w.Record(&history.Op{Client: client, Seq: seq, Attempt: 1, Last: true, Kind: kind, Outcome: outcome, Final: outcome,
			Start: at, First: at, Due: at, End: at + 500, Values: values}); err != nil {
			s.t.Fatal(err)
		}
	}
	for i, outcome := range s.batches {
		record(0, uint64(i), KindInsert, outcome, int64(i))
	}
	for client, kind := range []uint8{KindLatest, KindInterval, KindDay} {
		for task := range s.queries.tasks(kind) {
			if s.fail {
				record(client+1, uint64(task), kind, history.Failed, passFirst, task)
				continue
			}
			rows := s.ask(s.queries.at(kind, task))
			if s.answer != nil {
				rows = s.answer(kind, task, rows)
			}
			var tally Tally
			for i := range rows {
				tally.Add(&rows[i])
			}
			record(client+1, uint64(task), kind, history.Committed, passFirst, task, tally.Rows, int64(tally.Sum), tally.Bytes)
		}
	}
	if err := w.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.save(e.State)
	for _, c := range change {
		c(&e)
	}
	j, err := Judge(s.config, storySeed, e)
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

func (s *story) save(path string) {
	r := newReading(s.queries.Generator, s.config)
	for i := range s.rows {
		r.row(&s.rows[i])
	}
	err := history.SaveRecords(path, stateMagic, func() {}, func(w *history.RecordWriter) error {
		return r.put(w, store.Size{Bytes: 3, Tables: 2, Indexes: 1})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// want compares the two verdicts, and the kinds of evidence.
func want(t *testing.T, j Judgement, ingest, answers check.Verdict, kinds ...string) {
	t.Helper()
	var got []string
	for i, verdict := range []check.Verdict{ingest, answers} {
		r := j.Results[i]
		if r.Verdict != verdict {
			t.Errorf("%s is %s, want %s: %s", r.Name, r.Verdict, verdict, r.Detail)
		}
		for _, e := range r.Evidence {
			if !slices.Contains(got, e.Kind) {
				got = append(got, e.Kind)
			}
		}
	}
	if slices.Sort(got); !slices.Equal(got, kinds) {
		t.Errorf("evidence of %v, want %v", got, kinds)
	}
}

func TestAllIsWell(t *testing.T) {
	s := newStory(t)
	j := s.judge()
	want(t, j, check.Valid, check.Valid)
	f := j.Figures
	if f.Rows != 1003 || f.Size.Tables != 2 || f.Rounds["day, first"].Rows != 1003 || f.Rounds["ingest"].Rows != 1003 ||
		f.Rounds["quick, first"].Answers != 40 || f.Outcomes.Committed != 21+40+20+2 {
		t.Errorf("%+v", f)
	}
}

func TestAnswersThatAreWrong(t *testing.T) {
	for kind, change := range map[string]func(rows []Candle) []Candle{
		"cut short": func(rows []Candle) []Candle { return rows[:len(rows)-1] },
		"foreign":   func(rows []Candle) []Candle { return append(rows, rows[0]) },
		"altered": func(rows []Candle) []Candle {
			rows[0].Closing++
			return rows
		},
	} {
		for _, which := range []uint8{KindLatest, KindInterval, KindDay} {
			s := newStory(t)
			s.answer = func(k uint8, task int64, rows []Candle) []Candle {
				if k == which && len(rows) > 0 && task == s.queries.tasks(which)-1 {
					return change(slices.Clone(rows))
				}
				return rows
			}
			j, found := s.judge(), kind
			if kind == string(answerAltered) && which == KindLatest {
				found = string(answerOther) // an older row could have taken the place of a missing one
			}
			want(t, j, check.Valid, check.Violated, found)
			if e := j.Results[1].Evidence[0]; j.Results[1].Found != 1 || !strings.Contains(e.Text, "first") || e.Fields["task"] != s.queries.tasks(which)-1 {
				t.Errorf("%+v", j.Results[1])
			}
		}
	}
	s := newStory(t) // one row in the place of another
	s.answer = func(kind uint8, _ int64, rows []Candle) []Candle {
		if kind == KindDay {
			rows = slices.Clone(rows)
			rows[0] = rows[1]
		}
		return rows
	}
	want(t, s.judge(), check.Valid, check.Violated, "altered")
}

// TestAnswersOfAnEventualDatabase: an old state is allowed, and a state
// that never was does.
func TestAnswersOfAnEventualDatabase(t *testing.T) {
	eventual := func(e *definition.Evidence) { e.Promise = PromiseEventual }
	s := newStory(t)
	s.answer = func(kind uint8, _ int64, rows []Candle) []Candle { return rows[:len(rows)/2] }
	want(t, s.judge(eventual), check.Valid, check.Allowed, string(answerCut))
	s.answer = func(_ uint8, _ int64, rows []Candle) []Candle { return append(slices.Clone(rows), s.rows[0]) }
	want(t, s.judge(eventual), check.Valid, check.Violated, "foreign")
}

// TestOldAnswersWithAsManyRows: an eventual database may answer from a state without an acknowledged
// batch. Older rows, or those of a batch without an answer, then take the place of its rows.
func TestOldAnswersWithAsManyRows(t *testing.T) {
	eventual := func(e *definition.Evidence) { e.Promise = PromiseEventual }
	s := newStory(t)
	newest := s.inBatch(19) // the last whole one
	s.answer = func(kind uint8, task int64, rows []Candle) []Candle {
		if kind != KindLatest {
			return rows
		}
		old := *s
		old.rows = slices.DeleteFunc(slices.Clone(s.rows), newest)
		return old.ask(s.queries.at(kind, task))
	}
	want(t, s.judge(eventual), check.Valid, check.Allowed, "other rows")
	want(t, s.judge(), check.Valid, check.Violated, "other rows")

	s = newStory(t)
	s.batches[3], s.batches[20] = history.Unknown, history.Unknown // both are there; batch 2 is as long as batch 3
	s.answer = func(kind uint8, _ int64, rows []Candle) []Candle {
		if kind != KindDay {
			return rows
		}
		return slices.DeleteFunc(slices.Clone(rows), s.inBatch(2))
	}
	j := s.judge(eventual)
	want(t, j, check.Valid, check.Unknown, "other rows") // quick queries are unsure
	if j.Results[1].Found != 1 || j.Figures.Unsure == 0 {
		t.Errorf("%+v", j.Results[1])
	}
}

// TestManyRowsThatAreWrong counts each kind, though batches are lost, too.
func TestManyRowsThatAreWrong(t *testing.T) {
	s := newStory(t)
	for i := range s.rows {
		s.rows[i].Note = "another"
	}
	for batch := int64(0); batch < 8; batch++ {
		s.without(s.inBatch(batch))
	}
	ingest := s.judge().Results[0]
	if ingest.Found != 603+8 || len(ingest.Findings) != 2 || ingest.Findings[0].Found != 603 || ingest.Findings[1].Found != 8 {
		t.Errorf("%+v", ingest)
	}
}

func TestRowsThatAreWrong(t *testing.T) {
	s := newStory(t)
	s.without(func(c Candle) bool { return c.ID == 77 })
	j := s.judge()
	want(t, j, check.Violated, check.Violated, "cut short", "lost")
	if e := j.Results[0].Evidence[0]; e.Fields["batch"] != 1 || e.Fields["missing"] != 77 {
		t.Errorf("%+v", e)
	}
	s = newStory(t)
	s.rows[5].Note = "another"
	want(t, s.judge(), check.Violated, check.Violated, "altered")
	s = newStory(t)
	s.rows = append(s.rows, s.rows[9])
	want(t, s.judge(), check.Violated, check.Violated, "doubled", "foreign", "other rows")
	s = newStory(t)
	strange := s.rows[9]
	strange.ID, strange.Moment = 5000, 1
	s.rows = append(s.rows, strange)
	want(t, s.judge(), check.Violated, check.Valid, "foreign")
	s = newStory(t)
	s.batches[2] = history.Failed
	if j := s.judge(); j.Results[0].Evidence[0].Kind != "failed" || j.Results[1].Verdict != check.Violated {
		t.Errorf("%+v", j.Results)
	}
	s.without(s.inBatch(2))
	want(t, s.judge(), check.Valid, check.Valid)
}

// TestWritesWithoutAnAnswer: whatever is there of them, all, nothing or some,
// is nobody's fault; what was acknowledged must be there all the same.
func TestWritesWithoutAnAnswer(t *testing.T) {
	for name, gone := range map[string]func(c Candle) bool{
		"all": func(Candle) bool { return false }, "nothing": func(Candle) bool { return true }, "some": func(c Candle) bool { return c.ID%2 == 0 },
	} {
		s := newStory(t)
		s.batches[2], s.batches[20] = history.Unknown, history.Unknown
		in := s.inBatch(2)
		last := s.inBatch(20)
		s.without(func(c Candle) bool { return (in(c) || last(c)) && gone(c) })
		j := s.judge()
		want(t, j, check.Valid, check.Unknown)
		if j.Figures.Unsure == 0 {
			t.Errorf("%s: no answer is unsure, though the last rows of a ticker may be any", name)
		}
		s.answer = func(kind uint8, _ int64, rows []Candle) []Candle {
			if kind == KindDay {
				return rows[:len(rows)/4]
			}
			return rows
		}
		want(t, s.judge(), check.Valid, check.Violated, "cut short")
	}
}

func TestNothingIsUnknown(t *testing.T) {
	s := newStory(t)
	want(t, s.judge(func(e *definition.Evidence) { e.State += ".none" }), check.Unknown, check.Valid)
	want(t, s.judge(func(e *definition.Evidence) { e.InFlight = "it may be" }), check.Unknown, check.Valid)
	s.fail = true
	want(t, s.judge(), check.Valid, check.Unknown)
	s = newStory(t)
	for i := range s.batches {
		s.batches[i] = history.Failed
	}
	s.rows = nil
	want(t, s.judge(), check.Unknown, check.Unknown)
}

func TestStateThatIsNotWhole(t *testing.T) {
	s := newStory(t)
	j := s.judge(func(e *definition.Evidence) {
		text, err := os.ReadFile(e.State)
		expect.NoError(t, err)
		expect.NoError(t, os.WriteFile(e.State, text[:len(stateMagic)], 0o600))
	})
	want(t, j, check.Unknown, check.Valid)
	other := s.config
	other.Batch = 10
	path := filepath.Join(t.TempDir(), FileState)
	s.save(path)
	if _, err := loadState(path, other); !errors.As(err, new(*history.FormatError)) {
		t.Errorf("a state of other batches: %v", err)
	}
}
