package exchange

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

func TestWritesWhatJepsenReads(t *testing.T) {
	ops := []Operation{
		{Process: 2, Function: Transaction, Outcome: history.Committed, Invoke: 10, Complete: 30, InvokeTime: 10, CompleteTime: 30,
			Txn: []MicroOp{{Kind: GetList, Key: Int64(8), List: []Atom{Int64(1), Int64(2)}}, {Kind: Append, Key: Int64(2), Value: Int64(1)}, {Kind: GetNothing, Key: textAtom("x")}}},
		{Process: 0, Function: Transaction, Outcome: history.Unknown, Invoke: 5, Complete: 40, InvokeTime: 5, CompleteTime: 40,
			Txn: []MicroOp{{Kind: GetValue, Key: Int64(8), Value: Int64(1)}, {Kind: Put, Key: Int64(2), Value: Int64(1)}}},
		{Process: 0, Function: Transfer, Outcome: history.Failed, Invoke: 50, Complete: 60, InvokeTime: 50, CompleteTime: 60,
			Movement: Movement{From: Int64(1), To: Atom{Kind: Keyword, Text: "b"}, Amount: 5}},
		{Process: 1, Function: ReadAccounts, Outcome: history.Committed, Invoke: 51, Complete: 61, InvokeTime: 51, CompleteTime: 61,
			Accounts: []Account{{ID: Int64(1), Balance: 7}, {ID: textAtom("a"), Missing: true}}},
		{Process: 0, Function: CompareAndSet, Outcome: history.Committed, Invoke: 70, Complete: 71, InvokeTime: 70, CompleteTime: 71,
			Keyed: true, Key: Int64(4), From: Atom{}, Value: Int64(9)},
		{Process: 1, Function: Read, Outcome: history.Unknown, Invoke: 72, Complete: Never, InvokeTime: NoTime, CompleteTime: NoTime},
	}
	for format, want := range map[Format]string{
		EDN: `{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:r 8 nil] [:w 2 1]]}
{:index 1, :time 10, :type :invoke, :process 2, :f :txn, :value [[:r 8 nil] [:append 2 1] [:r "x" nil]]}
{:index 2, :time 30, :type :ok, :process 2, :f :txn, :value [[:r 8 [1 2]] [:append 2 1] [:r "x" nil]]}
{:index 3, :time 40, :type :info, :process 0, :f :txn, :value [[:r 8 nil] [:w 2 1]]}
{:index 4, :time 50, :type :invoke, :process 3, :f :transfer, :value {:from 1, :to :b, :amount 5}}
{:index 5, :time 51, :type :invoke, :process 1, :f :read, :value nil}
{:index 6, :time 60, :type :fail, :process 3, :f :transfer, :value {:from 1, :to :b, :amount 5}}
{:index 7, :time 61, :type :ok, :process 1, :f :read, :value {1 7, "a" nil}}
{:index 8, :time 70, :type :invoke, :process 3, :f :cas, :value [4 [nil 9]]}
{:index 9, :time 71, :type :ok, :process 3, :f :cas, :value [4 [nil 9]]}
{:index 10, :type :invoke, :process 1, :f :read, :value nil}
`,
		JSON: `{"index":0,"time":5,"type":"invoke","process":0,"f":"txn","value":[["r",8,null],["w",2,1]]}
{"index":1,"time":10,"type":"invoke","process":2,"f":"txn","value":[["r",8,null],["append",2,1],["r","x",null]]}
{"index":2,"time":30,"type":"ok","process":2,"f":"txn","value":[["r",8,[1,2]],["append",2,1],["r","x",null]]}
{"index":3,"time":40,"type":"info","process":0,"f":"txn","value":[["r",8,null],["w",2,1]]}
{"index":4,"time":50,"type":"invoke","process":3,"f":"transfer","value":{"from":1,"to":"b","amount":5}}
{"index":5,"time":51,"type":"invoke","process":1,"f":"read","value":null}
{"index":6,"time":60,"type":"fail","process":3,"f":"transfer","value":{"from":1,"to":"b","amount":5}}
{"index":7,"time":61,"type":"ok","process":1,"f":"read","value":{"1":7, "a":null}}
{"index":8,"time":70,"type":"invoke","process":3,"f":"cas","value":[4,[null,9]]}
{"index":9,"time":71,"type":"ok","process":3,"f":"cas","value":[4,[null,9]]}
{"index":10,"type":"invoke","process":1,"f":"read","value":null}
`} {
		got := write(t, Output{Format: format, Processes: 3, Window: span(ops)}, ops)
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
}

func span(ops []Operation) int64 {
	var s Span
	for i := range ops {
		s.See(ops[i].Invoke, ops[i].Complete)
	}
	return s.Window()
}

func write(t *testing.T, o Output, ops []Operation) string {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, o)
	expect.NoError(t, err)
	for i := range ops {
		expect.NoError(t, w.Add(&ops[i]))
	}
	expect.NoError(t, w.Close())
	return out.String()
}

