package register

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"

	"github.com/anishathalye/porcupine"
)

// brute tries every order of every subset, by the definition alone.
func brute(ops []Op, initial string) bool {
	placed := make([]bool, len(ops))
	var try func(value string) bool
	try = func(value string) bool {
		done := true
		for i := range ops {
			o := &ops[i]
			if placed[i] || o.Outcome == history.Failed || o.Outcome == history.Rejected {
				continue
			}
			if o.Outcome == history.Committed {
				done = false
			}
			next, fits := value, true
			switch o.Kind {
			case Read:
				fits = o.Value == value || o.Outcome == history.Unknown
			case Write:
				next = o.Value
			default:
				fits, next = o.From == value, o.Value
			}
			for j := range ops { // nothing that came before is still to come
				before := ops[j].Outcome == history.Committed && ops[j].Complete < o.Invoke
				fits = fits && (!before || placed[j])
			}
			if !fits {
				continue
			}
			placed[i] = true
			found := try(next)
			placed[i] = false
			if found {
				return true
			}
		}
		return done
	}
	return try(initial)
}

// direct asks porcupine without our preparation.
func direct(ops []Op) bool {
	model := porcupine.Model{
		Init: func() any { return Nil },
		Step: func(state, input, _ any) (bool, any) {
			o := input.(*Op)
			switch {
			case o.Kind == Read:
				return o.Value == state, state
			case o.Kind == Write:
				return true, o.Value
			case o.From == state:
				return true, o.Value
			}
			return o.Outcome == history.Unknown, state
		},
	}
	var all []porcupine.Operation
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Outcome == history.Committed:
			all = append(all, porcupine.Operation{Input: o, Call: o.Invoke, Return: o.Complete})
		case o.Outcome == history.Unknown && o.Kind != Read:
			all = append(all, porcupine.Operation{Input: o, Call: o.Invoke, Return: never})
		}
	}
	return porcupine.CheckOperations(model, all)
}

func build(t testing.TB, ops []Op) *History {
	t.Helper()
	var h History
	for _, o := range ops {
		expect.NoError(t, h.Add(o))
	}
	return &h
}

func judge(t testing.TB, ops []Op) check.Result {
	t.Helper()
	return judgeIn(context.Background(), t, ops)
}

func judgeIn(ctx context.Context, t testing.TB, ops []Op) check.Result {
	t.Helper()
	r := Check(ctx, build(t, ops), Options{})
	if r.Detail == "" || (r.Verdict == check.Violated) != (r.Found > 0) || int(r.Found) < len(r.Evidence) || r.Found > 0 && len(r.Evidence) == 0 {
		t.Fatalf("not a proper result: %+v", r)
	}
	return r
}

func verdict(ops []Op, linearizable bool) check.Verdict {
	observed := false
	for _, o := range ops {
		observed = observed || o.Outcome == history.Committed && o.Kind != Write
	}
	switch {
	case !linearizable:
		return check.Violated
	case !observed:
		return check.Unknown
	default:
		return check.Valid
	}
}

func show(ops []Op) string {
	var b strings.Builder
	for _, o := range ops {
		end := fmt.Sprint(o.Complete)
		if o.Outcome != history.Committed {
			end = "?"
		}
		fmt.Fprintf(&b, "%d-%s %d %s %s->%s %s\n", o.Invoke, end, o.Process, []string{"", "read", "write", "cas"}[o.Kind], o.From, o.Value, o.Outcome)
	}
	return b.String()
}

func anything(r *rand.Rand) []Op {
	values := 1 + r.IntN(3)
	value := func() string {
		if r.IntN(8) == 0 {
			return Nil
		}
		return fmt.Sprint(r.IntN(values))
	}
	unique, sets := r.IntN(2) == 0, r.IntN(3) > 0
	span := int64(2 + r.IntN(16))
	ops := make([]Op, 1+r.IntN(7))
	for i := range ops {
		kind := Read
		switch r.IntN(5) {
		case 0, 1:
			kind = Write
		case 2:
			if sets {
				kind = CompareAndSet
			}
		}
		begin := r.Int64N(span)
		ops[i] = Op{ID: int64(i), Process: int64(i), Kind: kind, Value: value(), From: value(), Invoke: begin,
			Complete: begin + r.Int64N(6), InvokeTime: NoTime, CompleteTime: NoTime,
			Outcome: []history.Outcome{history.Committed, history.Committed, history.Committed, history.Committed, history.Unknown, history.Failed}[r.IntN(6)]}
		if unique && kind != Read {
			ops[i].Value = fmt.Sprint(i)
		}
		if unique {
			ops[i].From = fmt.Sprint(r.IntN(len(ops)))
			if kind == Read && r.IntN(6) > 0 {
				ops[i].Value = fmt.Sprint(r.IntN(len(ops)))
			}
		}
	}
	return ops
}

func TestAgreesWithTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	seen := map[string]int{}
	for range 30_000 {
		ops := anything(r)
		linearizable := brute(ops, Nil)
		want := verdict(ops, linearizable)
		got := judge(t, ops)
		if got.Verdict != want {
			t.Fatalf("%v, but it is %v: %s %+v\n%s", got.Verdict, want, got.Detail, got.Evidence, show(ops))
		}
		seen[want.String()]++
		for _, e := range got.Evidence {
			seen[e.Kind]++
		}
		// The search alone, with a cut wherever possible, gives the same verdict.
		h := build(t, ops)
		h.numberOf(Nil)
		s := newSearcher(context.Background(), h.values, 1<<30)
		s.piece = 1
		seq := prepare(&h.keys[0], h.number[Nil], h.values)
		if c, decided := s.searchStates(seq.ops, seq.initial); !decided || (c.hopeless == nil) != linearizable {
			t.Fatalf("the search by states says %v, %+v, but it is %v\n%s", decided, c.hopeless, want, show(ops))
		}
		f := newFindings()
		if !s.search(seq, f) || (f.Count() == 0) != linearizable {
			t.Fatalf("the search finds %d, but it is %v\n%s", f.Count(), want, show(ops))
		}
	}
	for _, kind := range []string{"valid", "violated", kindGarbage, kindDirty, kindFuture, kindDuplicate, kindLost, kindStale, kindOrder, kindUnexplained} {
		if seen[kind] < 20 {
			t.Errorf("%s came up %d times: the test does not test it", kind, seen[kind])
		}
	}
}

