package recorded

import (
	"slices"
	"strings"
	"testing"

	"assay/check"
)

// vector is a history with the expectation of Jepsen's own public tests (jepsen.checker-test,
// jepsen.tests.*-test). kinds are the anomalies that the checker names, besides those that it
// allows. Our verdict is valid, violated or unknown.
type vector struct {
	kind, events string
	kinds        []string
	want         check.Verdict
}

func expectVectors(t *testing.T, vectors []vector) {
	t.Helper()
	for _, v := range vectors {
		r := judged(t, opened(v.kind), mustRead(t, v.events))
		var kinds []string
		for _, e := range r.Evidence {
			kinds = append(kinds, e.Kind)
		}
		slices.Sort(kinds)
		kinds = slices.Compact(kinds)
		if slices.Sort(v.kinds); r.Verdict != v.want || !slices.Equal(kinds, v.kinds) {
			t.Errorf("%s of %s: %v %v, want %v %v\n%s", v.kind, v.events, r.Verdict, kinds, v.want, v.kinds, r.Detail)
		}
	}
}

// Logs are from jepsen.tests.kafka-test.
func TestPublicVectorsOfLogs(t *testing.T) {
	of := func(parts ...string) string { return strings.Join(parts, "; ") }
	twice := func(process, f, asked, kind, told string) string {
		return process + " invoke " + f + " " + asked + "; " + process + " " + kind + " " + f + " " + told
	}
	const valid, violated, unknown = check.Valid, check.Violated, check.Unknown
	var (
		abcd      = "[[:send :x :a] [:send :x :b] [:send :x :c] [:send :x :d]]"
		sendABCD  = twice("0", "send", abcd, "ok", abcd)
		infoABCDG = twice("3", "send", "[[:send :x :a] [:send :x :b] [:send :x :c] [:send :x :d] [:send :x :g]]", "info", "[[:send :x :a] [:send :x :b] [:send :x :c] [:send :x :d] [:send :x :g]]")
		poll      = func(process, told string) string {
			return twice(process, "poll", "[[:poll]]", "ok", "[[:poll "+told+"]]")
		}
		moved      = func(f, keys, kind string) string { return twice("0", f, keys, kind, keys) }
		poll123    = poll("0", "{:x [[1 :a] [2 :b] [3 :c]]}")
		poll234    = poll("0", "{:x [[2 :b] [3 :c] [4 :d]]}")
		poll12     = poll("0", "{:x [[1 :a] [2 :b]]}")
		poll3      = poll("1", "{:x [[3 :c]]}")
		poll4      = poll("0", "{:x [[4 :d]]}")
		write6     = twice("2", "send", "[[:send :x :f]]", "ok", "[[:send :x [6 :f]]]")
		poll7      = poll("0", "{:x [[7 :g]]}")
		send34     = twice("0", "send", "[[:send :x :c] [:send :x :d]]", "ok", "[[:send :x [3 :c]] [:send :x [4 :d]]]")
		send12     = twice("0", "send", "[[:send :x 1] [:send :x 2]]", "ok", "[[:send :x [1 :a]] [:send :x [2 :b]]]")
		conflict   = of(twice("0", "send", "[[:send :x 1] [:send :y 1]]", "info", "[[:send :x [0 1]] [:send :y 1]]"), twice("1", "send", "[[:send :x 2]]", "ok", "[[:send :x [0 2]]]"))
		sendAB     = twice("0", "send", "[[:send :x :a] [:send :y :b]]", "info", "[[:send :x :a] [:send :y [0 :b]]]")
		sendC      = twice("1", "send", "[[:send :y :c]]", "info", "[[:send :y :c]]")
		pollA      = poll("2", "{:x [[0 :a]]}")
		pollC      = poll("3", "{:y [[1 :c]]}")
		send012    = twice("0", "send", "[[:send :x 0] [:send :x 1] [:send :x 2]]", "ok", "[[:send :x [0 0]] [:send :x [1 1]] [:send :x [2 2]]]")
		send012345 = twice("0", "send", "[[:send :x 0] [:send :x 1] [:send :x 2] [:send :x 3] [:send :x 4] [:send :x 5]]", "ok",
			"[[:send :x [0 0]] [:send :x [1 1]] [:send :x [2 2]] [:send :x [3 3]] [:send :x [4 4]] [:send :x [5 5]]]")
		txn = func(kind, told string) string { return twice("1", "txn", "[[:poll]]", kind, "[[:poll "+told+"]]") }
	)
	tenTwice := ""
	for _, v := range strings.Fields("0 1 2 3 4 5 6 7 8 9") {
		tenTwice += twice("0", "send", "[[:send :x "+v+"]]", "ok", "[[:send :x [0 "+v+"]]]") + "; " + poll("1", "{:x [[1 "+v+"]]}") + "; "
	}
	expectVectors(t, []vector{
		{"kafka", "0 ok txn [[:poll {:x [[0 :a] [1 :b]]}]]; 1 info txn [[:send :x [1 :c]] [:send :x [3 :b]] [:send :x [4 :d]]]; 2 info txn [[:send :x :a]]", []string{"duplicate", "inconsistent-offsets", "lost-write"}, violated},
		{"kafka", of(twice("379", "send", "[[:send 11 641]]", "ok", "[[:send 11 [537 641]]]"), twice("363", "send", "[[:send 11 645]]", "ok", "[[:send 11 [537 645]]]")), []string{"inconsistent-offsets"}, violated},
		{"kafka", conflict, nil, unknown},
		{"kafka", of(conflict, poll("2", "{:y [[5 1]]}")), []string{"inconsistent-offsets"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :x 2] [:send :y 3]]", "fail", "[[:send :x 2] [:send :y 3]]"), poll("1", "{:x [[0 2]]}")), []string{"G1a"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :x :a]]", "ok", "[[:send :x [0 :a]]]"), twice("0", "send", "[[:send :x :b] [:send :x :d]]", "ok", "[[:send :x [1 :b]] [:send :x [3 :d]]]"),
			twice("1", "send", "[[:send :x :c]]", "info", "[[:send :x :c]]"), poll("0", "{:x [[2 :c]]}")), []string{"lost-write"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :x :a]]", "ok", "[[:send :x [0 :a]]]"), twice("2", "send", "[[:send :x :b] [:send :x :c]]", "ok", "[[:send :x [0 :b]] [:send :x [2 :c]]]"),
			poll("0", "{:x [[0 :b] [2 :c]]}")), []string{"inconsistent-offsets", "lost-write"}, violated},
		{"kafka", of(sendAB, sendC, pollC), nil, valid},
		{"kafka", of(sendAB, sendC, pollA, pollC), []string{"lost-write"}, violated},

		{"kafka", of(poll12, poll3, poll4, write6, poll7, infoABCDG), []string{"G1c-realtime", "future-read", "lost-write", "poll-skip"}, violated},
		{"kafka", of(infoABCDG, poll12, poll3, poll4, write6, poll7), []string{"lost-write", "poll-skip"}, violated},
		{"kafka", of(infoABCDG, poll12, poll3, moved("subscribe", "[:y]", "ok"), poll4, moved("assign", "[:y]", "info"), write6, poll7), []string{"lost-write"}, violated},
		{"kafka", of(infoABCDG, poll12, poll3, moved("subscribe", "[:x :y]", "ok"), poll4, moved("assign", "[:x :y]", "ok"), write6, poll7), []string{"lost-write", "poll-skip"}, violated},
		{"kafka", of(send012, txn("ok", "{:x [[0 0]]}"), txn("fail", "{:x [[1 1] [2 2]]}"), txn("info", "{:x [[1 1] [2 2]]}"), txn("ok", "{:x [[1 1] [2 2]]}")), nil, valid},
		{"kafka", of(send012345, txn("ok", "{:x [[0 0]]}"), txn("fail", "{:x [[1 1] [2 2]]}"), txn("fail", "{:x [[3 3] [4 4]]}"), txn("ok", "{:x [[5 5]]}")), []string{"poll-skip"}, violated},
		{"kafka", of(send012345, txn("ok", "{:x [[0 0]]}"), txn("fail", "{:x [[1 1] [2 2]]}"), txn("info", "{:x [[3 3] [4 4]]}")), []string{"poll-skip"}, violated},

		{"kafka", of(sendABCD, poll123, poll234), []string{"nonmonotonic-poll"}, violated},
		{"kafka", of(sendABCD, poll123, moved("subscribe", "[:y]", "ok"), poll234), nil, valid},
		{"kafka", of(sendABCD, poll123, moved("assign", "[:y]", "ok"), poll234), nil, valid},
		{"kafka", of(sendABCD, poll123, moved("subscribe", "[:x :y]", "ok"), poll234), []string{"nonmonotonic-poll"}, violated},
		{"kafka", of(sendABCD, poll123, moved("assign", "[:x :y]", "ok"), poll234), []string{"nonmonotonic-poll"}, violated},

		{"kafka", of(send34, send12), []string{"nonmonotonic-send"}, violated},
		{"kafka", of(send34, moved("subscribe", "[:y]", "ok"), send12), nil, unknown},
		{"kafka", of(send34, moved("assign", "[:y]", "info"), send12), nil, unknown},
		{"kafka", of(send34, moved("subscribe", "[:x :y]", "ok"), send12), []string{"nonmonotonic-send"}, violated},
		{"kafka", of(send34, moved("assign", "[:x :y]", "ok"), send12), []string{"nonmonotonic-send"}, violated},

		{"kafka", of(twice("1", "send", "[[:send :x :a] [:send :x :b] [:send :x :d]]", "info", "[[:send :x :a] [:send :x :b] [:send :x :d]]"), poll("0", "{:x [[1 :a] [4 :d]]}"), poll("2", "{:x [[2 :b]]}")), []string{"int-poll-skip"}, violated},
		{"kafka", of(twice("1", "send", "[[:send :x :a] [:send :x :b] [:send :x :d]]", "info", "[[:send :x :a] [:send :x :b] [:send :x :d]]"),
			twice("0", "poll", "[[:poll] [:poll]]", "ok", "[[:poll {:x [[1 :a]]}] [:poll {:x [[4 :d]]}]]"), poll("2", "{:x [[2 :b]]}")), []string{"int-poll-skip"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :x :a] [:send :x :c]]", "ok", "[[:send :x [1 :a]] [:send :x :c]]"), twice("1", "send", "[[:send :x :b]]", "info", "[[:send :x :b]]"), poll("2", "{:x [[2 :b] [3 :c]]}")), []string{"lost-write"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :x :a] [:send :x :b] [:send :x :c]]", "info", "[[:send :x :a] [:send :x :b] [:send :x :c]]"), poll("0", "{:x [[3 :c] [1 :a]]}"),
			twice("2", "poll", "[[:poll]]", "ok", "[[:poll {:x [[2 :b] [3 :c]]}] [:poll {:x [[3 :c]]}]]")), []string{"int-nonmonotonic-poll"}, violated},
		{"kafka", twice("0", "send", "[[:send :x 3] [:send :x 1]]", "ok", "[[:send :x [3 :c]] [:send :x [1 :a]]]"), []string{"int-nonmonotonic-send"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :y :d] [:send :y :b]]", "info", "[[:send :y :d] [:send :y :b]]"), twice("1", "send", "[[:send :y :c]]", "info", "[[:send :y :c]]"),
			poll("2", "{:y [[2 :b] [3 :c] [4 :d]]}")), []string{"int-nonmonotonic-send"}, violated},

		{"kafka", of(twice("0", "send", "[[:send :x :a]]", "ok", "[[:send :x [1 :a]]]"), twice("1", "send", "[[:send :x :b]]", "info", "[[:send :x :b]]"), poll("2", "{:x [[2 :b] [3 :a]]}")), []string{"duplicate"}, violated},
		{"kafka", tenTwice, []string{"duplicate", "inconsistent-offsets", "nonmonotonic-poll", "nonmonotonic-send"}, violated},
		{"kafka", of(twice("0", "send", "[[:send :x 0]]", "ok", "[[:send :x [1 0]]]"), twice("0", "send", "[[:send :x 1]]", "fail", "[[:send :x [2 1]]]"), twice("1", "poll", "[[:poll]]", "fail", "[[:poll {:x [[11 0] [12 1]]}]]")), []string{"duplicate"}, violated},
		{"kafka", moved("assign", "[:x]", "ok"), nil, unknown},
		{"kafka", of(poll("0", "{}"), twice("0", "send", "[[:send :x :a] [:send :x :b]]", "ok", "[[:send :x [0 :a]] [:send :x [1 :b]]]"), poll("0", "{:x [[0 :a]]}"), poll("0", "{:x [[1 :b]]}")), nil, valid},

		{"kafka read-uncommitted", "0 invoke send [[:send :x :a] [:send :y :a]]; 1 invoke send [[:send :x :b] [:send :y :b]]; 0 ok send [[:send :x [0 :a]] [:send :y [1 :a]]]; 1 ok send [[:send :x [1 :b]] [:send :y [0 :b]]]", []string{"G0"}, violated},
		{"kafka", "0 invoke txn [[:send :x :a] [:poll]]; 1 invoke txn [[:send :y :b] [:poll]]; 0 ok txn [[:send :x [0 :a]] [:poll {:y [[0 :b]]}]]; 1 ok txn [[:send :y [0 :b]] [:poll {:x [[0 :a]]}]]", []string{"G1c"}, violated},
		{"kafka read-committed", "0 invoke txn [[:send :x :a] [:send :y :c]]; 1 invoke txn [[:poll] [:send :y :b]]; 0 ok txn [[:send :x [0 :a]] [:send :y [2 :c]]]; 1 ok txn [[:poll {:x [[0 :a]]}] [:send :y [1 :b]]]", []string{"G1c"}, violated},
		{"kafka", "0 invoke txn [[:send :x :a] [:poll]]; 0 ok txn [[:send :x [0 :a]] [:poll {:x [[0 :a]]}]]", []string{"precommitted-read"}, violated},
	})
}

