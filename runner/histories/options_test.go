package histories

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check/cycle"
	"assay/internal/expect"
	"assay/report"
)

// violatedHistories has one of each kind.
func violatedHistories() map[string]string {
	const (
		add   = "0 invoke add 1; 0 ok add 1; "
		locks = "0 invoke acquire; 0 ok acquire 5; 1 invoke acquire; 1 ok acquire 4"
		two   = "0 invoke acquire; 0 ok acquire; 1 invoke acquire; 1 ok acquire"
	)
	return map[string]string{
		"list-append":            "0 invoke txn [[:append 0 1]]; 0 ok txn [[:append 0 1]]; 1 invoke txn [[:r 0 nil]]; 1 ok txn [[:r 0 [2]]]",
		"rw-register":            "0 invoke txn [[:w 0 1]]; 0 ok txn [[:w 0 1]]; 1 invoke txn [[:r 0 nil]]; 1 ok txn [[:r 0 2]]",
		"register":               "0 invoke write 1; 0 ok write 1; 1 invoke read; 1 ok read 0",
		"bank":                   "0 invoke transfer {:from 1 :to 2 :amount 5}; 0 ok transfer {:from 1 :to 2 :amount 5}; 1 invoke read; 1 ok read {1 5 2 10}; 1 invoke read; 1 ok read {1 5 2 10}; 1 invoke read; 1 ok read {1 10 2 10}",
		"set":                    add + "1 invoke read; 1 ok read []",
		"set-full":               add + "1 invoke read; 1 ok read []",
		"queue":                  "0 invoke enqueue 1; 0 ok enqueue 1; 1 invoke dequeue; 1 ok dequeue 2",
		"total-queue":            "0 invoke enqueue 1; 0 ok enqueue 1; 1 invoke drain; 1 ok drain []",
		"counter":                add + "1 invoke read; 1 ok read 2",
		"unique-ids":             "0 invoke generate; 0 ok generate :a; 0 invoke generate; 0 ok generate :a",
		"long-fork":              "0 invoke write [[:w 1 1]]; 0 ok write [[:w 1 1]]; 1 invoke write [[:w 2 1]]; 1 ok write [[:w 2 1]]; 2 invoke read [[:r 1 nil] [:r 2 nil]]; 2 ok read [[:r 1 1] [:r 2 nil]]; 2 invoke read [[:r 1 nil] [:r 2 nil]]; 2 ok read [[:r 1 nil] [:r 2 1]]",
		"monotonic":              "0 invoke add; 0 ok add {:val 1 :sts 5}; 1 invoke read; 1 ok read []",
		"sequential":             "0 invoke write 1; 0 ok write 1; 1 invoke read 1; 1 ok read [1 [2 nil 0]]",
		"comments":               "0 invoke write 5; 0 ok write 5; 1 invoke read; 1 ok read [5 6]",
		"adya-g2":                "0 invoke insert [1 [1 nil]]; 0 ok insert [1 [1 nil]]; 1 invoke insert [1 [nil 2]]; 1 ok insert [1 [nil 2]]",
		"causal":                 "0 invoke read-init [1 nil]; 0 ok read-init [1 0]; 0 invoke write [1 1]; 0 ok write [1 1]; 0 invoke read [1 nil]; 0 ok read [1 0]",
		"kafka":                  "0 invoke txn [[:send 1 2] [:poll]]; 0 ok txn [[:send 1 [0 2]] [:poll {1 [[0 2]]}]]",
		"mutex":                  two,
		"owner-mutex":            two,
		"reentrant-mutex":        two,
		"fenced-mutex":           locks,
		"reentrant-fenced-mutex": locks,
		"multi-register":         "0 invoke txn [[:write 0 1]]; 0 ok txn [[:write 0 1]]; 1 invoke txn [[:read 0 nil]]; 1 ok txn [[:read 0 2]]",
		"key-value":              `0 invoke put "a"; 0 ok put "a"; 1 invoke get; 1 ok get "b"`,
	}
}

func judged(t *testing.T, events string, o Options) (report.History, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.edn")
	expect.NoError(t, os.WriteFile(path, []byte(edn(events)), 0o600))
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	return Check(t.Context(), path, o)
}

// optionKinds maps each option to the kinds of history it affects. Options about how a verdict is
// found, which fit any kind, have an empty list.
func optionKinds() map[string][]string {
	bank := []string{"bank"}
	return map[string][]string{
		"Test": {}, "Timeout": {}, "Explain": {}, "Read": {}, "keep": {},
		"Model":   {"list-append", "rw-register", "register", "set", "set-full", "kafka"},
		"Assume":  {"list-append", "rw-register"},
		"Initial": {"register"}, "Memory": {"register"}, "Total": bank, "Accounts": bank, "NegativeBalances": bank,
	}
}