// atomicRegister makes histories of an atomic register: each operation takes effect at one moment
// between its invocation and its completion.
type atomicRegister struct {
	clients, ops, keys, values int
	sets, unknown, gaps        bool
}

func (a atomicRegister) run(r *rand.Rand) []Op {
	type client struct {
		op     *Op
		acted  bool
		effect bool
	}
	clients := make([]client, a.clients)
	numbers := make([]int64, a.clients)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	state := map[string]string{}
	var done []Op
	now, written := int64(0), 0
	for started := 0; ; now++ {
		busy := 0
		for i := range clients {
			if clients[i].op != nil {
				busy++
			}
		}
		if started == a.ops && busy == 0 {
			return done
		}
		i := r.IntN(a.clients)
		c := &clients[i]
		switch {
		case c.op == nil && started < a.ops && !(a.gaps && busy > 0 && started%40 == 0):
			started++
			written++
			o := Op{ID: now, Process: numbers[i], Kind: Kind(1 + r.IntN(3)), Key: fmt.Sprint(r.IntN(a.keys)), Invoke: now, InvokeTime: now * 1000}
			if !a.sets && o.Kind == CompareAndSet {
				o.Kind = Read
			}
			o.Value = fmt.Sprint(written)
			if a.values > 0 {
				o.Value = fmt.Sprint(r.IntN(a.values))
			}
			if o.From = fmt.Sprint(r.IntN(a.values + 1)); r.IntN(2) == 0 || a.values == 0 {
				o.From = current(state, o.Key)
			}
			*c = client{op: &o, effect: true}
			if a.unknown && r.IntN(10) == 0 {
				o.Outcome, c.effect = history.Unknown, r.IntN(2) == 0
			} else {
				o.Outcome = history.Committed
			}
		case c.op != nil && !c.acted:
			c.acted = true
			o := c.op
			switch {
			case !c.effect:
			case o.Kind == Read:
				o.Value = current(state, o.Key)
			case o.Kind == Write:
				state[o.Key] = o.Value
			case o.From == current(state, o.Key):
				state[o.Key] = o.Value
			case o.Outcome == history.Committed:
				o.Outcome = history.Failed
			}
		case c.op != nil:
			c.op.Complete, c.op.CompleteTime = now, now*1000
			done = append(done, *c.op)
			if c.op.Outcome == history.Unknown {
				numbers[i] += int64(a.clients)
			}
			c.op = nil
		}
	}
}

func current(state map[string]string, key string) string {
	if v, ok := state[key]; ok {
		return v
	}
	return Nil
}

func atomicRegisters() []atomicRegister {
	return []atomicRegister{
		{clients: 4, ops: 60, keys: 1},
		{clients: 4, ops: 60, keys: 1, sets: true},
		{clients: 4, ops: 60, keys: 1, unknown: true},
		{clients: 4, ops: 60, keys: 1, unknown: true, sets: true},
		{clients: 3, ops: 60, keys: 1, values: 3, sets: true},
		{clients: 3, ops: 60, keys: 1, values: 5, sets: true, unknown: true},
		{clients: 8, ops: 400, keys: 7, values: 4, sets: true, unknown: true},
		{clients: 3, ops: 300, keys: 1, values: 3, sets: true, gaps: true},
		{clients: 4, ops: 300, keys: 1, sets: true, unknown: true, gaps: true},
	}
}

func TestAnAtomicRegisterIsNotConvicted(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, a := range atomicRegisters() {
		for range 40 {
			ops := a.run(r)
			if got := judge(t, ops); got.Verdict != check.Valid {
				t.Fatalf("%+v: %v: %s %+v\n%s", a, got.Verdict, got.Detail, got.Evidence, show(ops))
			}
		}
	}
}

// After one change in a valid history, the verdict agrees with porcupine without our preparation.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	convicted := 0
	for _, a := range atomicRegisters() {
		if a.keys > 1 || a.ops > 100 {
			continue
		}
		for range 12 {
			ops := a.run(r)
			for i := range ops {
				was := ops[i]
				switch r.IntN(4) {
				case 0:
					ops[i].Value = ops[r.IntN(len(ops))].Value
				case 1:
					ops[i].Outcome = history.Outcome(r.IntN(4))
				case 2:
					ops[i].From = ops[r.IntN(len(ops))].From
				case 3:
					if ops[i].Complete = ops[i].Invoke + (ops[i].Complete-ops[i].Invoke)/4; r.IntN(2) == 0 {
						ops[i].Invoke, ops[i].Complete = was.Invoke+(was.Complete-was.Invoke)*3/4, was.Complete
					}
				}
				want := verdict(ops, direct(ops))
				if got := judge(t, ops); got.Verdict != want {
					t.Fatalf("%v, but it is %v: %s %+v\n%s", got.Verdict, want, got.Detail, got.Evidence, show(ops))
				}
				if want == check.Violated {
					convicted++
				}
				ops[i] = was
			}
		}
	}
	if convicted < 500 {
		t.Errorf("only %d mutations were wrong", convicted)
	}
}
