package histories

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/report"
)

// edn writes a history from events such as "0 invoke add 1", separated by semicolons.
func edn(short string) string {
	var b strings.Builder
	for _, event := range strings.Split(strings.TrimRight(short, "; "), ";") {
		words := append(strings.SplitN(strings.TrimSpace(event), " ", 4), "nil", "nil", "nil")
		fmt.Fprintf(&b, "{:process %s, :type :%s, :f :%s, :value %s}\n", words[0], words[1], words[2], words[3])
	}
	return b.String()
}

// keyed is a history whose operations name their process as a key of its own, too.
func keyed(short string) string {
	events := strings.Split(strings.TrimRight(short, "; "), ";")
	for i, event := range events {
		words := append(strings.SplitN(strings.TrimSpace(event), " ", 4), "nil")
		words[3] += ", :key " + words[0]
		events[i] = strings.Join(words[:4], " ")
	}
	return strings.Join(events, "; ") + "; "
}

// A history's kind follows from its operations, or is given.
func TestKindsOfHistories(t *testing.T) {
	const add = "0 invoke add 1; 0 ok add 1;"
	for _, c := range []struct {
		events, test, model string
		kind, verdict, says string
	}{
		{add + "1 invoke read; 1 ok read [1]", "", "", "set", "valid", "1 last read"},
		{add + "1 invoke read; 1 ok read [1]", "set-full", "", "set-full", "valid", "1 stable"},
		{add + "1 invoke read; 1 ok read []; 1 invoke read; 1 ok read [1]", "set-full", "", "set-full", "valid", "1 stale"},
		{keyed("1 invoke add 1; 1 ok add 1; 2 invoke read; 2 ok read #{}; 1 invoke read; 1 ok read #{1}"), "", "", "set", "unknown", "2 keys, each judged by itself: 1 valid, none violated, 1 unknown; key 2"},
		{keyed("1 invoke add 1; 1 ok add 1; 2 invoke read; 2 ok read #{1}; 1 invoke read; 1 ok read #{1}"), "", "", "set", "violated", "key 2: 0 additions"},
		{keyed("1 invoke enqueue 1; 1 ok enqueue 1; 2 invoke dequeue; 2 ok dequeue 1"), "", "", "queue", "violated", "key 2"},
		{keyed("1 invoke add 1; 1 ok add 1; 2 invoke add 1; 2 ok add 1; 2 invoke read; 2 ok read 1"), "", "", "counter", "unknown", "2 keys"},
		{keyed("1 invoke generate; 1 ok generate 1; 2 invoke generate; 2 ok generate 1"), "", "", "unique-ids", "valid", "2 keys"},
		{keyed("1 invoke txn [[:append 0 1]]; 1 ok txn [[:append 0 1]]; 2 invoke txn [[:r 0 nil]]; 2 ok txn [[:r 0 [1]]]"), "", "", "list-append", "violated", "2 keys, each judged by itself"},
		{keyed("1 invoke transfer {:from 1 :to 2 :amount 5}; 1 ok transfer {:from 1 :to 2 :amount 5}; 1 invoke read; 1 ok read {1 5 2 10}; 1 invoke read; 1 ok read {1 5 2 10}; 2 invoke read; 2 ok read {1 1 2 1}"), "", "", "bank", "unknown", "2 keys, each judged by itself: 1 valid"},
		{keyed("1 invoke append \"p\"; 1 ok append \"p\"; 2 invoke get; 2 ok get \"\"; 1 invoke get; 1 ok get \"p\""), "", "", "key-value", "valid", "2 keys, 2 gets"},
		{keyed("1 invoke acquire; 1 ok acquire; 2 invoke acquire; 2 ok acquire"), "", "", "mutex", "valid", "2 keys"},
		{"1 invoke read; 1 ok read #{10 20}; 1 invoke read; 1 ok read #{20 10}; 0 invoke add 10", "set-full", "", "set-full", "violated", "2 unexpected"},
		{"0 ok add 1; 1 ok read [1]", "set", "", "set", "unknown", "completions without invocations"},
		{"0 ok add 1; 0 ok read []", "set", "", "set", "violated", "1 lost"},
		{"0 ok add 1; 1 ok read [1]; 1 ok read [1]", "set-full", "", "set-full", "unknown", "completions without invocations"},
		{"0 ok enqueue 1; 1 ok dequeue 1", "", "", "queue", "unknown", "completions without invocations"},
		{"0 ok enqueue 1; 1 ok dequeue 1", "total-queue", "", "total-queue", "unknown", "completions without invocations"},
		{"0 ok add 1; 1 ok read 1", "", "", "counter", "unknown", "completions without invocations"},
		{"0 ok write 1; 1 ok read [1]", "comments", "", "comments", "unknown", "completions without invocations"},
		{"0 ok add {:val 1 :sts 5}; 1 ok read [{:val 1 :sts 5}]", "", "", "monotonic", "unknown", "completions without invocations"},
		{"0 ok send [[:send 1 [0 2]]]; 1 ok poll [[:poll {1 [[0 2]]}]]", "", "", "kafka", "unknown", "completions without invocations"},
		{"0 ok send [[:send 1 [0 2]]]; 1 ok poll [[:poll {1 [[0 2]]}]]", "", "serializable", "kafka", "unknown", "completions without invocations"},
		{"0 ok generate 1; 1 ok generate 2", "", "", "unique-ids", "valid", "completions without invocations"},
		{"nil invoke send [[:send 1 2]]; nil ok send [[:send 1 [0 2]]]; nil invoke poll [[:poll]]; nil ok poll [[:poll {1 [[0 2]]}]]", "", "", "kafka", "unknown", "name no process"},
		{add + "1 invoke read; 1 ok read []; 1 invoke read; 1 ok read [1]", "", "linearizable", "set-full", "violated", "1 stale"},
		{"1 invoke read; 1 ok read []; " + add + "1 invoke read; 1 ok read [1]", "", "", "set-full", "valid", "1 stable"},
		{add + "1 invoke read; 1 ok read 1", "", "", "counter", "valid", "each saw what was acknowledged"},
		{add, "set", "", "set", "unknown", "never read"},
		{add, "counter", "", "counter", "unknown", "never read"},
		{"0 invoke enqueue 1; 0 ok enqueue 1; 1 invoke dequeue; 1 ok dequeue 1", "", "", "queue", "valid", ""},
		{"0 invoke enqueue 1; 0 ok enqueue 1; 1 invoke dequeue; 1 ok dequeue 2", "total-queue", "", "total-queue", "violated", "1 lost, 1 unexpected"},
		{"0 invoke enqueue 1; 0 ok enqueue 1; 1 invoke drain; 1 ok drain []", "", "", "total-queue", "violated", "1 lost"},
		{"0 invoke generate; 0 ok generate :a; 0 invoke generate; 0 ok generate :a", "", "", "unique-ids", "violated", "1 given before"},
		{"0 invoke add [:a 1]; 0 ok add [:a 1]; 0 invoke add [:b 1]; 0 ok add [:b 1]; 1 invoke read [:a nil]; 1 ok read [:a [1]]; 1 invoke read [:b nil]; 1 ok read [:b []]",
			"", "", "set", "violated", "2 keys, each judged by itself: 1 valid, 1 violated, none unknown; key :b: 1 addition"},
		{"0 invoke add [1 1]; 0 ok add [1 1]; 1 invoke read [1 nil]; 1 ok read [1 [1]]; 0 invoke add [2 1]; 0 ok add [2 1]", "set", "", "set", "unknown", "1 valid, none violated, 1 unknown; key 2"},
		{"0 invoke send [[:send 1 2]]; 0 ok send [[:send 1 [0 2]]]; 0 invoke poll [[:poll]]; 0 ok poll [[:poll {1 [[0 2]]}]]", "", "", "kafka", "valid", "1 poll of 1 value"},
		{"0 invoke txn [[:send 1 2] [:poll]]; 0 ok txn [[:send 1 [0 2]] [:poll {1 [[0 2]]}]]", "", "", "kafka", "violated", "1 precommitted-read"},
		{"0 invoke txn [[:send 1 10] [:send 2 20]]; 1 invoke txn [[:send 1 11] [:send 2 21]]; 0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]", "", "", "kafka", "valid", "allowed, and found: a cycle G0"},
		{"0 invoke txn [[:send 1 10] [:send 2 20]]; 1 invoke txn [[:send 1 11] [:send 2 21]]; 0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]", "", "PL-1", "kafka", "violated", "1 G0"},
		{"0 invoke acquire; 0 ok acquire; 1 invoke acquire; 1 ok acquire", "", "", "mutex", "violated", "1 two-holders"},
		{"0 invoke acquire; 0 ok acquire; 1 invoke release; 1 ok release", "", "", "mutex", "valid", ""},
		{"0 invoke acquire; 0 ok acquire; 1 invoke release; 1 ok release", "owner-mutex", "", "owner-mutex", "violated", "1 release-of-free"},
		{"0 invoke acquire; 0 ok acquire 1; 0 invoke release; 0 ok release; 1 invoke acquire; 1 ok acquire 1", "fenced-mutex", "", "fenced-mutex", "violated", "1 fence-not-increasing"},
		{"0 invoke acquire [:a nil]; 0 ok acquire [:a nil]; 1 invoke acquire [:b nil]; 1 ok acquire [:b nil]", "", "", "mutex", "valid", "2 keys"},
		{"0 invoke write [[:w 0 1]]; 0 ok write [[:w 0 1]]; 1 invoke read [[:r 0 nil] [:r 1 nil]]; 1 ok read [[:r 0 1] [:r 1 nil]]", "", "", "long-fork", "valid", "1 group"},
		{"0 invoke txn [[:w 0 1]]; 0 ok txn [[:w 0 1]]; 1 invoke txn [[:r 0 nil]]; 1 ok txn [[:r 0 1]]", "long-fork", "", "long-fork", "valid", ""},
		{"0 invoke txn [[:w 0 1]]; 0 ok txn [[:w 0 1]]; 1 invoke txn [[:r 0 nil]]; 1 ok txn [[:r 0 1]]", "multi-register", "", "multi-register", "valid", ""},
		{"0 invoke txn [[:write 0 1]]; 0 ok txn [[:write 0 1]]; 1 invoke txn [[:read 0 nil]]; 1 ok txn [[:read 0 2]]", "", "", "multi-register", "violated", "not linearizable"},
		{"0 invoke write [1 5]; 0 ok write [1 5]; 1 invoke read [1 nil]; 1 ok read [1 [5 6 7]]", "", "", "comments", "violated", "2 unexpected"},
		// A plain list of two is no key and value of a register whose writes name no key.
		{"0 invoke write 1; 0 ok write 1; 0 invoke write 2; 0 ok write 2; 1 invoke read; 1 ok read [2 1]", "", "", "comments", "valid", ""},
		{"0 invoke write 1; 0 ok write 1; 0 invoke write 2; 0 ok write 2; 0 invoke write 3; 0 ok write 3; 1 invoke read; 1 ok read [1 3]", "", "", "comments", "violated", "1 earlier-write-missing"},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read; 1 ok read []; 0 invoke write 2; 0 ok write 2; 1 invoke read; 1 ok read [1 2]; 0 invoke write 3; 0 ok write 3; 1 invoke read; 1 ok read [3 2 1]", "", "", "comments", "valid", ""},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read; 1 ok read []", "comments", "", "comments", "unknown", "no read saw a write"},
		{"0 invoke write [7 3]; 0 ok write [7 3]; 1 invoke read; 1 ok read [7 3]", "", "", "register", "valid", "on 1 register"},
		{"0 invoke txn [[:write 0 1]]; 0 ok txn [[:write 0 1]]; 1 invoke txn [[:read 0]]; 1 ok txn [[:read 0 2]]", "", "", "multi-register", "violated", "not linearizable"},
		{"0 invoke write [[:w 0 1]]; 0 ok write [[:w 0 1]]; 1 invoke read [[:r 0] [:r 1]]; 1 ok read [[:r 0 1] [:r 1]]", "", "", "long-fork", "valid", "1 group"},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read 1; 1 ok read [1 [2 nil 0]]", "", "", "sequential", "violated", "1 earlier-write-missing"},
		{"0 invoke insert [1 [1 nil]]; 0 ok insert [1 [1 nil]]; 1 invoke insert [1 [nil 2]]; 1 ok insert [1 [nil 2]]", "", "", "adya-g2", "violated", "1 more than one"},
		{"0 invoke read-init [1 nil]; 0 ok read-init [1 0]; 0 invoke write [1 1]; 0 ok write [1 1]; 0 invoke read [1 nil]; 0 ok read [1 0]", "", "", "causal", "violated", "1 causality-violation"},
		{"0 invoke add; 0 ok add {:val 1 :sts 5}; 1 invoke read; 1 ok read [{:val 1 :sts 5}]", "", "", "monotonic", "valid", "1 row"},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read; 1 ok read 1", "", "", "register", "valid", "linearizable"},
		// A read may name its independent key in the answer alone.
		{"1 invoke read; 1 ok read [7 nil]; 0 invoke write [7 3]; 0 ok write [7 3]; 1 invoke read; 1 ok read [7 3]", "", "", "register", "valid", "on 1 register; each is linearizable"},
		{"0 invoke write [7 3]; 0 ok write [7 3]; 0 invoke write [8 4]; 0 ok write [8 4]; 1 invoke read; 1 ok read [8 4]; 1 invoke read; 1 ok read [7 4]", "", "", "register", "violated", "on 2 registers; 1 register is not linearizable"},
		{"1 invoke read; 1 ok read [7 nil]", "register", "", "register", "valid", "on 1 register"},
		{"1 invoke read; 1 ok read [10 5]; 1 invoke read; 1 ok read [5 10]", "bank", "", "bank", "unknown", "0 transfers"},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read; 1 ok read 1", "register", "linearizable", "register", "valid", "linearizable"},
		{"0 invoke txn [[:append 0 1]]; 0 ok txn [[:append 0 1]]; 1 invoke txn [[:r 0 nil]]; 1 ok txn [[:r 0 [1]]]", "", "PL-3", "list-append", "valid", "serializable"},
		// Each independent key is a history: the two appends are to different lists of one name.
		{"0 invoke txn [7 [[:append 0 1]]]; 0 ok txn [7 [[:append 0 1]]]; 1 invoke txn [8 [[:append 0 1] [:r 0 nil]]]; 1 ok txn [8 [[:append 0 1] [:r 0 [1]]]]; 0 invoke txn [7 [[:r 0 nil]]]; 0 ok txn [7 [[:r 0 [1]]]]",
			"", "", "list-append", "valid", "2 keys, each judged by itself: 2 valid"},
		{"0 invoke txn [7 [[:append 0 1]]]; 0 ok txn [7 [[:append 0 1]]]; 1 invoke txn [8 [[:append 0 2] [:r 0 nil]]]; 1 ok txn [8 [[:append 0 2] [:r 0 [2]]]]; 0 invoke txn [7 [[:r 0 nil]]]; 0 ok txn [7 [[:r 0 []]]]",
			"", "", "list-append", "violated", "1 valid, 1 violated, none unknown; key 7: 2 transactions"},
		{"0 invoke txn [:a [[:w 0 1]]]; 0 ok txn [:a [[:w 0 1]]]; 0 invoke txn [:a [[:r 0 nil]]]; 0 ok txn [:a [[:r 0 2]]]",
			"", "read-committed", "rw-register", "violated", "1 key, each judged by itself: none valid, 1 violated"},
		{"0 invoke txn [7 []]; 0 ok txn [7 []]; 0 invoke txn [8 [[:append 0 1]]]; 0 ok txn [8 [[:append 0 1]]]", "", "", "list-append", "unknown", "2 unknown; key 7: 1 transaction with 0 operations"},
		{"0 invoke txn [7 [[:write 0 1]]]; 0 ok txn [7 [[:write 0 1]]]; 1 invoke txn [7 [[:read 0 nil]]]; 1 ok txn [7 [[:read 0 2]]]", "", "", "multi-register", "violated", "1 key, each"},
		{"0 invoke transfer [3 {:from 1 :to 2 :amount 5}]; 0 ok transfer [3 {:from 1 :to 2 :amount 5}]; 1 invoke read [3 nil]; 1 ok read [3 {1 5 2 10}]; 1 invoke read [3 nil]; 1 ok read [3 {1 10 2 5}]; 1 invoke read [3 nil]; 1 ok read [3 {1 10 2 10}]",
			"", "", "bank", "violated", "1 key, each judged by itself: none valid, 1 violated"},
		{"1 invoke read [3 nil]; 1 ok read [3 [10 5]]; 0 invoke transfer [3 {:from 0 :to 1 :amount 5}]; 0 ok transfer [3 {:from 0 :to 1 :amount 5}]; 1 invoke read [3 nil]; 1 ok read [3 [5 10]]; 1 invoke read [4 nil]; 1 ok read [4 [1 1]]",
			"", "", "bank", "unknown", "2 keys, each judged by itself: 1 valid, none violated, 1 unknown; key 4"},
	} {
		h, err := judged(t, c.events, Options{Test: c.test, Model: c.model})
		if err != nil || h.Verdict.String() != c.verdict || h.Kind != c.kind || !strings.Contains(h.Detail, c.says) {
			t.Errorf("%s: %v %s %s: %s\nwant %s %s: %s", c.events, err, h.Kind, h.Verdict, h.Detail, c.kind, c.verdict, c.says)
		}
	}
}

