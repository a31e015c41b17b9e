package ycsb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/register"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// run is a history with what was read back, as files.
type run struct {
	ops   []history.Op
	state map[int64]version // by number
	// extra are rows beside the state, as number and version.
	extra [][2]int64
	// reserved is how many operations each client has reserved, if any.
	reserved uint64
	noState  bool
	weak     bool
	promise  string // in place of linearizability
	mix      string
	records  int64
}

func (x run) config() Config {
	c := Defaults()
	c.Records, c.Mix = max(x.records, 3), "read=0.5,update=0.5"
	if x.mix != "" {
		c.Mix = x.mix
	}
	return c
}

func (x run) judge(t testing.TB) ([]check.Result, Figures, error) {
	t.Helper()
	return Judge(x.config(), 1, x.write(t))
}

// write writes the run's files.
func (x run) write(t testing.TB) definition.Evidence {
	t.Helper()
	folder := t.TempDir()
	path, state := filepath.Join(folder, "history"), filepath.Join(folder, "state")
	w, err := history.Create(path, history.Header{Run: "test"})
	expect.NoError(t, err)
	for client := range 2 {
		if x.reserved > 0 {
			expect.NoError(t, w.Reserve(history.Reservation{Client: client, UpTo: x.reserved}))
		}
	}
	for i := range x.ops {
		expect.NoError(t, w.Record(&x.ops[i]))
	}
	expect.NoError(t, w.Close())
	if !x.noState {
		rows := int64(0)
		err := history.SaveRecords(state, preset(store.Schema{}, keys{}, nil).Magic, func() {}, func(w *history.RecordWriter) error {
			for number, v := range x.state {
				rows++
				if err := w.Put(1, number, int64(v)); err != nil {
					return err
				}
			}
			for _, row := range x.extra {
				rows++
				if err := w.Put(1, row[0], row[1]); err != nil {
					return err
				}
			}
			return w.Put(3, rows)
		})
		expect.NoError(t, err)
	}
	e := definition.Evidence{History: path, State: state, Promise: store.Linearizable}
	if x.weak || x.promise != "" {
		e.Promise = x.promise
	}
	return e
}

// op is a committed operation of a client, its seq-th, from start to end.
func op(client int, seq uint64, kind uint8, start, end int64, values ...int64) history.Op {
	return history.Op{Client: client, Seq: seq, Attempt: 1, Last: true, Kind: kind, Outcome: history.Committed, Final: history.Committed,
		Due: start, First: start, Start: start, End: end, Values: values}
}

func ended(o history.Op, as history.Outcome) history.Op {
	o.Outcome, o.Final = as, as
	return o
}

// by is the version that the operation of a client wrote.
func by(client int, seq uint64) int64 { v, _ := versionOf(client, seq, 1); return int64(v) }

func was(number int64) int64 { return int64(loadedVersion(number)) }

// loaded is the state as it was loaded, with changes.
func loaded(changes map[int64]int64) map[int64]version {
	state := map[int64]version{}
	for n := range int64(3) {
		state[n] = loadedVersion(n)
	}
	for n, v := range changes {
		if state[n] = version(v); v == int64(absent) {
			delete(state, n)
		}
	}
	return state
}

// verdicts are the checks that are not valid, with what each found.
func verdicts(results []check.Result) string {
	var parts []string
	for _, r := range results {
		if r.Verdict != check.Valid {
			var found []string
			for _, e := range r.Evidence {
				found = append(found, e.Kind)
			}
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %v %s", r.Name, r.Verdict, strings.Join(found, ","))))
		}
	}
	return strings.Join(parts, "; ")
}

