package isolation

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"assay/load"
)

func configured(test string, change func(*Config)) Config {
	c := Defaults()
	c.Test = test
	if change != nil {
		change(&c)
	}
	return c
}

func mustAt(t *testing.T, made *Transactions, client int, seq uint64, attempt int) []Op {
	t.Helper()
	ops, ok := made.At(client, seq, attempt, int64(seq)/int64(made.config.PerKey), nil)
	if !ok {
		t.Fatalf("attempt %d of operation %d of client %d cannot be numbered", attempt, seq, client)
	}
	return ops
}

var tests = []string{"append", "register", "predicate", "pairs", "all"}

func TestTransactionsArePure(t *testing.T) {
	for _, test := range tests {
		a := NewTransactions(configured(test, nil), 7)
		b := NewTransactions(configured(test, nil), 7)
		other := NewTransactions(configured(test, nil), 8)
		same := 0
		reused := []Op{{List: []int64{1, 2, 3}, Found: true, Result: 3}}
		for client := range 3 {
			for seq := range uint64(500) {
				first := mustAt(t, a, client, seq, 1)
				if !reflect.DeepEqual(first, mustAt(t, b, client, seq, 1)) {
					t.Fatalf("%s: operation %d differs between two of one seed", test, seq)
				}
				if reflect.DeepEqual(first, mustAt(t, other, client, seq, 1)) {
					same++
				}
				var ok bool
				if reused, ok = a.At(client, seq, 1, int64(seq)/16, reused); !ok {
					t.Fatalf("operation %d cannot be numbered", seq)
				}
				for i, o := range reused {
					if len(o.List) != 0 || o.Found || o.Result != 0 || o.Kind != first[i].Kind || o.Value != first[i].Value {
						t.Fatalf("%s: into used ops: %+v, want %+v", test, o, first[i])
					}
				}
			}
		}
		// Two withdrawals are often the same by chance: few pairs, two sides.
		if test != "pairs" && test != "all" && same > 300 {
			t.Errorf("%s: %d of 1500 are the same under another seed", test, same)
		}
	}
}

// TestElements: each is its operation's own, says where it was made, and
// belongs to one key; a repetition does the same with other elements.
func TestElements(t *testing.T) {
	for _, test := range tests {
		made := NewTransactions(configured(test, nil), 3)
		seen := map[int64]bool{}
		for client := range 4 {
			for seq := range uint64(300) {
				first := mustAt(t, made, client, seq, 1)
				for attempt := 1; attempt <= 3; attempt++ {
					ops := mustAt(t, made, client, seq, attempt)
					if len(ops) != len(first) {
						t.Fatalf("%s: attempt %d has %d operations, the first %d", test, attempt, len(ops), len(first))
					}
					for i, o := range ops {
						if o.Kind != first[i].Kind || o.Key != first[i].Key {
							t.Fatalf("%s: attempt %d does %+v, the first %+v", test, attempt, o, first[i])
						}
						if o.Kind.reads() || o.Kind == Withdraw {
							continue
						}
						c, s, a, index, ok := SplitElement(o.Value)
						if !ok || c != client || s != seq || a != attempt || index != i || seen[o.Value] {
							t.Fatalf("%s: element %d of client %d, operation %d, attempt %d, place %d: %v %v %v %v %v, seen %v",
								test, o.Value, client, seq, attempt, i, c, s, a, index, ok, seen[o.Value])
						}
						seen[o.Value] = true
					}
				}
			}
		}
	}
}