func TestKindsThatDoNotFit(t *testing.T) {
	const add = "0 invoke add 1; 0 ok add 1;"
	for _, c := range []struct{ events, test, model, says string }{
		{add, "", "", "say with --test which it is: counter, set, set-full"},
		{add, "nonsense", "", "--test"},
		{keyed("1 invoke send [[:send 1 2]]; 1 ok send [[:send 1 [0 2]]]"), "kafka", "", "an operation with the key 1, in a history of a kind without keys"},
		{keyed("1 invoke send [[:send 1 2]]; 1 ok send [[:send 1 [0 2]]]"), "", "", "line 1: an operation with the key 1, in a history of a kind without keys"},
		{"0 invoke add 1; 0 ok add 1; " + keyed("1 invoke add 2; 1 ok add 2"), "set", "", "an operation with the key 1"},
		{keyed("1 invoke add 2; 1 ok add 2; ") + "0 invoke add [1 1]; 0 ok add [1 1]", "set", "", "name the key of each operation, or of none"},
		{"0 invoke write 1; 0 ok write 1; " + keyed("1 invoke write 2; 1 ok write 2"), "", "", "name the key of each operation, or of none"},
		{"0 invoke write [1 1]; 0 ok write [1 1]; 0 invoke write 2; 0 ok write 2", "register", "", "name the key of each operation, or of none"},
		{keyed("1 invoke add 2; 1 ok add 2; ") + "0 invoke add 1; 0 ok add 1", "set", "", "line 3: an operation with a :key in a history of operations without one"},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read 1; 1 ok read [1 #{2 nil 0}]", "sequential", "", "with the parts in order"},
		{"0 invoke add; 0 ok add {:val 1 :sts 5}; 1 invoke read; 1 ok read #{{:val 1 :sts 5}}", "monotonic", "", "a list of rows"},
		{"0 invoke write [[:w 0 nil]]; 0 ok write [[:w 0 nil]]", "long-fork", "", "another value than nil"},
		{"nil invoke acquire; nil ok acquire; nil invoke release; nil ok release", "owner-mutex", "", "name the process of each operation"},
		{"0 invoke write 1; 0 ok write 1; 1 invoke read; 1 ok read []", "", "", "line 3: a read in a history of another kind, register, as which it began on line 1; if its reads list all that was written, say so with --test comments"},
		{"1 invoke read; 1 ok read [7 3]", "", "", "say with --test which it is: bank, register, set, set-full"},
		{"1 invoke read; 1 ok read [1 2 3]", "register", "", "line 2: a list is no key or value"},
		{"1 invoke read; 1 ok read {1 2}", "register", "", "line 2: a map is no key or value"},
		{add, "queue", "", "line 1: operations of the function :add; known are enqueue, dequeue and drain"},
		{add, "register", "", "line 1: operations of the function :add cannot be judged"},
		{add + "1 invoke read; 1 ok read [1]", "", "serializable", "leave --model out"},
		{add + "1 invoke read; 1 ok read 1", "", "linearizable", "holds a history of kind counter"},
		{add + "1 invoke enqueue 5", "", "", "line 3: operations of the function :enqueue"},
		{add + "1 invoke read; 1 ok read {1 2}", "", "", "line 3: a read of nil, answered with {1 2}"},
		{"0 invoke add 1; 0 ok add 2", "", "", "line 1: an add of 1, answered with 2; want the same element (set, counter), or an invocation with nil (monotonic)"},
		{"0 invoke generate; 0 ok generate", "", "", "line 1: a generate of nil, answered with nil; want an identifier"},
		{"0 invoke enqueue [1 [2]]", "", "", "line 1: an enqueue of [1 [2]]; want one element"},
		{"0 invoke add [1 2]; 0 ok add [1 2]; 1 invoke read; 1 ok read [[1 2]]", "", "", "line 3: a read of nil, answered with [[1 2]], in a history of independent keys"},
		{"0 invoke fetch 1", "", "", "of the function :fetch with the value 1 are of no kind that is known; name it with --test"},
		{"0 invoke add [1 1]; 0 ok add [2 1]; 1 invoke read; 1 ok read [1]", "", "", "line 1"},
		{"0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 [1]]]", "set", "", "function :txn"},
		{"0 invoke txn [7 [[:r 1 nil]]]; 0 ok txn [8 [[:r 1 [1]]]]", "", "", "line 2: process 0 invoked a transaction on line 1 and is answered with one of another independent key"},
		{"0 invoke txn [7 [[:r 1 nil]]]; 0 ok txn [[:r 1 [1]]]", "", "", "another independent key"},
		{"0 invoke txn [7 [[:r 1 nil]]]; 0 ok txn [7 [[:r 1 [1]]]]; 0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 [1]]]", "", "", "line 3: a value that is no pair"},
		{"0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 [1]]]; 0 invoke txn [7 [[:r 1 nil]]]; 0 ok txn [7 [[:r 1 [1]]]]", "", "", "line 3: a value of the independent key 7"},
		{"0 invoke transfer {:from 1 :to 2 :amount 5}; 0 ok transfer {:from 1 :to 2 :amount 5}; 1 invoke read [3 nil]; 1 ok read [3 {1 5 2 10}]", "", "", "line 3: a value of the independent key 3"},
		{"0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 [1]]]", "rw-register", "", "line 2: a txn as a history of kind list-append has it, which cannot be read as one of kind rw-register"},
		{"0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 [1]]]", "", "linearizable", "--model is one of"},
	} {
		_, err := judged(t, c.events, Options{Test: c.test, Model: c.model})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s --test %q --model %q: %v, want %s", c.events, c.test, c.model, err, c.says)
		}
		if c.test != "nonsense" && !errors.As(err, new(*report.InputError)) {
			t.Errorf("%s: %T is no error of the input", c.events, err)
		}
	}
}
