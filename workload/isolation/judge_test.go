package isolation

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
	"assay/workload/definition"
)

// script is a run made by hand.
type script struct {
	t      *testing.T
	config Config
	model  string
	path   string
	writer *history.Writer
	now    int64
	seqs   map[int]uint64
	state  state
	// unread leaves the database unread.
	unread   bool
	inFlight string
	losses   *definition.Losses
}

const scriptSeed = 7

func newScript(t *testing.T, test string) *script {
	t.Helper()
	s := &script{t: t, config: configured(test, nil), model: "strict-serializable", path: t.TempDir(), seqs: map[int]uint64{}}
	var err error
	if s.writer, err = history.Create(filepath.Join(s.path, "history"), history.Header{}); err != nil {
		t.Fatal(err)
	}
	for client := range 4 {
		expect.NoError(t, s.writer.Reserve(history.Reservation{Client: client, UpTo: 1000}))
	}
	return s
}

// do records the next operation of a client, with a single attempt, and
// returns its number. Elements 0 to 7 stand for the transaction's own.
func (s *script) do(client int, outcome history.Outcome, ops ...Op) int64 {
	s.now += 10
	id := TransactionID(client, s.seqs[client], 1)
	for i := range ops {
		if !ops[i].Kind.reads() && ops[i].Kind != Withdraw && ops[i].Value < maxLength {
			ops[i].Value += id
		}
	}
	values, fits := Encode(nil, ops, outcome == history.Committed)
	if !fits {
		s.t.Fatal("too long")
	}
	s.record(&history.Op{
		Client: client, Seq: s.seqs[client], Attempt: 1, Last: true, Kind: kindOf(ops), Outcome: outcome, Final: outcome,
		Start: s.now, End: s.now + 5, Values: values,
	})
	s.seqs[client]++
	return id
}

func (s *script) record(op *history.Op) {
	s.t.Helper()
	if err := s.writer.Record(op); err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) judge() (Judgement, error) {
	s.t.Helper()
	if err := s.writer.Close(); err != nil {
		s.t.Fatal(err)
	}
	e := definition.Evidence{
		History: filepath.Join(s.path, "history"), State: filepath.Join(s.path, FileState), Promise: s.model, InFlight: s.inFlight, Losses: s.losses,
	}
	if !s.unread {
		if err := save(e.State, func(int64) {}, s.state.give); err != nil {
			s.t.Fatal(err)
		}
	}
	return Judge(s.t.Context(), s.config, scriptSeed, e)
}