// Each wrong run stands beside a valid one that differs in one thing.
func TestMinimalCases(t *testing.T) {
	const scans = "scan=0.5,insert=0.5"
	update := op(0, 0, KindUpdate, 10, 20, 1)
	read := func(start, end, v int64) history.Op { return op(1, 0, KindRead, start, end, 1, v) }
	wrote := loaded(map[int64]int64{1: by(0, 0)})
	insert := op(0, 0, KindInsert, 10, 20, 3)
	inserted := loaded(map[int64]int64{3: by(0, 0)})
	k := newKeys(1)
	order := []int64{0, 1, 2}
	slices.SortFunc(order, func(a, b int64) int { return int(min(max(k.keyOf(a)-k.keyOf(b), -1), 1)) })
	scan := func(limit int64, numbers ...int64) history.Op {
		values := []int64{order[0], limit}
		for _, n := range numbers {
			values = append(values, n, was(n))
		}
		return op(1, 0, KindScan, 30, 40, values...)
	}
	for name, c := range map[string]struct {
		wrong, valid run
		want         string
	}{
		"garbage":          {run{ops: []history.Op{read(1, 2, int64(garbled))}, state: loaded(nil)}, run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)}, "reads violated garbage"},
		"mixed":            {run{ops: []history.Op{read(1, 2, int64(mixed))}, state: loaded(nil)}, run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)}, "reads violated mixed"},
		"another's record": {run{ops: []history.Op{read(1, 2, was(2))}, state: loaded(nil)}, run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)}, "reads violated foreign"},
		"nobody's": {run{ops: []history.Op{update, read(30, 40, by(0, 1))}, state: wrote}, run{ops: []history.Op{update, read(30, 40, by(0, 0))}, state: wrote},
			"reads violated foreign"},
		"failed": {run{ops: []history.Op{ended(update, history.Failed), read(30, 40, by(0, 0))}, state: loaded(nil)},
			run{ops: []history.Op{ended(update, history.Unknown), read(30, 40, by(0, 0))}, state: wrote}, "reads violated failed"},
		"too early": {run{ops: []history.Op{read(1, 9, by(0, 0)), update}, state: wrote}, run{ops: []history.Op{read(1, 10, by(0, 0)), update}, state: wrote},
			"reads violated too early"},
		"stale": {run{ops: []history.Op{update, read(21, 30, was(1))}, state: wrote}, run{ops: []history.Op{update, read(20, 30, was(1))}, state: wrote},
			"linearizable violated overwritten"},
		"stale after a read": {run{ops: []history.Op{read(11, 12, by(0, 0)), op(2, 0, KindRead, 13, 14, 1, was(1)), update}, state: wrote},
			run{ops: []history.Op{read(11, 13, by(0, 0)), op(2, 0, KindRead, 13, 14, 1, was(1)), update}, state: wrote}, "linearizable violated order"},
		"not found": {run{ops: []history.Op{read(1, 2, int64(absent))}, state: loaded(nil)}, run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)},
			"linearizable violated missing"},
		"lost update": {run{ops: []history.Op{update, read(1, 2, was(1))}, state: loaded(nil)}, run{ops: []history.Op{ended(update, history.Unknown), read(1, 2, was(1))}, state: loaded(nil)},
			"records violated overwritten"},
		"lost insert": {run{ops: []history.Op{insert, read(1, 2, was(1))}, state: loaded(nil)}, run{ops: []history.Op{ended(insert, history.Unknown), read(1, 2, was(1))}, state: loaded(nil)},
			"records violated lost"},
		"lost record": {run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(map[int64]int64{2: int64(absent)})}, run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)},
			"records violated lost"},
		"older than it was": {
			run{ops: []history.Op{update, op(0, 1, KindUpdate, 30, 40, 1), read(1, 2, was(1))}, state: wrote},
			run{ops: []history.Op{update, op(2, 0, KindUpdate, 20, 40, 1), read(1, 2, was(1))}, state: wrote}, "records violated overwritten"},
		"row of a failed write": {run{ops: []history.Op{ended(update, history.Failed), read(1, 2, was(1))}, state: wrote},
			run{ops: []history.Op{ended(update, history.Unknown), read(1, 2, was(1))}, state: wrote}, "records violated failed"},
		"row twice": {run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil), extra: [][2]int64{{1, was(1)}}},
			run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)}, "records violated doubled"},
		"foreign row": {run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil), extra: [][2]int64{{1 << 40, 5}}},
			run{ops: []history.Op{read(1, 2, was(1))}, state: loaded(nil)}, "records violated foreign"},
		"insert not found": {run{ops: []history.Op{insert, op(1, 0, KindRead, 21, 22, 3, int64(absent))}, state: inserted},
			run{ops: []history.Op{insert, op(1, 0, KindRead, 20, 22, 3, int64(absent))}, state: inserted}, "linearizable violated lost"},
		"read before it was written anew": {
			run{ops: []history.Op{op(0, 0, KindReadModifyWrite, 10, 50, 1, was(1), 15, 5), op(1, 0, KindUpdate, 11, 12, 1), op(2, 0, KindRead, 60, 61, 1, by(0, 0))},
				state: wrote},
			run{ops: []history.Op{op(0, 0, KindReadModifyWrite, 10, 50, 1, was(1), 15, 35), op(1, 0, KindUpdate, 11, 20, 1), op(2, 0, KindRead, 60, 61, 1, by(0, 0))},
				state: wrote}, ""},
		"scan in disorder": {run{ops: []history.Op{scan(3, order[0], order[2], order[1])}, state: loaded(nil), mix: scans},
			run{ops: []history.Op{scan(3, order[0], order[1], order[2])}, state: loaded(nil), mix: scans}, "scans violated order"},
		"scan twice": {run{ops: []history.Op{scan(3, order[0], order[1], order[1])}, state: loaded(nil), mix: scans},
			run{ops: []history.Op{scan(2, order[0], order[1])}, state: loaded(nil), mix: scans}, "scans violated doubled"},
		"scan too long": {run{ops: []history.Op{scan(2, order...)}, state: loaded(nil), mix: scans},
			run{ops: []history.Op{scan(3, order...)}, state: loaded(nil), mix: scans}, "scans violated surplus"},
		"scan with a gap": {run{ops: []history.Op{scan(2, order[0], order[2])}, state: loaded(nil), mix: scans},
			run{ops: []history.Op{scan(2, order[0], order[1])}, state: loaded(nil), mix: scans}, "scans violated left out"},
		"scan that ends early": {run{ops: []history.Op{scan(3, order[0], order[1])}, state: loaded(nil), mix: scans},
			run{ops: []history.Op{scan(9, order...)}, state: loaded(nil), mix: scans}, "scans violated left out"},
		"scan of a foreign record": {run{ops: []history.Op{scan(3, order[0], 99)}, state: loaded(nil), mix: scans},
			run{ops: []history.Op{scan(1, order[0])}, state: loaded(nil), mix: scans}, "scans violated foreign"},
	} {
		wrong, valid := c.wrong.write(t), c.valid.write(t)
		for _, together := range []int64{1, 1 << 20} { // a record at a time, and all
			results, _, err := judgeTogether(c.wrong.config(), 1, wrong, together)
			if got := verdicts(results); err != nil || got != c.want && !strings.HasPrefix(got, c.want+";") && !strings.HasSuffix(got, "; "+c.want) {
				t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
			}
			for _, r := range results {
				for _, e := range r.Evidence {
					if e.Text == "" || len(e.Fields) == 0 {
						t.Errorf("%s: evidence %+v", name, e)
					}
				}
			}
			if results, _, err = judgeTogether(c.valid.config(), 1, valid, together); err != nil || verdicts(results) != "" {
				t.Errorf("%s: the valid one is %s, %v", name, verdicts(results), err)
			}
		}
	}
}