// Queues, counters and sets are from jepsen.checker-test, and reads from
// jepsen.tests.causal-reverse-test and jepsen.tests.long-fork-test. If nothing was put to the test,
// Jepsen says valid, and we say unknown.
func TestPublicVectorsOfCollections(t *testing.T) {
	const (
		valid, violated, unknown = check.Valid, check.Violated, check.Unknown

		a, aOK    = "0 invoke add 0; ", "0 ok add 0; "
		r, rOK    = "1 invoke read; ", "1 ok read #{0}; "
		rNone     = "1 ok read #{}; "
		write12   = "0 invoke write 1; 0 ok write 1; 0 invoke write 2; 0 ok write 2; "
		readAgain = "2 invoke read; 2 ok read "
	)
	expectVectors(t, []vector{
		{"queue", "", nil, unknown},
		{"queue", "1 invoke enqueue 1", nil, unknown},
		{"queue", "1 ok enqueue 1", nil, unknown},
		{"queue", "2 invoke dequeue; 1 invoke enqueue 1; 2 ok dequeue 1", nil, valid},
		{"queue", "1 ok dequeue 1", []string{"unexpected"}, violated},
		{"total-queue", "", nil, unknown},
		{"total-queue", "1 invoke enqueue 1; 2 invoke enqueue 2; 2 ok enqueue 2; 3 invoke dequeue 1; 3 ok dequeue 1; 3 invoke dequeue 2; 3 ok dequeue 2", nil, valid},
		// The dequeue that never ended may have taken one of the two: the other is lost.
		{"total-queue", "1 invoke enqueue :hung; 2 invoke enqueue :enqueued; 2 ok enqueue :enqueued; 3 invoke enqueue :dup; 3 ok enqueue :dup; 4 invoke dequeue; 5 invoke dequeue; 5 ok dequeue :wtf; 6 invoke dequeue; 6 ok dequeue :dup; 7 invoke dequeue; 7 ok dequeue :dup",
			[]string{"unexpected"}, violated},

		{"counter", "", nil, unknown},
		{"counter", "0 invoke read; 0 ok read 0", nil, unknown},
		{"counter", "0 invoke add 1; 0 fail add 1; 0 invoke read; 0 ok read 0", nil, unknown},
		{"counter", "0 invoke read; 0 ok read 1", []string{"out-of-bounds"}, violated},
		{"counter", "0 invoke read; 1 invoke add 1; 2 invoke read; 3 invoke add 2; 4 invoke read; 5 invoke add 4; 6 invoke read; 7 invoke add 8; 8 invoke read; 0 ok read 6; 1 ok add 1; 2 ok read 0; 3 ok add 2; 4 ok read 3; 5 ok add 4; 6 ok read 100; 7 ok add 8; 8 ok read 15",
			[]string{"out-of-bounds"}, violated},
		{"counter", "0 invoke read; 1 invoke add 1; 0 ok read 0; 0 invoke read; 1 ok add 1; 1 invoke add 2; 0 ok read 3; 0 invoke read; 1 ok add 2; 0 ok read 5", []string{"out-of-bounds"}, violated},

		{"set-full", a + aOK, nil, unknown},
		{"set-full", a + r + rNone, nil, unknown},
		{"set-full", r + a + rOK + aOK, nil, valid},
		{"set-full", r + a + aOK + rOK, nil, valid},
		{"set-full", a + r + rOK + aOK, nil, valid},
		{"set-full", a + r + aOK + rOK, nil, valid},
		{"set-full", a + aOK + r + rOK, nil, valid},
		{"set-full", a + aOK + r + rNone, []string{"lost"}, violated},
		{"set-full", r + a + rNone + aOK, nil, unknown},
		{"set-full", r + a + aOK + rNone, nil, unknown},
		{"set-full", a + r + rNone + aOK, nil, unknown},
		{"set-full", a + r + aOK + rNone, nil, unknown},
		{"set-full", "0 invoke add 0; 1 invoke add 1; 2 invoke read; 2 ok read #{1}; 0 ok add 0; 1 ok add 1; " + readAgain + "#{0 1}; " + readAgain + "#{0}; " + readAgain + "#{}", []string{"lost"}, violated},
		{"set-full", "0 invoke add 0; 0 ok add 0; 1 invoke add 1; 2 invoke read; 2 ok read #{1}; 1 ok add 1; 2 invoke read; 3 invoke read; 3 ok read #{1}; 2 ok read #{0}", []string{"lost"}, violated},

		{"comments", write12 + "0 invoke read; 0 ok read [1 2]", nil, valid},
		{"comments", write12 + "0 invoke read; 0 ok read [1]", nil, valid},
		{"comments", write12 + "0 invoke read; 0 ok read [2]", []string{"earlier-write-missing"}, violated},
		{"comments", write12 + "0 invoke write 3; 0 ok write 3; 0 invoke write 4; 0 ok write 4; 0 invoke write 5; 0 ok write 5; 0 invoke read; 0 ok read [1 2 3 4 5]", nil, valid},
		// Jepsen's history has one process do these concurrently, which is malformed here.
		{"comments", "0 invoke write 2; 1 invoke write 1; 1 ok write 1; 1 invoke read; 0 ok write 2; 1 ok read [1 2]", nil, valid},
		{"comments", "0 invoke write 1; 1 invoke write 2; 0 ok write 1; 0 invoke read; 1 ok write 2; 0 ok read [2 1]", nil, valid},

		// In Jepsen's history no process writes what is read.
		{"long-fork", "0 invoke write [[:w 0 1]]; 0 ok write [[:w 0 1]]; 0 invoke write [[:w 1 1]]; 0 ok write [[:w 1 1]]; 0 invoke write [[:w 2 1]]; 0 ok write [[:w 2 1]]; " +
			"1 invoke read [[:r 0 nil] [:r 1 nil] [:r 2 nil]]; 2 invoke read [[:r 2 nil] [:r 0 nil] [:r 1 nil]]; 1 ok read [[:r 0 1] [:r 1 1] [:r 2 nil]]; 2 ok read [[:r 2 1] [:r 0 1] [:r 1 nil]]", []string{"long-fork"}, violated},
	})
}