// randomAtom covers all atoms. JSON has no keywords, and only strings as names of accounts.
func randomAtom(r *rand.Rand, plain bool) Atom {
	switch n := r.IntN(12); {
	case n < 7 || plain && n != 11:
		return Int64(r.Int64N(2000) - 1000)
	case n == 7:
		return Int64(r.Int64() - r.Int64())
	case n == 8:
		return Atom{Kind: Big, Text: "-99999999999999999999"}
	case n == 9:
		return Atom{Kind: Keyword, Text: []string{"x", "a/b", "ü+1"}[r.IntN(3)]}
	case n == 10:
		return Atom{Kind: Bool, Int: r.Int64N(2)}
	default:
		return textAtom([]string{"", "é \"q\" \\ \n\t\x01\x7f", "nil", "a1", "\U0001f600"}[r.IntN(5)])
	}
}

func randomAction(r *rand.Rand, kind Kind, plain bool, o *Operation) {
	atom := func() Atom { return randomAtom(r, plain) }
	if o.Keyed = r.IntN(2) == 0; o.Keyed {
		o.Key = atom()
	}
	switch kind {
	case ListAppend, ReadWrite:
		o.Function = Transaction
		for range r.IntN(5) {
			m := MicroOp{Key: atom(), Kind: Append, Value: atom()}
			read := r.IntN(2) == 0
			switch {
			case read && (r.IntN(3) == 0 || o.Outcome != history.Committed):
				m.Kind, m.Value = GetNothing, Atom{}
			case read && kind == ListAppend:
				m.Kind, m.Value, m.List = GetList, Atom{}, []Atom{}
				for range r.IntN(4) {
					m.List = append(m.List, atom())
				}
			case read:
				m.Kind = GetValue
			case kind == ReadWrite:
				m.Kind = Put
			}
			o.Txn = append(o.Txn, m)
		}
	case Bank:
		switch {
		case r.IntN(2) == 0:
			o.Function = Transfer
			o.Movement = Movement{atom(), atom(), r.Int64N(100) - 50}
		case o.Outcome == history.Committed:
			o.Function = ReadAccounts
			for range r.IntN(4) {
				o.Accounts = append(o.Accounts, Account{ID: atom(), Balance: r.Int64() - r.Int64()})
			}
			if r.IntN(3) == 0 {
				o.Accounts = append(o.Accounts, Account{ID: atom(), Missing: true})
			}
			named := map[Atom]bool{}
			o.Accounts = slices.DeleteFunc(o.Accounts, func(a Account) bool {
				twice := named[a.ID]
				named[a.ID] = true
				return twice
			})
		default:
			o.Function = Read
		}
	case Register:
		o.Function = []Function{Read, Write, CompareAndSet}[r.IntN(3)]
		if o.Function != Read || o.Outcome == history.Committed {
			o.Value = atom()
		}
		if o.Function == CompareAndSet {
			o.From = atom()
		}
	}
}

// randomOps returns operations by completion, of processes that do one after the other, with some
// equal times.
func randomOps(r *rand.Rand, kind Kind, plain bool, processes int) []Operation {
	var ops []Operation
	free, keyed := make([]int64, processes), r.IntN(2) == 0
	for range 60 {
		p := r.IntN(processes)
		if free[p] == Never {
			continue
		}
		o := Operation{Process: int64(p), Outcome: []history.Outcome{history.Committed, history.Committed, history.Failed, history.Unknown}[r.IntN(4)],
			Invoke: free[p] + r.Int64N(4), InvokeTime: NoTime, CompleteTime: NoTime}
		o.Complete = o.Invoke + r.Int64N(6)
		if o.Outcome == history.Unknown && r.IntN(2) == 0 {
			o.Complete = Never
		}
		free[p] = o.Complete
		if r.IntN(2) == 0 {
			o.InvokeTime = o.Invoke
			if o.Complete != Never {
				o.CompleteTime = o.Complete
			}
		}
		randomAction(r, kind, plain, &o)
		if kind == Register && o.Keyed != keyed { // all operations of a register name their keys, or none does
			o.Keyed, o.Key = keyed, Atom{}
			if keyed {
				o.Key = randomAtom(r, plain)
			}
		}
		ops = append(ops, o)
	}
	slices.SortStableFunc(ops, func(a, b Operation) int {
		switch {
		case a.Complete != b.Complete && a.Complete < b.Complete:
			return -1
		case a.Complete != b.Complete:
			return 1
		}
		return int(a.Invoke - b.Invoke)
	})
	return ops
}