// TestWhatIsNotKnown: no state, a cut history, and a database that promises nothing.
func TestWhatIsNotKnown(t *testing.T) {
	update, read := op(0, 0, KindUpdate, 10, 20, 1), op(1, 0, KindRead, 30, 40, 1, was(1))
	for name, c := range map[string]struct {
		run  run
		want string
	}{
		"no state":      {run{ops: []history.Op{op(1, 0, KindRead, 30, 40, 1, was(1))}, noState: true}, "records unknown"},
		"no reads":      {run{ops: []history.Op{update}, state: loaded(map[int64]int64{1: by(0, 0)})}, "reads unknown; linearizable unknown"},
		"no promise":    {run{ops: []history.Op{update, read}, state: loaded(map[int64]int64{1: by(0, 0)}), weak: true}, "linearizable allowed overwritten"},
		"in flight":     {run{ops: []history.Op{read, op(1, 1, KindRead, 41, 42, 1, by(1, 2))}, state: loaded(map[int64]int64{1: by(1, 2)}), reserved: 5}, ""},
		"not in flight": {run{ops: []history.Op{read, op(1, 1, KindRead, 41, 42, 1, by(1, 3))}, state: loaded(nil), reserved: 5}, "reads violated foreign"},
		"inserted twice": {run{ops: []history.Op{
			{Client: 0, Seq: 0, Attempt: 1, Kind: KindInsert, Start: 1, End: 9, Values: []int64{3}},
			{Client: 0, Seq: 0, Attempt: 2, Last: true, Kind: KindInsert, Start: 10, End: 19, Outcome: history.Failed, Final: history.Committed, Values: []int64{3}},
			op(1, 0, KindRead, 20, 30, 3, int64(absent))}, state: loaded(map[int64]int64{3: by(0, 0)})}, "linearizable violated lost"},
	} {
		results, f, err := c.run.judge(t)
		if got := verdicts(results); err != nil || got != c.want || (f.NotRead != "") != c.run.noState {
			t.Errorf("%s: %s, %v, want %s; %+v", name, got, err, c.want, f)
		}
	}
	weak := run{ops: []history.Op{
		update, op(0, 1, KindRead, 30, 40, 1, was(1)), // not its own write
		op(1, 0, KindRead, 30, 40, 1, by(0, 0)), op(1, 1, KindRead, 41, 42, 1, was(1)), // back
		op(1, 2, KindRead, 43, 44, 2, int64(absent)),
	}, state: loaded(map[int64]int64{1: by(0, 0)}), weak: true}
	results, f, err := weak.judge(t)
	if err != nil || verdicts(results) != "linearizable allowed missing,stale read" || f.OwnWrites != 1 || f.Monotonic != 1 || f.Disordered != 1 || f.Missing != 1 {
		t.Errorf("%+v, %v, %v", f, err, results)
	}
	for _, r := range results {
		if r.Name == CheckLinearizable && !strings.Contains(r.Detail, "1 read was older than what the same client had read before, 1 than what it had written") {
			t.Error(r.Detail)
		}
	}
}