// TestEveryOptionOfEveryKind: an option has an effect or is refused, with its name and the kind.
func TestEveryOptionOfEveryKind(t *testing.T) {
	table := optionKinds()
	var fields []string
	for f := range reflect.TypeFor[Options]().Fields() {
		fields = append(fields, f.Name)
	}
	if names := slices.Sorted(maps.Keys(table)); !slices.Equal(names, slices.Sorted(slices.Values(fields))) {
		t.Fatalf("the table has %v, and the options are %v", names, fields)
	}
	histories := violatedHistories()
	if kinds := slices.Sorted(maps.Keys(histories)); !slices.Equal(kinds, TestNames()) {
		t.Fatalf("there are histories of %v, and kinds %v", kinds, TestNames())
	}
	total := int64(100)
	given := map[string]Options{
		"Initial": {Initial: "0"}, "Memory": {Memory: 1 << 20}, "Total": {Total: &total}, "Accounts": {Accounts: []string{"1..2"}},
		"NegativeBalances": {NegativeBalances: true}, "Assume": {Assume: []string{"linearizable-keys"}},
	}
	for kind, events := range histories {
		for option, o := range given {
			o.Test = kind
			_, err := judged(t, events, o)
			refusedUnless(t, slices.Contains(table[option], kind), err, kind, option)
		}
		var taken []string
		for _, model := range append([]string{modelLinearizable}, modelNames()...) {
			_, err := judged(t, events, Options{Test: kind, Model: model})
			if err == nil {
				taken = append(taken, model)
			} else {
				refusedUnless(t, false, err, kind, "Model")
			}
		}
		if got := len(taken) > 0; got != slices.Contains(table["Model"], kind) {
			t.Errorf("%s takes the models %v", kind, taken)
		}
		h, err := judged(t, events, Options{Test: kind, Explain: true})
		if err != nil || len(h.Evidence) == 0 || h.Evidence[0].Smallest == nil {
			t.Errorf("%s: nothing is explained: %v %+v", kind, err, h)
		}
		for _, other := range TestNames() {
			if _, err := judged(t, events, Options{Test: other}); err == nil && other != kind && !sameForm(kind, other) {
				t.Errorf("a history of kind %s is judged as one of kind %s", kind, other)
			}
		}
	}
	if _, err := judged(t, histories["list-append"], Options{Assume: []string{"wfr-keys"}}); err == nil || !strings.Contains(err.Error(), "wfr-keys goes with") {
		t.Errorf("wfr-keys says nothing of lists: %v", err)
	}
}

func modelNames() []string {
	var names []string
	for _, m := range cycle.Models() {
		names = append(names, string(m))
	}
	return names
}

// refusedUnless requires that an option is taken, or refused with a word.
func refusedUnless(t *testing.T, takes bool, err error, kind, option string) {
	t.Helper()
	flag := map[string]string{"NegativeBalances": "negative-balances"}[option]
	if flag == "" {
		flag = strings.ToLower(option)
	}
	switch {
	case takes && err != nil:
		t.Errorf("%s refuses %s: %v", kind, option, err)
	case !takes && err == nil:
		t.Errorf("%s takes %s, which has no effect there", kind, option)
	case !takes && !strings.Contains(err.Error(), "--"+flag):
		t.Errorf("%s refuses %s with %q", kind, option, err)
	}
}

// sameForm reports whether histories of two kinds may have the same operations.
func sameForm(kind, other string) bool {
	for _, forms := range [][]string{
		{"set", "set-full"}, {"queue", "total-queue"},
		{"mutex", "owner-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex"},
		{"register", "comments", "causal"}, {"sequential", "comments"}, {"rw-register", "long-fork", "multi-register"},
	} {
		if slices.Contains(forms, kind) && slices.Contains(forms, other) {
			return true
		}
	}
	return false
}