func TestKindsAndKeys(t *testing.T) {
	want := map[string][]Kind{
		"append": {Append, ReadList}, "register": {Write, ReadValue}, "predicate": {Insert, Count}, "pairs": {Withdraw},
		"all": {Append, ReadList, Write, ReadValue, Insert, Count, Withdraw},
	}
	for test, kinds := range want {
		c := configured(test, nil)
		made := NewTransactions(c, 5)
		count := map[Kind]int{}
		keys := map[int64]map[int]bool{} // who uses it
		for client := range 3 {
			for seq := range uint64(10 * c.PerKey) {
				ops := mustAt(t, made, client, seq, 1)
				if len(ops) < 1 || len(ops) > c.Length {
					t.Fatalf("%s: %d operations", test, len(ops))
				}
				window := int64(seq) / int64(c.PerKey)
				for _, o := range ops {
					count[o.Kind]++
					within := made.WindowOf(o.Key)
					switch o.Kind {
					case Insert, Count, Withdraw:
						within = o.Key / 2 // a quarter of 8
					case Append, ReadList:
						if o.Key%2 != 0 {
							t.Fatalf("list %d", o.Key)
						}
					default:
						if o.Key%2 != 1 {
							t.Fatalf("register %d", o.Key)
						}
					}
					if within != window {
						t.Fatalf("%s: operation %d uses key %d of window %d", test, seq, o.Key, within)
					}
					if keys[o.Key] == nil {
						keys[o.Key] = map[int]bool{}
					}
					keys[o.Key][client] = true
				}
			}
		}
		if len(count) != len(kinds) {
			t.Errorf("%s: kinds %v, want %v", test, count, kinds)
		}
		shared := 0
		for _, users := range keys {
			if len(users) > 1 {
				shared++
			}
		}
		if shared*2 < len(keys) {
			t.Errorf("%s: clients meet on %d of %d keys", test, shared, len(keys))
		}
	}
}

// TestShapes: what the checks need occurs often enough.
func TestShapes(t *testing.T) {
	const n = 4000
	count := func(test string, c func(ops []Op) bool) (times int) {
		made := NewTransactions(configured(test, nil), 1)
		for seq := range uint64(n) {
			if c(mustAt(t, made, 0, seq, 1)) {
				times++
			}
		}
		return times
	}
	readThenWrite := count("register", func(ops []Op) bool {
		for i := 1; i < len(ops); i++ {
			if ops[i].Kind == Write && ops[i-1].Kind == ReadValue && ops[i].Key == ops[i-1].Key {
				return true
			}
		}
		return false
	})
	readOwn := count("append", func(ops []Op) bool {
		for i, o := range ops {
			if o.Kind == ReadList && slices.ContainsFunc(ops[:i], func(w Op) bool { return w.Kind == Append && w.Key == o.Key }) {
				return true
			}
		}
		return false
	})
	twice := count("predicate", func(ops []Op) bool {
		last := ops[len(ops)-1]
		return len(ops) > 1 && ops[0].Kind == Count && last.Kind == Count && last.Key == ops[0].Key
	})
	inserts := count("predicate", func(ops []Op) bool { return ops[0].Kind == Insert })
	for name, got := range map[string]int{"read then write": readThenWrite, "read own": readOwn, "count twice": twice, "insert": inserts} {
		if got < n/40 {
			t.Errorf("%s: %d of %d", name, got, n)
		}
	}
	if got := count("append", func(ops []Op) bool { return ops[0].Kind == Append }); got < n*45/100 || got > n*55/100 {
		t.Errorf("%d of %d begin with an append, want half", got, n)
	}
}

// TestPace: whoever is ahead takes all others along.
func TestPace(t *testing.T) {
	var p Pace
	for i, x := range []struct {
		seq  uint64
		want int64
	}{{0, 0}, {15, 0}, {3, 0}, {16, 1}, {3, 1}, {100, 6}, {17, 6}, {0, 6}, {111, 6}, {112, 7}} {
		if got := p.window(x.seq, 16); got != x.want {
			t.Errorf("step %d: operation %d is in window %d, want %d", i, x.seq, got, x.want)
		}
	}
	made := NewTransactions(Defaults(), 1)
	for _, window := range []int64{-1, MaxSeq + 1} {
		if _, ok := made.At(0, 0, 1, window, nil); ok {
			t.Errorf("window %d was accepted", window)
		}
	}
	here := mustAt(t, made, 2, 3, 1)
	there, ok := made.At(2, 3, 1, 9, nil)
	if !ok || len(here) != len(there) {
		t.Fatalf("%+v and %+v, %v", here, there, ok)
	}
	for i := range here {
		if here[i].Kind != there[i].Kind || here[i].Value != there[i].Value || there[i].Key != here[i].Key+2*8*9 {
			t.Errorf("in another window %+v becomes %+v", here[i], there[i])
		}
	}
}