func TestMalformedHistories(t *testing.T) {
	for name, ops := range map[string][]history.Op{
		"out of order":              {op(0, 1, KindRead, 1, 2, 1, was(1))},
		"unknown kind":              {op(0, 0, 77, 1, 2, 1)},
		"no values":                 {op(0, 0, KindRead, 1, 2)},
		"negative":                  {op(0, 0, KindRead, 1, 2, -1, was(1))},
		"half an answer":            {op(0, 0, KindScan, 1, 2, 1, 5, 1)},
		"insert of what was loaded": {op(0, 0, KindInsert, 1, 2, 1)},
		"insert far away":           {op(0, 0, KindInsert, 1, 2, 1<<50)},
	} {
		_, _, err := run{ops: ops, state: loaded(nil)}.judge(t)
		var bad *history.FormatError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// registers simulates clients on three records, which are atomic registers but that a
// read is now and then of what was there some writes before. It returns the same
// history for both judges.
func registers(r *rand.Rand, ops int, stale bool) (x run, h *register.History) {
	type client struct {
		op    *history.Op
		seq   uint64
		acted bool
	}
	const clients = 3
	x.state, h = loaded(nil), &register.History{}
	before := map[int64][]version{}
	for n, v := range x.state {
		before[n] = []version{v}
	}
	var all [clients]client
	for now, begun := int64(1), 0; begun < ops || slices.ContainsFunc(all[:], func(c client) bool { return c.op != nil }); now++ {
		i := r.IntN(clients)
		c := &all[i]
		switch {
		case c.op == nil && begun < ops:
			begun++
			o := op(i, c.seq, KindRead+uint8(r.IntN(2)), now, now, r.Int64N(3))
			c.op, c.acted = &o, false
			c.seq++
		case c.op != nil && !c.acted:
			c.acted = true
			number := c.op.Values[0]
			versions := before[number]
			if c.op.Kind == KindUpdate {
				v := version(by(i, c.op.Seq))
				if c.op.Outcome = history.Committed; r.IntN(8) == 0 {
					c.op.Outcome = history.Unknown
				}
				c.op.Final = c.op.Outcome
				if c.op.Outcome == history.Committed || r.IntN(2) == 0 {
					before[number], x.state[number] = append(versions, v), v
				}
				break
			}
			back := 0
			if stale && r.IntN(6) == 0 {
				back = r.IntN(min(len(versions), 3))
			}
			c.op.Values = append(c.op.Values, int64(versions[len(versions)-1-back]))
		case c.op != nil:
			c.op.End = now
			x.ops = append(x.ops, *c.op)
			of := register.Op{ID: now, Process: int64(i), Kind: register.Write, Key: fmt.Sprint(c.op.Values[0]), Value: fmt.Sprint(by(i, c.op.Seq)),
				Invoke: c.op.Start, Complete: c.op.End, Outcome: c.op.Outcome}
			if c.op.Kind == KindRead {
				of.Kind, of.Value = register.Read, fmt.Sprint(c.op.Values[1])
				if c.op.Values[1] == was(c.op.Values[0]) {
					of.Value = register.Nil
				}
			}
			if h.Add(of) != nil {
				panic("an operation that cannot be")
			}
			c.op = nil
		}
	}
	return x, h
}

// TestAgreesWithTheJudgeOfRegisters on thousands of small histories, of which half may
// be wrong, each judged as a whole and a record at a time.
func TestAgreesWithTheJudgeOfRegisters(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	counts := map[check.Verdict]int{}
	for i := range 120 {
		x, h := registers(r, 4+r.IntN(40), i%4 > 0)
		want := register.Check(context.Background(), h, register.Options{Memory: 1 << 20})
		files := x.write(t)
		for _, together := range []int64{8, 1 << 20} {
			results, f, err := judgeTogether(x.config(), 1, files, together)
			expect.NoError(t, err)
			got := results[len(results)-1]
			if got.Verdict != want.Verdict {
				t.Fatalf("%v, but it is %v: %+v\n%+v\n%+v\n%+v", got.Verdict, want.Verdict, got, want, f, x.ops)
			}
			if records := results[0]; records.Verdict != check.Valid {
				t.Fatalf("%+v\n%+v", records, x.ops)
			}
		}
		counts[want.Verdict]++
	}
	if counts[check.Valid] < 30 || counts[check.Violated] < 20 {
		t.Errorf("%v", counts)
	}
}

// BenchmarkJudge judges as many updates as reads of 1,000 records.
func BenchmarkJudge(b *testing.B) {
	const ops = 400_000
	r := rand.New(rand.NewPCG(1, 1))
	x := run{state: map[int64]version{}, records: 1000}
	for n := range x.records {
		x.state[n] = loadedVersion(n)
	}
	var seqs [16]uint64
	for i := range int64(ops) {
		client, number := r.IntN(16), r.Int64N(x.records)
		o := op(client, seqs[client], KindUpdate, 10*i, 10*i+9, number)
		if r.IntN(2) == 0 {
			o.Kind, o.Values = KindRead, []int64{number, int64(x.state[number])}
		} else {
			x.state[number] = version(by(client, seqs[client]))
		}
		seqs[client]++
		x.ops = append(x.ops, o)
	}
	files := x.write(b)
	for b.Loop() {
		results, _, err := Judge(x.config(), 1, files)
		if err != nil || verdicts(results) != "" {
			b.Fatal(verdicts(results), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/ops, "ns/operation")
}

// TestALaterWriteBehindAnEarlierOneIsNoLostRecord: clocks that differ do the one where they order
// writes, and never the other.
func TestALaterWriteBehindAnEarlierOneIsNoLostRecord(t *testing.T) {
	earlier, later := op(0, 0, KindUpdate, 10, 20, 1), op(1, 0, KindUpdate, 30, 40, 1)
	of := Definition()
	for name, c := range map[string]struct {
		state map[int64]int64
		want  promise.Property
	}{
		"the earlier stays":  {map[int64]int64{1: by(0, 0)}, promise.LastWrite},
		"the record is gone": {map[int64]int64{1: int64(absent)}, promise.Durability},
	} {
		results, _, err := run{ops: []history.Op{earlier, later}, state: loaded(c.state)}.judge(t)
		expect.NoError(t, err)
		r := results[slices.IndexFunc(results, func(r check.Result) bool { return r.Name == CheckRecords })]
		if len(r.Findings) != 1 || of.Property(r.Name, r.Findings[0].Kind) != c.want {
			t.Errorf("%s: %+v, want %s", name, r, c.want.Name())
		}
	}
}