// TestOptionsDecide: for each option and kind it changes the answer to some history.
func TestOptionsDecide(t *testing.T) {
	const (
		add      = "0 invoke add 1; 0 ok add 1; "
		transfer = "0 invoke transfer {:from 1 :to 2 :amount 5}; 0 ok transfer {:from 1 :to 2 :amount 5}; "
		reads    = "1 invoke read; 1 ok read {1 -5 2 10}; 1 invoke read; 1 ok read {1 -5 2 10}; "
		lists    = "1 invoke txn [[:append :p 1]]; 1 ok txn [[:append :p 1]]; 0 invoke txn [[:r :p nil]]; 0 ok txn [[:r :p []]]; 2 invoke txn [[:r :p nil]]; 2 ok txn [[:r :p [1]]]"
	)
	registers := strings.NewReplacer(":append", ":w", "[]", "nil", "[1]", "1").Replace(lists)
	back := strings.NewReplacer("0 ", "2 ").Replace(lists) // one client sees 1 after nothing, once it is turned round
	total, accounts := int64(5), []string{"1..3"}
	serializable := string(cycle.Serializable)
	for _, c := range []struct {
		option, kind, events string
		without, with        Options
		then, now            string
	}{
		{"Model", "list-append", lists, Options{}, Options{Model: serializable}, "violated", "valid"},
		{"Model", "rw-register", registers, Options{}, Options{Model: serializable}, "violated", "valid"},
		{"Model", "set", add + "1 invoke read; 1 ok read []; 1 invoke read; 1 ok read [1]", Options{Test: "set-full"}, Options{Test: "set", Model: modelLinearizable}, "valid", "violated"},
		{"Model", "set-full", add + "1 invoke read; 1 ok read []; 1 invoke read; 1 ok read [1]", Options{Test: "set-full"}, Options{Test: "set-full", Model: modelLinearizable}, "valid", "violated"},
		{"Model", "kafka", "0 invoke txn [[:send 1 10] [:send 2 20]]; 1 invoke txn [[:send 1 11] [:send 2 21]]; 0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]",
			Options{}, Options{Model: "read-uncommitted"}, "valid", "violated"},
		{"Assume", "list-append", lists, Options{Model: serializable}, Options{Model: serializable, Assume: []string{"linearizable-keys"}}, "valid", "violated"},
		{"Assume", "rw-register", registers, Options{Model: serializable}, Options{Model: serializable, Assume: []string{"linearizable-keys"}}, "valid", "violated"},
		{"Assume", "list-append", lists, Options{Model: "read-uncommitted"}, Options{Model: "read-uncommitted", Assume: []string{"linearizable-keys"}}, "valid", "violated"},
		{"Assume", "list-append", turned(back), Options{Model: serializable}, Options{Model: serializable, Assume: []string{"sequential-keys"}}, "valid", "violated"},
		{"Assume", "rw-register", "0 invoke txn [[:r 1 nil] [:w 1 1]]; 1 invoke txn [[:r 1 nil] [:w 1 2]]; 0 ok txn [[:r 1 2] [:w 1 1]]; 1 ok txn [[:r 1 1] [:w 1 2]]",
			Options{Model: "read-uncommitted"}, Options{Model: "read-uncommitted", Assume: []string{"wfr-keys"}}, "valid", "violated"},
		{"Timeout", "list-append", lists, Options{Model: serializable}, Options{Model: serializable, Timeout: 1}, "valid", "unknown"},
		{"Timeout", "rw-register", registers, Options{Model: serializable}, Options{Model: serializable, Timeout: 1}, "valid", "unknown"},
		{"Timeout", "register", "0 invoke write 1; 1 invoke read; 1 ok read 1; 0 ok write 1", Options{}, Options{Timeout: 1}, "valid", "unknown"},
		{"Timeout", "multi-register", "0 invoke txn [[:write 0 1]]; 0 ok txn [[:write 0 1]]; 1 invoke txn [[:read 0 nil]]; 1 ok txn [[:read 0 1]]", Options{}, Options{Timeout: 1}, "valid", "unknown"},
		{"Memory", "register", "0 invoke write 1; 0 ok write 1; 1 invoke write 1; 1 ok write 1; 2 invoke read; 2 ok read 1", Options{}, Options{Memory: 1}, "valid", "unknown"},
		{"Initial", "register", "0 invoke write 1; 1 invoke read; 1 ok read 0; 0 ok write 1", Options{}, Options{Initial: "0"}, "violated", "valid"},
		{"Total", "bank", transfer + "1 invoke read; 1 ok read {1 5 2 10}", Options{}, Options{Total: &total}, "unknown", "violated"},
		{"Accounts", "bank", transfer + "1 invoke read; 1 ok read {1 5 2 0}; 1 invoke read; 1 ok read {1 5 2 0}", Options{}, Options{Accounts: accounts}, "valid", "violated"},
		{"NegativeBalances", "bank", transfer + reads, Options{}, Options{NegativeBalances: true}, "violated", "valid"},
	} {
		before, err := judged(t, c.events, c.without)
		if err != nil || before.Verdict.String() != c.then {
			t.Errorf("%s of %s, without: %v %v %s, want %s", c.option, c.kind, err, before.Verdict, before.Detail, c.then)
		}
		after, err := judged(t, c.events, c.with)
		if err != nil || after.Verdict.String() != c.now {
			t.Errorf("%s of %s, with: %v %v %s, want %s", c.option, c.kind, err, after.Verdict, after.Detail, c.now)
		}
	}
}

// turned puts the read of something before the read of nothing.
func turned(events string) string {
	parts := strings.Split(events, "; ")
	return strings.Join([]string{parts[0], parts[1], parts[4], parts[5], parts[2], parts[3]}, "; ")
}

// A counter's smallest part keeps what its reads may have seen: without the addition of 3 the
// first, correct read would be wrong.
func TestTheSmallestPartOfACounter(t *testing.T) {
	h, err := judged(t, "2 invoke add 3; 2 ok add 3; 0 invoke add 5; 1 invoke read; 1 ok read 8; 1 invoke read; 1 ok read 8; 1 invoke read; 1 ok read 3; 0 ok add 5; 2 invoke add 7; 2 ok add 7", Options{Explain: true})
	if err != nil || len(h.Evidence) != 1 || h.Evidence[0].Kind != "went-back" || h.Evidence[0].Smallest == nil {
		t.Fatalf("%v %+v", err, h)
	}
	var did []string
	for _, o := range h.Evidence[0].Smallest.Operations {
		did = append(did, strings.Join(o.Steps, " "))
	}
	if got := strings.Join(did, ", "); got != "add 3, add 5, read 8, read 3" {
		t.Errorf("the smallest part is %s", got)
	}
}