func TestRewrite(t *testing.T) {
	made := NewTransactions(configured("append", func(c *Config) { c.Rewrite = true }), 1)
	plain := NewTransactions(configured("append", nil), 1)
	for seq := range uint64(100) {
		ops := mustAt(t, made, 0, seq, 1)
		for i, o := range mustAt(t, plain, 0, seq, 1) {
			if o.Kind == Append {
				o.Kind = AppendByRewrite
			}
			if !reflect.DeepEqual(ops[i], o) {
				t.Fatalf("%+v, want %+v", ops[i], o)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	made := NewTransactions(Defaults(), 1)
	for _, x := range []struct {
		client  int
		seq     uint64
		attempt int
		ok      bool
	}{
		{0, 0, 1, true}, {load.MaxClients, MaxSeq, MaxAttempt, true}, {MaxClient, 0, 1, true},
		{-1, 0, 1, false}, {MaxClient + 1, 0, 1, false}, {0, MaxSeq + 1, 1, false}, {0, 0, 0, false}, {0, 0, MaxAttempt + 1, false},
	} {
		if _, ok := made.At(x.client, x.seq, x.attempt, 0, nil); ok != x.ok {
			t.Errorf("%+v: %v", x, ok)
		}
		if !x.ok {
			continue
		}
		client, seq, attempt, index, ok := SplitElement(TransactionID(x.client, x.seq, x.attempt) + 5)
		if client != x.client || seq != x.seq || attempt != x.attempt || index != 5 || !ok {
			t.Errorf("%+v came back as %d %d %d %d %v", x, client, seq, attempt, index, ok)
		}
	}
	for _, v := range []int64{-1, 0, TransactionID(1, 1, 0), TransactionID(1, 1, 1) + maxLength, -1 << 63} {
		if _, _, _, _, ok := SplitElement(v); ok {
			t.Errorf("%d was taken for an element", v)
		}
	}
}

func TestLeastConfigs(t *testing.T) {
	one := func(c *Config) { c.Length = 1 }
	for test, ok := range map[string]bool{"append": true, "register": true, "pairs": true, "predicate": false, "all": false} {
		if err := configured(test, one).Validate(); (err == nil) != ok {
			t.Errorf("%s with one operation: %v", test, err)
		}
	}
	// The least of everything still makes transactions.
	for _, test := range tests {
		made := NewTransactions(configured(test, func(c *Config) { c.Keys, c.PerKey, c.Length = 1, 1, 2 }), 1)
		for seq := range uint64(50) {
			mustAt(t, made, 0, seq, 1)
		}
	}
}

func TestPlan(t *testing.T) {
	plan := load.Defaults()
	for _, x := range []struct {
		retry    load.RetryMode
		attempts int
		refused  string
	}{
		{load.RetryNone, 1000, ""}, {load.RetryFailed, 255, ""}, {load.RetryFailed, 256, "--max-attempts"},
		{load.RetryIdempotent, 10, "--retry"}, {load.RetryNone, 0, ""}, {load.RetryBlind, 255, ""}, {load.RetryBlind, 0, "--max-attempts"},
	} {
		plan.Retry, plan.MaxAttempts = x.retry, x.attempts
		_, err := (&Config{}).Plan(plan)
		var refused *load.PlanError
		if errors.As(err, &refused) != (x.refused != "") || refused != nil && refused.Option != x.refused {
			t.Errorf("%s, %d attempts: %v", x.retry, x.attempts, err)
		}
	}
}