// want judges and compares the verdicts, by the checks' names, and the
// anomalies.
func (s *script) want(verdicts map[string]check.Verdict, anomalies ...string) Judgement {
	s.t.Helper()
	j, err := s.judge()
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[string]check.Verdict{}
	for _, r := range j.Results {
		got[r.Name] = r.Verdict
		if r.Detail == "" || r.Verdict == check.Violated && (len(r.Evidence) == 0 || r.Found == 0) {
			s.t.Errorf("result %+v", r)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(verdicts) {
		s.t.Errorf("verdicts %v, want %v: %+v", got, verdicts, j.Results)
	}
	for _, a := range anomalies {
		if j.Report == nil || !slices.Contains(j.Report.Anomalies, a) {
			s.t.Errorf("%s is not among the anomalies: %+v", a, j.Report)
		}
	}
	return j
}

func (s *script) detail(j Judgement, name string) string {
	for _, r := range j.Results {
		if r.Name == name {
			return r.Detail
		}
	}
	s.t.Errorf("no result %s", name)
	return ""
}

func verdicts(isolation, durability check.Verdict) map[string]check.Verdict {
	return map[string]check.Verdict{"isolation": isolation, "durability": durability}
}

func appendTo(key int64, place int64) Op { return Op{Kind: Append, Key: key, Value: place} }
func readList(key int64, elements ...int64) Op {
	return Op{Kind: ReadList, Key: key, List: elements}
}

const (
	valid    = check.Valid
	violated = check.Violated
	unknown  = check.Unknown
)

func TestCleanRun(t *testing.T) {
	s := newScript(t, "append")
	a := s.do(0, history.Committed, appendTo(2, 0))
	b := s.do(1, history.Committed, readList(2, a), appendTo(2, 1))
	s.do(2, history.Failed, appendTo(2, 0))
	c := s.do(2, history.Unknown, appendTo(4, 0))
	s.do(0, history.Committed, readList(2, a, b+1), readList(4))
	_ = s.state.list(2, []int64{a, b + 1})
	_ = s.state.list(4, []int64{c})
	j := s.want(verdicts(valid, valid))
	if j.Tally != (history.Counts{Committed: 3, Failed: 1, Unknown: 1}) || j.Model != cycle.StrictSerializable {
		t.Errorf("%+v", j)
	}
	if size := j.Report.Size; size.Transactions != 6 || size.Committed != 4 || size.Unknown != 1 {
		t.Errorf("looked at %+v", size)
	}
}

func TestNothingDone(t *testing.T) {
	s := newScript(t, "all")
	s.want(map[string]check.Verdict{"isolation": unknown, "durability": unknown, "predicate": unknown, "pairs": unknown})
}

// TestLostAppends: an acknowledged append that is gone is found at every
// level, also if it was seen before, also if its list is gone.
func TestLostAppends(t *testing.T) {
	for _, model := range []string{"read-uncommitted", "serializable", "strict-serializable"} {
		for name, run := range map[string]func(s *script){
			"never seen": func(s *script) {
				a := s.do(0, history.Committed, appendTo(2, 0))
				s.do(1, history.Committed, appendTo(2, 0))
				s.do(2, history.Committed, readList(2, a))
				_ = s.state.list(2, []int64{a})
			},
			"seen before": func(s *script) {
				a := s.do(0, history.Committed, appendTo(2, 0))
				b := s.do(1, history.Committed, appendTo(2, 0))
				s.do(2, history.Committed, readList(2, a, b))
				_ = s.state.list(2, []int64{a})
			},
			"with its list": func(s *script) {
				a := s.do(0, history.Committed, appendTo(2, 0))
				b := s.do(1, history.Committed, appendTo(4, 0))
				s.do(2, history.Committed, readList(2, a), readList(4, b))
				_ = s.state.list(4, []int64{b})
			},
		} {
			s := newScript(t, "append")
			s.model = model
			run(s)
			isolation := check.Allowed // no model of these but the last speaks of real time
			if model == "strict-serializable" {
				isolation = violated
			}
			j := s.want(verdicts(isolation, violated))
			lost := j.Results[1]
			if lost.Found != 1 || lost.Evidence[0].Kind != "lost-append" || lost.Evidence[0].Fields["client"] != lost.Evidence[0].Fields["element"]>>42 {
				t.Errorf("%s under %s: %+v", name, model, lost)
			}
		}
	}
}

func TestLostRegister(t *testing.T) {
	s := newScript(t, "register")
	a := s.do(0, history.Committed, Op{Kind: Write, Key: 3})
	s.do(1, history.Committed, Op{Kind: ReadValue, Key: 3, Value: a, Found: true}, Op{Kind: Write, Key: 5, Value: 1})
	s.do(1, history.Committed, Op{Kind: Write, Key: 5})
	_ = s.state.register(3, a)
	j := s.want(verdicts(violated, violated))
	if lost := j.Results[1]; lost.Found != 1 || lost.Evidence[0].Kind != "lost-write" || lost.Evidence[0].Fields["key"] != 5 {
		t.Errorf("%+v", lost)
	}
}

func TestAbortedRead(t *testing.T) {
	s := newScript(t, "append")
	a := s.do(0, history.Failed, appendTo(2, 0))
	s.do(1, history.Committed, readList(2, a))
	_ = s.state.list(2, []int64{a})
	s.want(verdicts(violated, unknown), "G1a")
}

// TestEarlierAttemptIsATransactionOfItsOwn: that the operation was committed
// in the end does not excuse that its failed attempt was seen.
func TestEarlierAttemptIsATransactionOfItsOwn(t *testing.T) {
	for name, outcome := range map[string]history.Outcome{"failed": history.Failed, "unknown": history.Unknown} {
		s := newScript(t, "append")
		first, second := TransactionID(0, 0, 1), TransactionID(0, 0, 2)
		for attempt, id := range []int64{first, second} {
			last := attempt == 1
			op := history.Op{Client: 0, Attempt: attempt + 1, Last: last, Kind: KindAppend, Outcome: outcome, Start: int64(10 * attempt), End: int64(10*attempt + 5)}
			if last {
				op.Outcome, op.Final = history.Committed, history.Committed
			}
			op.Values, _ = Encode(nil, []Op{{Kind: Append, Key: 2, Value: id}}, last)
			s.record(&op)
		}
		s.now, s.seqs[0] = 100, 1
		s.do(1, history.Committed, readList(2, first, second))
		_ = s.state.list(2, []int64{first, second})
		if name == "unknown" {
			s.want(verdicts(valid, valid))
		} else if j := s.want(verdicts(violated, valid), "G1a"); j.Tally != (history.Counts{Committed: 2}) {
			t.Errorf("%+v", j.Tally)
		}
	}
}

// firstAppend finds an operation of a client, from seq on, that appends, and
// what it appends where.
func firstAppend(t *testing.T, c Config, client int, seq uint64, attempt int) (uint64, Op) {
	t.Helper()
	made := NewTransactions(c, scriptSeed)
	for ; ; seq++ {
		for _, o := range mustAt(t, made, client, seq, attempt) {
			if o.Kind == Append {
				return seq, o
			}
		}
	}
}

// TestLostRecords: elements of operations that were reserved and have no
// record are no garbage; all others are.
func TestLostRecords(t *testing.T) {
	cases := map[string]struct {
		client  int
		seq     uint64
		attempt int
		after   *history.Op // the client's last record
		spoil   func(*Op)
		known   bool
	}{
		"no record at all":              {client: 1, seq: 0, attempt: 1, known: true},
		"beyond the last record":        {client: 1, seq: 6, attempt: 1, after: &history.Op{Client: 1, Seq: 5, Attempt: 1, Last: true}, known: true},
		"a later attempt":               {client: 1, seq: 5, attempt: 3, after: &history.Op{Client: 1, Seq: 5, Attempt: 2}, known: true},
		"an attempt after the last":     {client: 1, seq: 5, attempt: 3, after: &history.Op{Client: 1, Seq: 5, Attempt: 2, Last: true}},
		"an attempt that has a record":  {client: 1, seq: 5, attempt: 1, after: &history.Op{Client: 1, Seq: 5, Attempt: 2}},
		"before the last record":        {client: 1, seq: 4, attempt: 1, after: &history.Op{Client: 1, Seq: 5, Attempt: 1, Last: true}},
		"beyond the reservation":        {client: 1, seq: 1000, attempt: 1},
		"of nobody":                     {client: 9, seq: 0, attempt: 1},
		"of another list":               {client: 1, seq: 0, attempt: 1, spoil: func(o *Op) { o.Key += 2 }},
		"of a place that does not make": {client: 1, seq: 0, attempt: 1, spoil: func(o *Op) { o.Value += 7 - o.Value&15 }},
	}
	for name, c := range cases {
		for _, where := range []string{"read by a client", "read back"} {
			s := newScript(t, "append")
			seq, o := firstAppend(t, s.config, c.client, c.seq, c.attempt)
			if c.after != nil {
				c.after.Kind, c.after.Outcome, c.after.Final = KindAppend, history.Failed, history.Failed
				c.after.Seq += seq - c.seq
				c.after.Values, _ = Encode(nil, []Op{{Kind: ReadList, Key: 0}}, false)
				s.record(c.after)
				c.after.Seq -= seq - c.seq
			}
			if c.spoil != nil {
				c.spoil(&o)
			}
			a := s.do(0, history.Committed, appendTo(o.Key, 0))
			s.do(2, history.Committed, readList(o.Key, a))
			if where == "read by a client" {
				s.do(2, history.Committed, readList(o.Key, a, o.Value))
			}
			_ = s.state.list(o.Key, []int64{a, o.Value})
			if c.known {
				j := s.want(verdicts(valid, valid))
				if j.Tally.Unknown != 1 || j.Report.Size.Unknown != 1 {
					t.Errorf("%s: %+v, %+v", name, j.Tally, j.Report.Size)
				}
				continue
			}
			if j := s.want(verdicts(violated, valid), "garbage-read"); j.Tally.Unknown != 0 && c.spoil == nil {
				t.Errorf("%s: %+v", name, j.Tally)
			}
		}
	}
}

// TestLostRecordKeepsItsPlaceInTime: what is known to have begun after
// something was acknowledged is not before it.
func TestLostRecordKeepsItsPlaceInTime(t *testing.T) {
	s := newScript(t, "append")
	seq, o := firstAppend(t, s.config, 1, 1, 1)
	a := s.do(0, history.Committed, appendTo(o.Key, 0)) // acknowledged before the lost one began
	s.seqs[1] = seq - 1
	s.do(1, history.Committed, readList(o.Key, a))
	s.do(2, history.Committed, readList(o.Key, o.Value, a))
	_ = s.state.list(o.Key, []int64{o.Value, a})
	s.want(verdicts(violated, valid), "incompatible-order")
}

// TestWhatNobodyCanHaveMade: garbage of any kind convicts, and is no reason to
// give up.
func TestWhatNobodyCanHaveMade(t *testing.T) {
	for _, v := range []int64{-1, -1 << 63, 0, 5, 1<<63 - 1} {
		s := newScript(t, "append")
		a := s.do(0, history.Committed, appendTo(2, 0))
		s.do(1, history.Committed, readList(2, a, v))
		_ = s.state.list(2, []int64{a, v})
		s.want(verdicts(violated, valid), "garbage-read")
	}
	s := newScript(t, "all")
	a := s.do(0, history.Committed, appendTo(2, 0))
	s.do(1, history.Committed, readList(2, a))
	_ = s.state.list(2, []int64{a})
	_ = s.state.list(3, []int64{a})  // a register's key
	_ = s.state.list(-8, []int64{a}) // nobody's
	_ = s.state.register(2, a)
	s.want(map[string]check.Verdict{"isolation": violated, "durability": valid, "predicate": unknown, "pairs": unknown}, "garbage-read")
}

// TestStateThatIsNotThere: without it the run is judged by what clients saw.
func TestStateThatIsNotThere(t *testing.T) {
	run := func() *script {
		s := newScript(t, "append")
		a := s.do(0, history.Committed, appendTo(2, 0))
		s.do(1, history.Committed, readList(2, a))
		_ = s.state.list(2, []int64{a})
		return s
	}
	s := run()
	s.unread = true
	if got := s.detail(s.want(verdicts(valid, unknown)), "durability"); !strings.Contains(got, "not read back") {
		t.Error(got)
	}
	s = run()
	s.unread = true
	file, err := history.CreateFrames(filepath.Join(s.path, FileState), stateMagic)
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	if got := s.detail(s.want(verdicts(valid, unknown)), "durability"); !strings.Contains(got, "not whole") {
		t.Error(got)
	}
	s = run()
	s.inFlight = "two transactions never came back"
	if got := s.detail(s.want(verdicts(valid, unknown)), "durability"); !strings.Contains(got, "two transactions") {
		t.Error(got)
	}
	s = run()
	s.inFlight, s.state = "two transactions never came back", state{}
	s.want(verdicts(violated, violated)) // strict: the final read began after all
}

// TestRewriteLosesWhereItMay: lists written as a whole lose appends where lost updates are
// allowed, and that is said; where they are not, it convicts.
func TestRewriteLosesWhereItMay(t *testing.T) {
	for model, want := range map[string]check.Verdict{
		"read-uncommitted": check.Allowed, "read-committed": check.Allowed, "monotonic-atomic-view": check.Allowed,
		"cursor-stability": violated, "snapshot-isolation": violated, "serializable": violated,
	} {
		s := newScript(t, "append")
		s.config.Rewrite, s.model = true, model
		rewrite := func(place int64) Op { return Op{Kind: AppendByRewrite, Key: 2, Value: place} }
		a := s.do(0, history.Committed, rewrite(0))
		b := s.do(1, history.Committed, readList(2, a), rewrite(1)) + 1
		s.do(2, history.Committed, readList(2, a, b))
		c := s.do(3, history.Committed, readList(2, a), rewrite(1)) + 1 // b is overwritten
		s.do(2, history.Committed, readList(2, a, c))
		_ = s.state.list(2, []int64{a, c})
		j := s.want(verdicts(want, want))
		if got := s.detail(j, "durability"); (want == check.Allowed) != strings.Contains(got, "1 append was overwritten") {
			t.Errorf("%s: %s", model, got)
		}
	}
}

func TestPredicate(t *testing.T) {
	count := func(n int64) Op { return Op{Kind: Count, Key: 1, Value: n} }
	insert := Op{Kind: Insert, Key: 1, Value: 1}
	elsewhere := Op{Kind: Insert, Key: 2, Value: 2}
	cases := map[string]struct {
		ops    []Op
		phases int64 // findings
		kind   string
	}{
		"the same":               {[]Op{count(3), elsewhere, count(3)}, 0, ""},
		"its own row":            {[]Op{count(3), insert, count(4)}, 0, ""},
		"its own rows, one more": {[]Op{count(3), insert, count(4), insert, count(5)}, 0, ""},
		"a phantom":              {[]Op{count(3), count(4)}, 1, "phantom"},
		"a phantom beside":       {[]Op{count(3), insert, count(5)}, 1, "phantom"},
		"two":                    {[]Op{count(3), count(4), count(5)}, 2, "phantom"},
		"own row missed":         {[]Op{count(3), insert, count(3)}, 1, "vanished"},
		"other groups":           {[]Op{count(3), {Kind: Count, Key: 2, Value: 9}, count(3)}, 0, ""},
	}
	for name, c := range cases {
		for model, forbidden := range map[string]bool{"strict-serializable": true, "snapshot-isolation": true, "repeatable-read": false, "read-committed": false} {
			s := newScript(t, "predicate")
			s.config.Model = model
			s.do(0, history.Failed, count(1), count(2)) // what it read means nothing
			s.do(0, history.Committed, c.ops...)
			want := valid
			if c.phases > 0 {
				want = check.Allowed
			}
			if forbidden && c.phases > 0 {
				want = violated
			}
			j := s.want(map[string]check.Verdict{"predicate": want})
			if j.Report != nil {
				t.Error("a report without lists")
			}
			r := j.Results[0]
			if want != valid && (r.Found != c.phases || r.Evidence[0].Kind != c.kind) {
				t.Errorf("%s: %+v", name, r)
			}
			if allows := strings.Contains(r.Detail, "does not rule out"); allows != (c.phases > 0 && !forbidden) {
				t.Errorf("%s under %s: %s", name, model, r.Detail)
			}
		}
	}
	s := newScript(t, "predicate")
	s.do(0, history.Committed, insert)
	s.want(map[string]check.Verdict{"predicate": unknown})
}

// TestOwnRowsAreCounted: no level allows that a transaction counts less than it has inserted.
func TestOwnRowsAreCounted(t *testing.T) {
	for _, model := range cycle.Models() {
		for counted, want := range map[int64]check.Verdict{0: violated, 1: valid} {
			s := newScript(t, "predicate")
			s.config.Model = string(model)
			s.do(0, history.Committed, Op{Kind: Count, Key: 1}, Op{Kind: Insert, Key: 1, Value: 1}, Op{Kind: Count, Key: 1, Value: counted})
			j := s.want(map[string]check.Verdict{"predicate": want})
			if r := j.Results[0]; want == violated && !slices.ContainsFunc(r.Findings, func(f check.Finding) bool { return f.Kind == ownWriteNotSeen }) {
				t.Errorf("%s: %+v", model, r)
			}
		}
	}
}

func TestPairs(t *testing.T) {
	for model, want := range map[string]check.Verdict{
		"strict-serializable": violated, "serializable": violated, "repeatable-read": violated,
		"snapshot-isolation": check.Allowed, "read-committed": check.Allowed,
	} {
		s := newScript(t, "pairs")
		s.model = model
		s.do(0, history.Committed, Op{Kind: Withdraw, Key: 1, Value: 0, Result: 3})
		s.do(0, history.Committed, Op{Kind: Withdraw, Key: 1, Value: 1, Result: 0})
		j := s.want(map[string]check.Verdict{"pairs": want})
		if d := j.Results[0].Detail; !strings.Contains(d, "2 withdrawals: 1 read both sides at 0") {
			t.Errorf("%s: %s", model, d)
		}
	}
	s := newScript(t, "pairs")
	s.do(0, history.Unknown, Op{Kind: Withdraw, Key: 1, Result: 0})
	s.want(map[string]check.Verdict{"pairs": unknown})
	s = newScript(t, "pairs")
	s.do(0, history.Committed, Op{Kind: Withdraw, Key: 1, Result: 1})
	s.want(map[string]check.Verdict{"pairs": valid})
}

func TestJudgeRefuses(t *testing.T) {
	s := newScript(t, "append")
	s.model = "chaos"
	var model *cycle.ModelError
	if _, err := s.judge(); !errors.As(err, &model) {
		t.Errorf("a model that does not exist: %v", err)
	}
	var malformed *history.FormatError
	for name, values := range map[string][]int64{"nonsense": {99}, "nothing": nil, "no results": {int64(ReadList), 2, unread}, "mixed": {int64(Append), 2, 16, int64(Write), 2, 17}} {
		s := newScript(t, "append")
		s.record(&history.Op{Attempt: 1, Last: true, Outcome: history.Committed, Final: history.Committed, Values: values})
		if _, err := s.judge(); !errors.As(err, &malformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJudgeCancelled(t *testing.T) {
	s := newScript(t, "append")
	for range 50 {
		s.do(0, history.Committed, appendTo(2, 0))
	}
	if _, err := s.judge(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	j, err := Judge(over, s.config, scriptSeed, definition.Evidence{History: filepath.Join(s.path, "history"), Promise: s.model})
	if err != nil || j.Results[0].Verdict != unknown {
		t.Errorf("%+v, %v", j.Results, err)
	}
}

// TestModelsAgreeWithTheLattice tries each model on the least history that has
// the anomaly.
func TestModelsAgreeWithTheLattice(t *testing.T) {
	const x, y = 2, 4
	history := func(txns ...[]cycle.Op) *cycle.History {
		var b cycle.Builder
		for i, ops := range txns {
			err := b.Add(cycle.Txn{ID: int64(i), Process: int32(i), Complete: 10, Outcome: history.Committed, Ops: ops})
			expect.NoError(t, err)
		}
		return b.History()
	}
	add := func(key, v int64) cycle.Op { return cycle.Op{Kind: cycle.Append, Key: key, Value: v} }
	read := func(key int64, list ...int64) cycle.Op {
		return cycle.Op{Kind: cycle.ReadList, Key: key, List: list}
	}
	all := []cycle.Op{read(x, 1, 2), read(y, 3)}
	for name, c := range map[string]struct {
		history *cycle.History
		forbids func(cycle.Model) bool
		except  []cycle.Model // forbid it for items only
	}{
		"write skew": {history([]cycle.Op{read(x), add(y, 1)}, []cycle.Op{read(y), add(x, 2)}), forbidsSkew, nil},
		"read skew": {history([]cycle.Op{add(x, 1), add(y, 3)}, []cycle.Op{read(x), read(y, 3)}), forbidsPhantoms, []cycle.Model{
			cycle.RepeatableRead, cycle.ReadAtomic, cycle.UpdateAtomic, cycle.Causal, cycle.ParallelSnapshotIsolation, cycle.Prefix,
		}},
		"lost update": {history([]cycle.Op{read(x), add(x, 1)}, []cycle.Op{read(x), add(x, 2), add(y, 3)}, all), forbidsLostUpdates, nil},
	} {
		for _, model := range cycle.Models() {
			report := cycle.Check(t.Context(), c.history, model, cycle.Options{})
			if want := report.Verdict == violated && !slices.Contains(c.except, model); c.forbids(model) != want {
				t.Errorf("%s: %s forbids it: %v, by the lattice %v", name, model, c.forbids(model), want)
			}
		}
	}
}