// full describes everything that a history keeps of an operation.
func full(o *Operation, processes int64) string {
	return fmt.Sprintf("%d %s %d %d %v", o.Process%processes, strings.SplitN(say(o), " ", 2)[1], o.InvokeTime, o.CompleteTime, o.Complete == Never)
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 80 {
		for _, kind := range []Kind{ListAppend, ReadWrite, Bank, Register} {
			for _, format := range []Format{EDN, JSON} {
				const processes = 5
				ops := randomOps(r, kind, format == JSON, processes)
				text := write(t, Output{Format: format, Processes: processes, Window: span(ops)}, ops)
				got, reader := readAll(t, text)
				if reader.Kind() != kind && reader.Kind() != NoKind {
					t.Fatalf("a history of %s is read as one of %s", kind, reader.Kind())
				}
				sameOps(t, ops, got, processes)
				sameOrder(t, ops, got, processes)
			}
		}
	}
}

func sameOps(t *testing.T, want, got []Operation, processes int64) {
	t.Helper()
	list := func(ops []Operation) []string {
		var all []string
		for i := range ops {
			all = append(all, full(&ops[i], processes))
		}
		slices.Sort(all)
		return all
	}
	if a, b := list(want), list(got); !reflect.DeepEqual(a, b) {
		t.Fatalf("wrote\n%s\nread\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

// sameOrder checks that ordered operations stay ordered, and concurrent ones concurrent, unless a
// process itself forbids it.
func sameOrder(t *testing.T, want, got []Operation, processes int64) {
	t.Helper()
	byProcess := func(ops []Operation) map[int64][]Operation {
		all := map[int64][]Operation{}
		for _, o := range ops {
			all[o.Process%processes] = append(all[o.Process%processes], o)
		}
		for _, list := range all {
			slices.SortStableFunc(list, func(a, b Operation) int { return int(a.Invoke - b.Invoke) })
		}
		return all
	}
	w, g := byProcess(want), byProcess(got)
	// If a process ends one operation and begins the next at one moment, a sequence of events
	// cannot show it without ordering more operations than the times do.
	tied := map[int64]bool{}
	for _, list := range w {
		for i := range len(list) - 1 {
			if list[i].Complete == list[i+1].Invoke {
				tied[list[i].Complete] = true
			}
		}
	}
	for p := range w {
		for q := range w {
			for i, a := range w[p] {
				for j, b := range w[q] {
					was, is := a.Complete < b.Invoke, g[p][i].Complete < g[q][j].Invoke
					if p != q && was != is && (was || !tied[a.Complete]) {
						t.Fatalf("process %d number %d before process %d number %d: %v became %v", p, i, q, j, was, is)
					}
				}
			}
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	read := Operation{Function: Read, Outcome: history.Committed, Process: 1, Invoke: 10, Complete: 20}
	with := func(change func(*Operation)) Operation {
		o := read
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		ops    []Operation
		reason string
	}{
		"no function":     {[]Operation{{Invoke: 1, Complete: 2}}, "no function"},
		"a large process": {[]Operation{with(func(o *Operation) { o.Process = 2 })}, "there are 2"},
		"backwards":       {[]Operation{with(func(o *Operation) { o.Complete = 9 })}, "before it begins"},
		"never but ok":    {[]Operation{with(func(o *Operation) { o.Complete = Never })}, "never ended"},
		"two at once":     {[]Operation{read, with(func(o *Operation) { o.Invoke, o.Complete = 15, 25 })}, "while it does"},
		"out of the window": {[]Operation{read, with(func(o *Operation) { o.Process, o.Invoke, o.Complete = 0, 200, 300 }),
			with(func(o *Operation) { o.Invoke, o.Complete = 189, 190 })}, "larger window"},
	} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Output{Format: EDN, Processes: 2, Window: 110})
		expect.NoError(t, err)
		for i := range c.ops {
			if err == nil {
				err = w.Add(&c.ops[i])
			}
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, o := range []Output{{Format: Log, Processes: 1}, {Format: EDN}, {Format: JSON, Processes: 1, Window: -1}} {
		if _, err := NewWriter(&bytes.Buffer{}, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

func TestWriterKeepsAWindow(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Output{Format: JSON, Processes: 4, Window: 10})
	expect.NoError(t, err)
	for i := range int64(10_000) {
		o := Operation{Function: Write, Process: i % 4, Outcome: history.Committed, Invoke: 2 * i, Complete: 2*i + 5, Value: Int64(i)}
		expect.NoError(t, w.Add(&o))
		if len(w.events) > 30 {
			t.Fatalf("%d events are waiting", len(w.events))
		}
	}
	expect.NoError(t, w.Close())
	if ops, _ := readAll(t, out.String()); len(ops) != 10_000 {
		t.Errorf("%d operations", len(ops))
	}
}

type fullDisk struct{ error }

func (d fullDisk) Write([]byte) (int, error) { return 0, d }

func TestWriterTellsOfAFullDisk(t *testing.T) {
	w, err := NewWriter(fullDisk{fmt.Errorf("no space left")}, Output{Format: EDN, Processes: 1})
	expect.NoError(t, err)
	o := Operation{Function: Write, Outcome: history.Committed, Complete: 1}
	expect.NoError(t, w.Add(&o))
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}
