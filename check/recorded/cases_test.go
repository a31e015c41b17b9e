package recorded

import (
	"context"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history/exchange"
)

// minimal is a history written by hand. Each wrong one stands beside histories that differ in one
// thing and are right, or show nothing.
type minimal struct {
	kind, events string
	want         check.Verdict
	says         string
}

func TestCollections(t *testing.T) {
	const (
		add1     = "0 invoke add 1; 0 ok add 1; "
		read     = "9 invoke read; 9 ok read "
		enqueue1 = "0 invoke enqueue 1; 0 ok enqueue 1; "
		taken1   = "1 invoke dequeue; 1 ok dequeue 1; "
	)
	expectAll(t, []minimal{
		{"set", add1 + read + "[1]", check.Valid, "the last to end saw 1 element"},
		{"set", add1 + read + "[]", check.Violated, "lost: process 0 (operation 0) put 1 in"},
		{"set", add1 + read + "[1 2]", check.Violated, "unexpected: process 9 (operation 2) saw 2, which nobody put in"},
		{"set", add1 + read + `["1"]`, check.Violated, `saw "1", which nobody put in (1 is another element; is it meant to be the same?)`},
		{"set", "0 invoke add 1; 0 info add 1; " + read + "[]", check.Valid, "none of an addition of unknown outcome"},
		{"set", "0 invoke add 1; 0 info add 1; " + read + "[1]", check.Valid, "1 of an addition of unknown outcome"},
		{"set", "0 invoke add 1; 0 fail add 1; " + read + "[1]", check.Violated, "assay is stricter here than Jepsen's checker/set"},
		{"set", "0 invoke add 1; 0 fail add 1; " + read + "[]", check.Valid, "1 failed"},
		{"set", "0 invoke add 1; 9 invoke read; 0 ok add 1; 9 ok read []", check.Valid, ""},
		{"set", "9 invoke read; 9 ok read [1]; " + add1, check.Violated, "future-element"},
		{"set", "0 invoke add 1; 9 invoke read; 9 ok read [1]", check.Valid, ""},
		{"set", add1, check.Unknown, "never read"},
		{"set", add1 + read + "nil", check.Unknown, "never read"},
		{"set", read + "[]", check.Unknown, "nothing was added"},
		{"set", add1 + read + "[]; 9 invoke read; 9 ok read [1]", check.Valid, "1 other missed acknowledged elements that the last to end saw"},
		{"set", add1 + read + "[1]; 9 invoke read; 9 ok read []", check.Violated, "lost"},
		{"set", add1 + read + "[2]; 9 invoke read; 9 ok read [1]", check.Violated, "unexpected"},
		{"set", add1 + "8 invoke read; " + read + "[]; 8 ok read [1]", check.Valid, "1 other missed"},
		{"set", add1 + "8 invoke read; " + read + "[1]; 8 ok read []", check.Violated, "lost"},
		{"set", read + "[]; " + add1 + read + "[1]", check.Valid, "1 last read"},
		{"set", "0 invoke add 1; 9 invoke read; 9 ok read [1]; 1 invoke add 1; 1 ok add 1; 0 ok add 1", check.Valid, ""},

		{"set-full", add1 + read + "[1]", check.Valid, "1 stable"},
		{"set-full", add1 + read + "[]", check.Violated, "lost: process 9 (operation 2) did not see 1, though process 0 (operation 0) had added it"},
		{"set-full", add1 + read + "[]; 9 invoke read; 9 ok read [1]", check.Valid, "1 stale"},
		{"set-full linearizable", add1 + read + "[]; 9 invoke read; 9 ok read [1]", check.Violated, "stale: process 9 (operation 2) did not see 1"},
		{"set-full linearizable", "0 invoke add 1; " + read + "[]; 9 invoke read; 9 ok read [1]; 0 ok add 1", check.Valid, "none stale"},
		{"set-full", "0 invoke add 1; " + read + "[1]; 9 invoke read; 9 ok read []", check.Violated, "process 9 (operation 1) had seen it"},
		{"set-full", "0 invoke add 1; " + read + "[]; 0 ok add 1", check.Unknown, "1 never read"},
		{"set-full", add1 + read + "[1 1]", check.Violated, "duplicate: process 9 (operation 2) saw 1 more than once"},
		{"set-full", add1 + read + "[1 7]", check.Violated, "unexpected"},
		{"set-full", add1, check.Unknown, "never read"},
		{"set?", read + "[]; " + add1 + read + "[1]; 0 invoke add 2; 0 ok add 2; 9 invoke read; 9 ok read [1 2]", check.Valid, "2 stable"},
		{"set?", add1 + read + "[1]", check.Valid, "1 last read"},

		{"queue", enqueue1 + "1 invoke dequeue; 1 ok dequeue 1", check.Valid, ""},
		{"queue", enqueue1 + "1 invoke dequeue; 1 ok dequeue 2", check.Violated, "of unknown outcome; 1 unexpected"},
		{"queue", enqueue1 + "1 invoke dequeue; 1 ok dequeue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Violated, "had been put in once and came out 2 times"},
		{"queue", enqueue1 + enqueue1 + "1 invoke dequeue; 1 ok dequeue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Valid, ""},
		{"queue", enqueue1 + taken1 + taken1 + enqueue1, check.Violated, "future-element: process 1 (operation 4) took out 1, which then had come out 2 times, before process 0 (operation 6) began to put it in again"},
		{"queue", enqueue1 + taken1 + "1 invoke dequeue; " + enqueue1 + "1 ok dequeue 1", check.Valid, ""},
		{"queue", enqueue1 + taken1 + taken1 + "0 invoke enqueue 1; 0 info enqueue 1", check.Violated, "future-element"},
		{"total-queue", enqueue1 + taken1 + enqueue1, check.Violated, "lost: process 0 (operation 4) put 1 in"},
		{"total-queue", "0 invoke enqueue 1; 0 info enqueue 1; " + taken1 + enqueue1, check.Violated, "lost: process 0 (operation 4) put 1 in"},
		{"total-queue", "0 invoke enqueue 1; 0 info enqueue 1; " + taken1 + enqueue1, check.Violated, "stricter here than Jepsen's checker/total-queue, which compares counts"},
		{"total-queue", "0 invoke enqueue 1; 0 info enqueue 1; 1 invoke dequeue; " + enqueue1 + "1 ok dequeue 1", check.Valid, ""},
		{"total-queue", enqueue1 + "2 invoke drain; 2 ok drain [1]; " + taken1 + enqueue1, check.Violated, "future-element"},
		{"queue", "1 invoke dequeue; 1 ok dequeue 1; " + enqueue1, check.Violated, "future-element"},
		{"total-queue", enqueue1 + taken1 + taken1, check.Valid, "allowed, and found: 1 element came out more often than put in, which --test queue forbids"},
		{"total-queue", enqueue1 + "2 invoke drain; 2 ok drain [1 1]", check.Valid, "allowed, and found: 1 element"},
		{"total-queue", enqueue1 + taken1 + enqueue1 + taken1 + taken1, check.Valid, "allowed, and found: 1 element"},
		{"queue", "0 invoke enqueue 1; 1 invoke dequeue; 1 ok dequeue 1; 0 ok enqueue 1", check.Valid, ""},
		{"queue", "0 invoke enqueue 1; 0 fail enqueue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Violated, "stricter here than Jepsen's checker/queue"},
		{"queue", "0 invoke enqueue 1; 0 info enqueue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Valid, "1 of an enqueue of unknown outcome"},
		{"queue", enqueue1, check.Unknown, "nothing came out"},
		{"queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke dequeue; 1 ok dequeue 1", check.Valid, ""},
		{"total-queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke dequeue; 1 ok dequeue 1", check.Violated, "put 2 in, which was acknowledged, but it never came out"},
		{"total-queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke dequeue; 1 ok dequeue 1; 2 invoke dequeue; 2 info dequeue", check.Unknown, "may have taken them"},
		{"total-queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 0 invoke enqueue 3; 0 ok enqueue 3; 1 invoke dequeue; 1 ok dequeue 1; 2 invoke dequeue", check.Violated, "so did 1 other, more than the 1 dequeue"},
		{"queue", enqueue1 + "1 invoke dequeue 1; 1 ok dequeue 1", check.Valid, ""},
		{"queue?", enqueue1 + "1 invoke drain; 1 ok drain [1]", check.Valid, ""},
		{"queue?", enqueue1 + "1 invoke drain; 1 invoke dequeue; 1 ok dequeue 1; 1 invoke dequeue; 1 fail dequeue; 1 ok drain :exhausted", check.Valid, ""},
		{"queue?", enqueue1 + "1 invoke drain; 1 invoke dequeue; 1 fail dequeue; 1 ok drain :exhausted", check.Violated, "lost"},
		{"queue?", enqueue1 + enqueue1 + "1 invoke drain; 1 invoke dequeue; 1 ok dequeue 1; 1 ok drain :exhausted", check.Violated, "lost"},
		{"queue?", enqueue1 + enqueue1 + "1 invoke dequeue; 1 ok dequeue 1; 1 invoke drain; 1 ok drain :exhausted", check.Unknown, "1 drain of unknown outcome may have taken them"},
		{"queue?", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke drain; 1 ok drain [1]", check.Violated, "lost"},
		{"queue?", enqueue1 + "0 invoke enqueue 2; 1 invoke drain; 0 ok enqueue 2; 1 ok drain [1]", check.Valid, ""},
		{"queue?", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 2 invoke drain; 2 info drain; 1 invoke drain; 1 ok drain [1]", check.Unknown, "1 drain of unknown outcome may have taken them"},

		{"counter", "0 invoke add 2; 0 ok add 2; 9 invoke read; 9 ok read 2", check.Valid, ""},
		{"counter", "0 invoke add 2; 0 ok add 2; 9 invoke read; 9 ok read 1", check.Violated, "read 1, less than the 2"},
		{"counter", "0 invoke add 2; 0 ok add 2; 9 invoke read; 9 ok read 3", check.Violated, "1 read; 1 saw what the counter cannot have held"},
		{"counter", "0 invoke add 2; 9 invoke read; 9 ok read 0; 0 ok add 2", check.Valid, ""},
		{"counter", "0 invoke add 2; 9 invoke read; 9 ok read 2; 0 ok add 2", check.Valid, ""},
		{"counter", "0 invoke add 2; 0 fail add 2; 9 invoke read; 9 ok read 2; 0 invoke add 1", check.Violated, "more than the 0"},
		{"counter", "0 invoke add 2; 0 info add 2; 9 invoke read; 9 ok read 2", check.Valid, ""},
		{"counter", "0 invoke add -2; 0 info add -2; 9 invoke read; 9 ok read -2", check.Valid, ""},
		{"counter", "0 invoke add -2; 0 info add -2; 9 invoke read; 9 ok read -3", check.Violated, "less than the -2"},
		{"counter", "9 invoke read; 9 ok read 0; 0 invoke add 2; 0 ok add 2", check.Valid, ""},
		{"counter", "0 invoke add 9223372036854775807; 0 ok add 9223372036854775807; 9 invoke read; 9 ok read 9223372036854775807", check.Valid, ""},
		{"counter", "0 invoke add 5; 1 invoke read; 1 ok read 5; 1 invoke read; 1 ok read 0; 0 ok add 5", check.Violated, "went-back: process 1 (operation 3) read 0 after process 1 (operation 1) had read 5: less than"},
		{"counter", "0 invoke add 5; 1 invoke read; 1 ok read 5; 1 invoke read; 1 ok read 0; 0 ok add 5", check.Violated, "stricter here than Jepsen's checker/counter"},
		{"counter", "0 invoke add -5; 1 invoke read; 1 ok read -5; 1 invoke read; 1 ok read 0; 0 ok add -5", check.Violated, "went-back: process 1 (operation 3) read 0 after process 1 (operation 1) had read -5: more than"},
		{"counter", "0 invoke add 5; 1 invoke read; 1 ok read 5; 2 invoke read; 2 ok read 0; 0 info add 5", check.Violated, "went-back"},
		{"counter", "0 invoke add 5; 1 invoke read; 2 invoke read; 1 ok read 5; 2 ok read 0; 0 ok add 5", check.Valid, "one order explains them all"},
		{"counter", "0 invoke add 5; 3 invoke add -5; 1 invoke read; 1 ok read 5; 2 invoke read; 2 ok read 0; 0 ok add 5; 3 ok add -5", check.Valid, ""},
		{"counter", "0 invoke add 5; 1 invoke read; 1 ok read 3; 0 ok add 5", check.Violated, "impossible-sum: process 1 (operation 1) read 3, which no additions add up to: 0 had been"},
		{"counter", "0 invoke add 5; 0 ok add 5; 0 invoke add 4; 0 info add 4; 1 invoke read; 1 ok read 7", check.Violated, "impossible-sum"},
		{"counter", "0 invoke add 5; 0 ok add 5; 0 invoke add 4; 0 info add 4; 1 invoke read; 1 ok read 9", check.Valid, ""},
		{"counter", "0 invoke add 3; 1 invoke add 5; 2 invoke read; 3 invoke read; 2 ok read 3; 3 ok read 5; 0 ok add 3; 1 ok add 5", check.Violated, "unexplained"},
		{"counter", "0 invoke add 2; 0 ok add 2", check.Unknown, "never read"},
		{"counter", "0 invoke add 2; 0 ok add 2; 9 invoke read; 9 ok read nil; 9 invoke read; 9 ok read 2", check.Valid, ""},
		{"counter", "9 invoke read; 9 ok read 0", check.Unknown, "nothing was added"},

		{"unique-ids", `0 invoke generate; 0 ok generate 1; 1 invoke generate; 1 ok generate "1"`, check.Valid, "2 identifiers"},
		{"unique-ids", "0 invoke generate; 0 ok generate 1; 1 invoke generate; 1 ok generate 1", check.Violated, "was given 1, which process 0 (operation 0) had been given"},
		{"unique-ids", "0 invoke generate; 0 info generate 1; 1 invoke generate; 1 ok generate 1", check.Valid, ""},
		{"unique-ids", "0 invoke generate; 0 fail generate", check.Unknown, "no identifier"},
		{"unique-ids", "0 invoke generate; 0 ok generate [1 2]; 1 invoke generate; 1 ok generate [2 1]", check.Valid, "2 identifiers"},
		{"unique-ids", "0 invoke generate; 0 ok generate {:a #{1 2} :b 3}; 1 invoke generate; 1 ok generate {:b 3 :a #{2 1}}", check.Violated, "which process 0 (operation 0) had been given"},
	})
}

func TestVisibility(t *testing.T) {
	const (
		w1   = "0 invoke write [[:w 1 1]]; 0 ok write [[:w 1 1]]; "
		w2   = "0 invoke write [[:w 2 1]]; 0 ok write [[:w 2 1]]; "
		read = "; 9 invoke read [[:r 1 nil] [:r 2 nil]]; 9 ok read "
		c1   = "0 invoke write 1; 0 ok write 1; "
		c2   = "0 invoke write 2; 0 ok write 2; "
		list = "9 invoke read; 9 ok read "
		seq  = "9 invoke read 7; 9 ok read "
		init = "0 invoke read-init; 0 ok read-init 0; "
	)
	expectAll(t, []minimal{
		{"long-fork", w1 + w2 + read + "[[:r 1 1] [:r 2 nil]]" + read + "[[:r 2 1] [:r 1 nil]]", check.Violated, "saw the write of 1 and not that of 2, but process 9 (operation 6) saw that of 2 and not that of 1"},
		{"long-fork", w1 + w2 + read + "[[:r 1 1] [:r 2 nil]]" + read + "[[:r 2 1] [:r 1 1]]", check.Valid, "1 pair compared"},
		{"long-fork", w1 + w2 + read + "[[:r 1 1] [:r 2 nil]]", check.Valid, ""},
		{"long-fork", w1 + w2 + "; 9 invoke read [[:r 1] [:r 2]]; 9 ok read [[:r 1 1] [:r 2]]" + read + "[[:r 2 1] [:r 1 nil]]", check.Violated, "long-fork"},
		{"long-fork", w1 + w2 + read + "[[:r 1 nil] [:r 2 nil]]", check.Unknown, "no read saw a write"},
		{"long-fork", w1 + w1 + read + "[[:r 1 1] [:r 2 nil]]", check.Unknown, "written more than once"},
		{"long-fork", w1 + read + "[[:r 1 1] [:r 2 1]]", check.Violated, "unexpected: process 9 (operation 2) saw 2, which nobody wrote"},
		{"long-fork", w1 + read + "[[:r 1 3] [:r 2 nil]]", check.Violated, "saw 3 as the value of 1, to which 1 was written"},
		{"long-fork", "0 invoke write [[:w 1 1]]; 0 fail write [[:w 1 1]]" + read + "[[:r 1 1] [:r 2 nil]]", check.Violated, "failed-write-read"},
		{"long-fork", "0 invoke write [[:w 1 1]]; 0 info write [[:w 1 1]]" + read + "[[:r 1 1] [:r 2 nil]]", check.Valid, ""},

		{"comments", c1 + c2 + list + "[2]", check.Violated, "saw 2 and missed 1, which process 0 (operation 0) had written before process 0 (operation 2) began"},
		{"comments", c1 + c2 + list + "[2 1]", check.Valid, ""},
		{"comments", c1 + c2 + list + "[1]", check.Valid, ""},
		{"comments", "0 invoke write 1; " + "1 invoke write 2; 1 ok write 2; 0 ok write 1; " + list + "[2]", check.Valid, ""},
		{"comments", "0 invoke write 1; 0 info write 1; 1 invoke write 2; 1 ok write 2; " + list + "[2]", check.Valid, ""},
		{"comments", c1 + "1 invoke write 2; 1 info write 2; " + list + "[2]", check.Violated, "earlier-write-missing"},
		{"comments", c1 + list + "[1 5]", check.Violated, "which nobody wrote"},
		{"comments", list + "[1]; " + c1, check.Violated, "future-read"},
		{"comments", "0 invoke write 1; " + list + "[1]; 1 invoke write 1; 1 ok write 1; 0 ok write 1", check.Unknown, "1 was written more than once"},
		{"comments", c1 + list + "[]", check.Unknown, "no read saw a write"},

		{"sequential", seq + "[7 [nil 1 0]]", check.Valid, "1 of the first ones alone"},
		{"sequential", seq + "[7 [2 nil 0]]", check.Violated, "found 2 and then missed part 2 of 3"},
		{"sequential", seq + "[7 [2 1 0]]", check.Valid, "1 of all parts"},
		{"sequential", seq + "[7 [nil nil]]", check.Unknown, "no read found a part"},

		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [1 [nil 2]]; 1 ok insert", check.Violated, "each must have missed the other's row"},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [2 [nil 2]]; 1 ok insert", check.Valid, "acknowledged for 2 keys"},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [1 [nil 2]]; 1 fail insert", check.Valid, ""},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [1 [nil 2]]; 1 info insert", check.Valid, ""},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 info insert", check.Unknown, "no insert was acknowledged"},

		{"causal", init + c1 + "0 invoke read; 0 ok read 1", check.Valid, ""},
		{"causal", init + c1 + "0 invoke read; 0 ok read 0", check.Violated, "read 0, but the register held 1"},
		{"causal", "0 invoke read-init; 0 ok read-init 1", check.Violated, "read 1, but the register held 0"},
		{"causal", init + "0 invoke write 1; 0 info write 1; 1 invoke read; 1 ok read 1; 1 invoke read; 1 ok read 0", check.Violated, "read 0, but the register held 1"},
		{"causal", init + "0 invoke write 1; 0 info write 1; 1 invoke read; 1 ok read 0; 1 invoke read; 1 ok read 1", check.Valid, ""},
		{"causal", init + "0 invoke write 1; 0 fail write 1; 1 invoke read; 1 ok read 1", check.Violated, "read 1"},
		{"causal", init + c2, check.Violated, "wrote 2, which comes after 1"},
		{"causal", c1, check.Unknown, "no read was answered"},

		{"monotonic", "0 invoke add; 0 ok add {:val 1 :sts 10.5M}; 0 invoke add; 0 ok add {:val 2 :sts 11}; " + list + "[{:val 1 :sts 10.5M} {:val 2 :sts 11}]", check.Valid, "found 2 rows"},
		{"monotonic", list + "[{:val 2 :sts 10} {:val 1 :sts 11}]", check.Violated, "found, in the order of time, the value 2 of time 10 before the value 1 of time 11"},
		{"monotonic", list + "[{:val 1 :sts 11.5} {:val 2 :sts 11.25}]", check.Violated, "out-of-order"},
		{"monotonic", list + "[{:val 1 :sts 10} {:val 1 :sts 11}]", check.Violated, "in two rows"},
		{"monotonic", "9 invoke read; 8 invoke read; 8 ok read [{:val 1 :sts 10}]; 9 ok read []", check.Valid, "found 1 row"},
		{"monotonic", "0 invoke add; 0 ok add {:val 1 :sts 10}; " + list + "[{:val 2 :sts 11}]", check.Violated, "lost: process 0 (operation 0) added the value 1"},
		{"monotonic", "9 invoke read; 0 invoke add; 0 ok add {:val 1 :sts 10}; 9 ok read [{:val 2 :sts 11}]", check.Valid, ""},
		{"monotonic", list + "[{:val 1 :sts 10}]; 0 invoke add; 0 ok add {:val 1 :sts 10}", check.Violated, "future-read: process 9 (operation 0) found the value 1 before process 0 (operation 2) began to add it"},
		{"monotonic", "0 invoke add; " + list + "[{:val 1 :sts 10}]; 0 ok add {:val 1 :sts 10}", check.Valid, ""},
		{"monotonic", list + "[]", check.Unknown, "no read found a row"},
	})
}

func TestKeyValues(t *testing.T) {
	const (
		pq  = `0 invoke append "p"; 0 ok append "p"; 1 invoke append "q"; 1 ok append "q"; `
		get = "9 invoke get; 9 ok get "
	)
	expectAll(t, []minimal{
		{"key-value", pq + get + `"pq"`, check.Valid, "1 key, 1 get"},
		{"key-value", pq + get + `"p"`, check.Violated, `unexplained: process 9 (operation 4) read "p" with key nil: an order explains all before it`},
		{"key-value", pq + get + `"qp"`, check.Violated, "unexplained"},
		{"key-value", `0 invoke append "p"; 1 invoke append "q"; 0 ok append "p"; 1 ok append "q"; ` + get + `"qp"`, check.Valid, ""},
		{"key-value", `0 invoke append "p"; 0 info append "p"; ` + get + `""; ` + get + `"p"`, check.Valid, ""},
		{"key-value", `0 invoke append "p"; 0 fail append "p"; ` + get + `"p"`, check.Violated, ""},
		{"key-value", pq + `0 invoke put "r"; 0 ok put "r"; ` + get + `"r"`, check.Valid, ""},
		{"key-value", pq + `0 invoke put "r"; 0 ok put "r"; ` + get + `"pq"`, check.Violated, ""},
		{"key-value", pq + `9 invoke get; 0 invoke append "r"; 0 ok append "r"; 9 ok get "pq"`, check.Valid, ""},
		{"key-value", get + "nil", check.Valid, ""},
		{"key-value", `0 invoke append "x"; 0 info append "x"; ` + `1 invoke append "p"; 1 ok append "p"; ` + get + `"p"; 1 invoke append "q"; 1 ok append "q"; ` + get + `"pq"; ` + get + `"p"`,
			check.Violated, `unexplained: process 9 (operation 10) read "p" with key nil: an order explains all before it`},
		{"key-value", pq, check.Unknown, "nothing was read"},
	})
}

func TestMultiRegisters(t *testing.T) {
	const (
		w = "0 invoke txn [[:write :x 1] [:write :y 1]]; 0 ok txn [[:write :x 1] [:write :y 1]]; "
	)
	expectAll(t, []minimal{
		{"multi-register", w + "1 invoke txn [[:read :x nil] [:read :y nil]]; 1 ok txn [[:read :x 1] [:read :y 1]]", check.Valid, "2 registers"},
		{"multi-register", w + w + "1 invoke txn [[:r :x nil]]; 1 ok txn [[:r :x 1]]", check.Valid, ""},
		{"multi-register", w + "1 invoke txn [[:read :x nil]]; 1 ok txn [[:read :x 3]]", check.Violated, "on 2 registers; not linearizable"},
		{"multi-register", w + "1 invoke txn [[:read :x nil]]; 1 ok txn [[:read :x 2]]", check.Violated, "unexplained: process 1 (operation 2) did [[:read :x 2]]"},
		{"multi-register", w + "1 invoke txn [[:write :x 2]]; 1 info txn; 2 invoke txn [[:read :x nil] [:read :y nil]]; 2 ok txn [[:read :x 2] [:read :y 1]]", check.Valid, "1 of unknown outcome"},
		{"multi-register", w + "1 invoke txn [[:write :x 2]]; 1 fail txn; 2 invoke txn [[:read :x nil]]; 2 ok txn [[:read :x 2]]", check.Violated, ""},
		{"multi-register", w + "1 invoke txn [[:write :x 2] [:write :y 2]]; 2 invoke txn [[:read :x nil] [:read :y nil]]; 2 ok txn [[:read :x 2] [:read :y 1]]; 1 ok txn", check.Violated, ""},
		{"multi-register", w + "1 invoke txn [[:read :x]]; 1 ok txn [[:read :x 3]]", check.Violated, "on 2 registers; not linearizable"},
		{"multi-register", w, check.Unknown, "nothing was read"},
	})
}

func TestLocks(t *testing.T) {
	const (
		a0 = "0 invoke acquire; 0 ok acquire; "
		a1 = "1 invoke acquire; 1 ok acquire; "
		r0 = "0 invoke release; 0 ok release; "
		r1 = "1 invoke release; 1 ok release; "
		u0 = "0 invoke release; 0 info release; "
	)
	token := func(process, token string) string {
		return process + " invoke acquire; " + process + " ok acquire " + token + "; "
	}
	expectAll(t, []minimal{
		{"mutex", a0 + r0 + a1, check.Valid, "2 acquires acknowledged"},
		{"mutex", a0 + a1, check.Violated, "two-holders: process 1 (operation 2) acquired the lock, which process 0 (operation 0) held"},
		{"mutex", r0 + a0, check.Violated, "release-of-free: process 0 (operation 0)"},
		{"mutex", a0 + "0 invoke release; " + a1, check.Valid, ""},
		{"mutex", a0 + "0 invoke release; 0 info release; " + a1 + r1, check.Valid, ""},
		{"mutex", a0 + "0 invoke release; 0 fail release; " + a1, check.Violated, "two-holders"},
		{"mutex", "0 invoke acquire; 0 info acquire; " + a1 + r1, check.Valid, ""},
		{"mutex", "0 invoke acquire; 0 fail acquire; " + a1 + r1, check.Valid, "1 failed"},
		{"mutex", "0 invoke acquire; 0 info acquire; " + r1, check.Unknown, "never acquired"},
		{"mutex", a0 + r1, check.Valid, ""},
		{"mutex", a0 + "0 invoke release; 1 invoke acquire; 1 ok acquire; 0 ok release", check.Valid, ""},
		{"mutex", "0 invoke acquire; 0 fail acquire; ", check.Unknown, "never acquired"},
		{"owner-mutex", a0 + r0 + a1 + r1, check.Valid, ""},
		{"owner-mutex", a0 + a1, check.Violated, "it had not begun to release it"},
		{"owner-mutex", a0 + a1 + r1 + "2 invoke acquire; 2 ok acquire", check.Violated, "acquires acknowledged; 2 two-holders"},
		{"owner-mutex", a0 + r1, check.Violated, "which it had not acquired"},
		{"owner-mutex", a0 + a0, check.Violated, "which it held already"},
		{"owner-mutex", a0 + "0 invoke release; 0 info release; " + a1, check.Valid, ""},
		{"owner-mutex", "0 invoke acquire; 0 info acquire; " + r0 + a1, check.Valid, ""},
		{"owner-mutex", "0 invoke acquire; 0 info acquire; " + r0 + r0 + a1, check.Violated, "release-of-free"},
		// An unknown release is no excuse for a later one: one of the two found the lock held by another.
		{"owner-mutex", a0 + u0 + a1 + r0 + r1, check.Violated, "two-holders: process 1 (operation 4) acquired the lock, which process 0 (operation 0) held"},
		{"owner-mutex", a0 + u0 + a1 + r1 + r0, check.Violated, "two-holders"},
		{"owner-mutex", a0 + u0 + a1 + r1, check.Valid, ""},
		{"owner-mutex", a0 + u0 + "1 invoke acquire; " + r0 + "1 ok acquire; " + r1, check.Valid, ""},
		{"owner-mutex", a0 + u0 + a0 + a1, check.Violated, "which process 0 (operation 4) held"},
		{"owner-mutex", a0 + u0 + r0 + a0 + a1, check.Valid, ""}, // the unknown release was the last
		{"reentrant-mutex", a0 + u0 + a1 + r0 + r1, check.Violated, "two-holders"},
		{"reentrant-mutex", a0 + a0 + u0 + r0 + a1, check.Valid, ""},
		{"reentrant-mutex", a0 + a0 + u0 + a1 + r0, check.Violated, "two-holders"},
		{"fenced-mutex", token("0", "1") + u0 + token("1", "2") + r0 + r1, check.Violated, "two-holders"},
		// After an unknown acquire, a release needs a moment in which nobody else holds the lock.
		{"owner-mutex", a0 + "1 invoke acquire; 1 info acquire; " + r1 + r0, check.Violated, "two-holders: process 1 (operation 4) released the lock as its owner, while process 0 (operation 0) held it"},
		{"owner-mutex", a0 + "1 invoke acquire; 1 info acquire; " + r0 + r1, check.Valid, ""},
		{"owner-mutex", a0 + "1 invoke acquire; 1 info acquire; 1 invoke release; " + r0 + "1 ok release; ", check.Valid, ""},
		{"owner-mutex", a0 + u0 + "0 invoke acquire; 0 info acquire; " + a1 + r0, check.Violated, "process 0 (operation 8) released the lock as its owner"},
		{"owner-mutex", a0 + u0 + "0 invoke acquire; 0 info acquire; " + a1 + r1 + r0, check.Valid, ""},
		{"reentrant-mutex", a0 + a0 + r0 + r0 + a1, check.Valid, ""},
		{"reentrant-mutex", a0 + a0 + r0 + a1, check.Violated, "two-holders"},
		{"fenced-mutex", token("0", "1") + r0 + token("1", "{:fence 2}"), check.Valid, ""},
		{"fenced-mutex", token("0", "2") + r0 + token("1", "2"), check.Violated, "was given the token 2, after process 0 (operation 0) had been given 2"},
		{"fenced-mutex", token("0", "2") + token("1", "3"), check.Violated, "two-holders"},
		{"reentrant-fenced-mutex", token("0", "1") + token("0", "1") + r0 + r0 + token("1", "2"), check.Valid, ""},
		// A release of unknown outcome need not be the one that a later acquire needs: here it took
		// effect early, and the acquire of unknown outcome after process 1 had released the lock.
		{"owner-mutex", a0 + "0 invoke acquire; 0 info acquire; " + u0 + a1 + r1 + r0 + a0 + u0 + a0, check.Valid, ""},
		// The release may have had no effect; then the acquire is one more of the same owner.
		{"reentrant-fenced-mutex", token("0", "1") + u0 + token("0", "1"), check.Valid, ""},
		{"reentrant-fenced-mutex", token("0", "1") + u0 + u0 + token("0", "1") + token("0", "1"), check.Valid, ""},
		{"reentrant-fenced-mutex", token("0", "1") + r0 + token("0", "1"), check.Violated, "was given the token 1"},
		{"reentrant-fenced-mutex", token("0", "1") + u0 + token("1", "1"), check.Violated, "was given the token 1"},
		{"reentrant-fenced-mutex", token("0", "1") + u0 + token("1", "2") + r1 + token("0", "1"), check.Violated, "was given the token 1"},
		{"fenced-mutex", token("0", "1") + u0 + token("0", "1"), check.Violated, "was given the token 1"},
	})
}

func TestLogs(t *testing.T) {
	const (
		s1   = "0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [0 10]]]; "
		s2   = "0 invoke send [[:send 1 20]]; 0 ok send [[:send 1 [1 20]]]; "
		s3   = "0 invoke send [[:send 1 30]]; 0 ok send [[:send 1 [2 30]]]; "
		poll = "9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 "
		end  = "}]]; "
		// a poll of unknown outcome and without an answer, and what another client polls
		blind = "9 invoke poll [[:poll]]; 9 info poll; "
		other = "8 invoke poll [[:poll]]; 8 ok poll [[:poll {1 [[1 20]]}]]"
	)
	expectAll(t, []minimal{
		{"kafka", s1 + s2 + poll + "[[0 10] [1 20]]" + end, check.Valid, "2 sends to 1 key, 1 poll of 2 values"},
		{"kafka", s1 + s2 + poll + "[[1 20]]" + end, check.Violated, "lost-write: process 0 (operation 0) sent 10 to key 1, which was acknowledged with offset 0, but nobody polled it"},
		{"kafka", s1 + s2 + poll + "[[0 10]]" + end, check.Valid, "1 acknowledged and behind all that was polled"},
		{"kafka", s1, check.Unknown, "nothing was polled"},
		{"kafka", s1 + poll + "[[0 10] [1 99]]" + end, check.Violated, "unexpected"},
		{"kafka", "0 invoke send [[:send 1 10]]; 0 fail send [[:send 1 10]]; " + poll + "[[0 10]]" + end, check.Violated, "G1a"},
		{"kafka", "0 invoke send [[:send 1 10]]; 0 info send [[:send 1 10]]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{"kafka", poll + "[[0 10]]" + end + s1, check.Violated, "future-read"},
		{"kafka", s1 + "1 invoke send [[:send 1 10]]; 1 fail send [[:send 1 10]]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{"kafka", "0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [5 10]]]; 1 invoke send [[:send 1 20]]; 1 ok send [[:send 1 [1 20]]]; 2 invoke send [[:send 1 30]]; 2 ok send [[:send 1 [3 30]]]; " +
			poll + "[[1 20] [5 10]]" + end, check.Violated, "lost-write: process 2"},
		{"kafka", s1 + poll + "[[0 10] [1 10]]" + end, check.Violated, "duplicate"},
		{"kafka", s1 + "0 invoke send [[:send 1 20]]; 0 ok send [[:send 1 [0 20]]]; " + poll + "[[0 10]]" + end, check.Violated, "inconsistent-offsets"},
		{"kafka", s1 + s2 + poll + "[[0 10]]" + end + poll + "[[1 20]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + poll + "[[0 10] [1 20]]" + end + poll + "[[0 10]]" + end, check.Violated, "nonmonotonic-poll: process 9 (operation 6) polled 10 at offset 0"},
		{"kafka", s1 + s2 + poll + "[[0 10] [1 20]]" + end + "9 invoke assign [1]; 9 ok assign [1]; " + poll + "[[0 10]]" + end, check.Violated, "nonmonotonic-poll"},
		{"kafka", s1 + s2 + poll + "[[0 10] [1 20]]" + end + "9 invoke assign [2]; 9 ok assign [2]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + poll + "[[0 10] [1 20]]" + end + "9 invoke assign [2]; 9 fail assign [2]; " + poll + "[[0 10]]" + end, check.Violated, "nonmonotonic-poll"},
		{"kafka", s1 + s2 + "9 invoke assign [1]; 9 ok assign [1]; " + poll + "[[0 10] [1 20]]" + end + "9 invoke subscribe [1]; 9 ok subscribe [1]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + poll + "[[0 10]]" + end + "9 invoke poll [[:poll]]; 9 fail poll [[:poll {1 [[1 20]]}]]; " + poll + "[[1 20]]" + end, check.Valid, ""},
		{"kafka", s1 + "1 invoke send [[:send 1 20]]; 1 fail send [[:send 1 [1 20]]]; 9 invoke poll [[:poll]]; 9 fail poll [[:poll {1 [[0 10] [1 99]]}]]; " + poll + "[[0 10]]" + end, check.Violated, "unexpected"},
		{"kafka serializable", s1 + s2 + poll + "[[0 10] [1 20]]" + end, check.Valid, ""},
		{"kafka serializable", "0 invoke txn [[:send 1 10] [:poll]]; 1 invoke txn [[:send 2 20] [:poll]]; 1 ok txn [[:send 2 [1 20]] [:poll {1 [[0 9]]}]]; 0 ok txn [[:send 1 [1 10]] [:poll {2 [[0 19]]}]]; 2 invoke send [[:send 1 9] [:send 2 19]]; 2 info send",
			check.Violated, "polled key 1 up to 9, and not 10, which"},
		{"kafka", s1 + s2 + "9 invoke subscribe [1]; 9 ok subscribe [1]; " + poll + "[[0 10] [1 20]]" + end + poll + "[[0 10]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + poll + "[[2 30]]" + end + "8 invoke poll [[:poll]]; 8 ok poll [[:poll {1 [[1 20]]}]]", check.Violated, "poll-skip: process 9 (operation 8) polled 30 at offset 2 of key 1, after process 9 (operation 6) had polled offset 0, and skipped 20 at offset 1"},
		{"kafka", s1 + s3 + poll + "[[0 10]]" + end + poll + "[[2 30]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + poll + "[[1 20] [0 10]]" + end, check.Violated, "int-nonmonotonic-poll"},

		// A poll of unknown outcome may have moved its client on, as far as it tells, and not back.
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + blind + poll + "[[2 30]]" + end + other, check.Valid, ""},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + blind + poll + "[[1 20]]" + end + poll + "[[2 30]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10] [1 20]]" + end + blind + poll + "[[0 10]]" + end, check.Violated, "nonmonotonic-poll"},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + "9 invoke poll [[:poll]]; 9 info poll [[:poll {1 [[1 20]]}]]; " + poll + "[[2 30]]" + end + other, check.Valid, ""},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + "9 invoke poll [[:poll]]; 9 info poll [[:poll {}]]; " + poll + "[[2 30]]" + end + other, check.Violated, "poll-skip"},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + "9 invoke poll [[:poll]]; 9 fail poll [[:poll]]; " + poll + "[[2 30]]" + end + other, check.Violated, "poll-skip"},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10]]" + end + blind + poll + "[[1 20]]" + end + "0 invoke send [[:send 1 40]]; 0 ok send [[:send 1 [3 40]]]; " + poll + "[[3 40]]" + end + "8 invoke poll [[:poll]]; 8 ok poll [[:poll {1 [[2 30]]}]]", check.Violated, "poll-skip"},
		// Neither does a send of unknown outcome hide what was acknowledged before it.
		{"kafka", "0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [5 10]]]; 0 invoke send [[:send 1 30]]; 0 info send [[:send 1 [7 30]]]; " + s2 + poll + "[[1 20] [5 10] [7 30]]" + end, check.Violated, "nonmonotonic-send: process 0 (operation 4)"},
		{"kafka", "0 invoke send [[:send 1 10]]; 0 info send [[:send 1 [5 10]]]; " + s2 + poll + "[[1 20] [5 10]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + s3 + poll + "[[0 10] [2 30]]" + end, check.Violated, "int-poll-skip"},
		{"kafka", "0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [5 10]]]; " + s2 + poll + "[[1 20] [5 10]]" + end, check.Violated, "nonmonotonic-send"},
		{"kafka", "0 invoke txn [[:send 1 10] [:poll]]; 0 ok txn [[:send 1 [0 10]] [:poll {1 [[0 10]]}]]", check.Violated, "precommitted-read"},
		{"kafka", "0 invoke txn [[:send 1 10] [:poll]]; 0 ok txn [[:send 1 [0 10]] [:poll {}]]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{"kafka", s1 + s2 + poll + "[[0 10] [1 20]]" + end + "9 invoke poll [[:poll]]; 9 info poll [[:poll]]; 18 invoke poll [[:poll]]; 18 ok poll [[:poll {\"1\" [[0 10]]}]]", check.Valid, "1 key"},
	})
}

// Cycles of transactions stand beside histories that differ in one thing and have none, and beside
// what a log with weaker promises allows.
func TestCycles(t *testing.T) {
	const (
		begin  = "0 invoke txn [[:send 1 10] [:poll]]; 1 invoke txn [[:send 2 20] [:poll]]; "
		one    = "0 ok txn [[:send 1 [0 10]] [:poll {2 [[0 20]]}]]; "
		late   = "9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10]]}]]; "
		send   = "1 invoke send [[:send 2 20]]; "
		sent   = "1 ok send [[:send 2 [0 20]]]; "
		first  = "0 invoke txn [[:send 1 10] [:send 2 20]]; 1 invoke txn [[:send 1 11] [:send 2 21]]; "
		polls  = "9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 20] [1 21]]}]]"
		mixed  = "0 invoke txn [[:send 1 10] [:poll]]; 1 invoke txn [[:send 1 11] [:send 2 20]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 20]]]; "
		midst  = first + "0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]"
		apart  = first + "0 ok txn [[:send 1 [0 10]] [:send 2 [0 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [1 21]]]; " + polls
		either = "T2 polled 10 of key 1, which T1 sent; T1 polled 20 of key 2, which T2 sent: no order of them exists"
	)
	expectAll(t, []minimal{
		{"kafka", begin + one + "1 ok txn [[:send 2 [0 20]] [:poll {1 [[0 10]]}]]", check.Violated, "G1c: T1 is process 0 (operation 0), T2 is process 1 (operation 1); " + either},
		{"kafka", begin + one + "1 ok txn [[:send 2 [0 20]] [:poll {}]]", check.Valid, ""},
		{"kafka", begin + one + "1 info txn", check.Valid, ""},
		{"kafka", "0 invoke txn [[:send 1 10] [:poll]]; " + late + send + sent + one, check.Violated, "was acknowledged before T"},
		{"kafka", "0 invoke txn [[:send 1 10] [:poll]]; " + send + late + sent + one, check.Valid, ""},
		{"kafka", midst, check.Valid, "allowed, and found: a cycle G0"},
		{"kafka read-uncommitted", midst, check.Violated, "stands behind 10 in key 1"},
		{"kafka read-committed", midst, check.Violated, "G0: T1 is"},
		{"kafka read-committed", apart, check.Valid, ""},
		{"kafka", mixed + one, check.Valid, "allowed, and found: a cycle G1c"},
		{"kafka read-uncommitted", mixed + one, check.Valid, "allowed, and found: a cycle G1c"},
		{"kafka read-committed", mixed + one, check.Violated, "G1c: "},
	})
	for kind, events := range map[string]string{"kafka": begin + one + "1 ok txn [[:send 2 [0 20]] [:poll {1 [[0 10]]}]]", "kafka read-uncommitted": midst, "kafka read-committed": mixed + one} {
		for _, e := range judged(t, opened(kind), mustRead(t, events)).Evidence {
			if e.Cycle == nil || len(e.Cycle.Steps) < 2 {
				t.Errorf("%s: %s without a cycle to draw", events, e.Kind)
			}
		}
	}
}

func TestBanks(t *testing.T) {
	const (
		move = "0 invoke transfer {:from :a :to :b :amount 5}; 0 ok transfer {:from :a :to :b :amount 5}; "
		none = "0 invoke transfer {:from :a :to :b :amount 5}; 0 fail transfer; "
		read = "1 invoke read; 1 ok read "
		also = "; 2 invoke read; 2 ok read "
	)
	expectAll(t, []minimal{
		{"bank", move + read + "{:a 50 :b 50}" + also + "{:a 45 :b 50}" + also + "{:a 45 :b 55}", check.Violated,
			"3 reads of all accounts, 1 transfer (1 that may have taken effect); 1 saw another total than 100\n" +
				"total: read by process 2 (operation 4) saw a total of 95 in 2 accounts (:a: 45, :b: 50), 5 less than the 100 that 2 reads saw"},
		{"bank", move + read + "{:a 50 :b 50}" + also + "{:a 45 :b 55}" + also + "{:a 45 :b 55}", check.Valid, "each read saw a total of 100 and no account below zero"},
		{"bank", move + read + "{:a 50 :b 50}" + also + "{:a 50 :b 55}", check.Violated, "saw a total of 105 in 2 accounts (:a: 50, :b: 55), 5 more than the 100 that 1 read saw"},
		{"bank 100", move + read + "{:a 40 :b 50}", check.Violated, "saw a total of 90 in 2 accounts (:a: 40, :b: 50), 10 less than the 100 that there are"},
		{"bank 90", move + read + "{:a 40 :b 50}", check.Valid, "1 read of all accounts"},
		{"bank", move + read + "{:a 50 :b 50}" + also + "{:a 50 :b 50}" + also + "{}", check.Violated, "saw a total of 0 in 0 accounts ()"},
		{"bank", move + read + "{:a 1 :b 0}" + also + "{:a 2 :b -1}", check.Violated, "1 time an account was below zero\nnegative: read by process 2 (operation 4) saw account :b at -1, below zero"},
		{"bank negative", move + read + "{:a 1 :b 0}" + also + "{:a 2 :b -1}", check.Valid, "each read saw a total of 1"},
		{"bank", move + read + "{:a 0 :b 0}" + also + "{:a 0 :b 0}" + also + "{:a nil :b 0}", check.Violated, "1 missed a balance\nmissing-balance: read by process 2 (operation 6) saw no balance of an account that it read: :a: none, :b: 0"},
		{"bank negative", move + read + "{:a 0 :b -2}" + also + "{:a 9223372036854775807 :b 9223372036854775807}", check.Violated, "saw a total of 18446744073709551614 in 2 accounts"},
		{"bank", move + read + "{:a 9223372036854775807 :b 1}" + also + "{:a 1 :b 9223372036854775807}", check.Valid, "a total of 9223372036854775808"},

		{"bank", "1 invoke read; 1 fail read", check.Unknown, "0 reads of all accounts, 0 transfers (none that may have taken effect); no read was answered, so nothing can be said; 1 more read without"},
		{"bank", move, check.Unknown, "no read was answered"},
		{"bank", move + read + "{:a 5}", check.Unknown, "one read alone does not show whether its total is right"},
		{"bank", none + read + "{:a 5}" + also + "{:a 5}", check.Unknown, "no money was moved"},
		{"bank 5", "0 invoke transfer {:from :a :to :b :amount 5}; " + read + "{:a 5}", check.Valid, ""},

		{"bank", move + read + "{:a 5 :b 15}" + also + "{:a 20}", check.Unknown, "1 read lacks an account that other reads or transfers name (read by process 2 (operation 4) has no account :b)"},
		{"bank", "0 invoke transfer {:from :a :to :c :amount 5}; 0 ok transfer {:from :a :to :c :amount 5}; " + read + "{:a 5 :b 15}" + also + "{:a 15 :b 5}", check.Unknown, "2 reads lack an account that other reads or transfers name (read by process 1 (operation 2) has no account :c)"},
		{"bank", move + read + "{:a 5 :b 15}" + also + "{:a 20}" + also + "{:a 5 :b 14}", check.Violated, "another total"},
		{"bank :a :b", move + read + "{:a 5 :b 15}" + also + "{:a 20}", check.Violated, "1 lacked an account\nmissing-account: read by process 2 (operation 4) has no account :b"},
		{"bank :a :b", "0 invoke transfer {:from :a :to :c :amount 5}; 0 ok transfer {:from :a :to :c :amount 5}; " + read + "{:a 5 :b 15}" + also + "{:a 20 :b 0}", check.Valid, "each read saw a total of 20"},
		{"bank :a :b", move + read + "{:a 5 :b 15}" + also + "{:a 5 :b 10 :c 5}", check.Violated, "1 saw an account that is none of the bank's\nunexpected-account: read by process 2 (operation 4) has account :c"},
	})
}

func TestUnfitOperations(t *testing.T) {
	for kind, events := range map[string][]string{
		"set": {"0 invoke enqueue 1", "0 invoke add", "0 invoke add [1 2]", "0 invoke add 1; 0 ok add 2", "0 invoke read 1",
			"0 invoke read; 0 ok read 5", "0 invoke read; 0 ok read [[1]]", "0 invoke read; 0 ok read {1 2}"},
		"queue": {"0 invoke add 1", "0 invoke enqueue", "0 invoke dequeue [1]", "0 invoke dequeue; 0 ok dequeue [1]",
			"0 invoke drain; 0 ok drain 1", "0 invoke drain; 0 ok drain", "0 invoke drain 1"},
		"counter": {"0 invoke generate", "0 invoke add :a", "0 invoke add 99999999999999999999", "0 invoke read; 0 ok read 1.5",
			"0 invoke add 9223372036854775807; 0 ok add 9223372036854775807; 0 invoke add 1"},
		"unique-ids":   {"0 invoke read", "0 invoke generate 1", "0 invoke generate; 0 ok generate"},
		"long-fork":    {"0 invoke add 1", "0 invoke write 5", "0 invoke write [[:w 1 1] [:w 2 1]]", "0 invoke write [[:append 1 1]]", "0 invoke write [[:w 1]]", "0 invoke read [[:r [1]]]", "0 invoke read [[:r 1 nil] [:r 1 nil]]; 0 ok read [[:r 1 nil] [:r 1 nil]]"},
		"comments":     {"0 invoke add 1", "0 invoke write", "0 invoke read 5", "0 invoke read; 0 ok read 5"},
		"sequential":   {"0 invoke add 1", "0 invoke write [1]", "0 invoke read [1 2 3]", "0 invoke read 1; 0 ok read 5", "0 invoke read 1; 0 ok read [1 2]"},
		"adya-g2":      {"0 invoke add 1", "0 invoke insert 5", "0 invoke insert [1 2]"},
		"causal":       {"0 invoke add 1", "0 invoke write", "0 invoke write :a", "0 invoke read; 0 ok read :a"},
		"monotonic":    {"0 invoke add 1", "0 invoke write", "0 invoke add; 0 ok add 5", "0 invoke add; 0 ok add {:val 1 :sts a}", "0 invoke add; 0 ok add {:val :a :sts 5}", `0 invoke add; 0 ok add {:val 1 :sts "1p5"}`, `0 invoke add; 0 ok add {:val 1 :sts "0x10"}`, "0 invoke add; 0 ok add {:val 1 :sts 1e999999999}", "0 invoke read; 0 ok read 5", "0 invoke read; 0 ok read [5]"},
		"mutex":        {"0 invoke add 1"},
		"owner-mutex":  {"0 invoke acquire 5"},
		"fenced-mutex": {"0 invoke acquire; 0 ok acquire"},
		"kafka": {"0 invoke add 1", "0 invoke send 5", "0 invoke send [[:send 1]]", "0 invoke send [[:send [1] 2]]", "0 invoke txn [[:r 1 nil]]", "0 invoke poll [[:poll]]; 0 ok poll [[:poll [1]]]",
			"0 invoke poll [[:poll]]; 0 ok poll [[:poll {1 [5]}]]", "0 invoke send [[:send 1 2]]; 0 ok send [[:send 1 [:a 2]]]",
			"0 invoke send [[:send 1 2]]; 0 ok send [[:send 1 [-2 2]]]", "0 invoke poll [[:poll]]; 0 ok poll [[:poll {1 [[-1 5]]}]]"},
		"multi-register": {"0 invoke add 1", "0 invoke txn 5", "0 invoke txn [[:append 1 2]]", "0 invoke txn [[:w 1]]", "0 invoke txn [[:r [1]]]", "0 invoke txn [[:r [1] 2]]", "0 invoke txn [[:w 1 [2]]]", "0 invoke read [[:r 1 nil]]"},
	} {
		for _, short := range events {
			j, ops := opened(kind), mustRead(t, short)
			if !slices.ContainsFunc(ops, func(o exchange.Operation) bool { return j.Add(&o) != nil }) {
				t.Errorf("a %s takes %s", kind, short)
			}
		}
	}
	err := opened("queue").Add(&mustRead(t, "0 invoke add 1")[0])
	if err == nil || err.Error() != "operations of the function :add; known are enqueue, dequeue and drain" {
		t.Error(err)
	}
}

func TestTimeIsOver(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for kind, events := range map[string]string{
		"kafka":          "0 invoke txn [[:send 1 10] [:poll]]; 0 ok txn [[:send 1 [0 10]] [:poll {}]]; 1 invoke poll [[:poll]]; 1 ok poll [[:poll {1 [[0 10]]}]]",
		"multi-register": "0 invoke txn [[:w 1 1]]; 0 ok txn [[:w 1 1]]; 0 invoke txn [[:r 1 nil]]; 0 ok txn [[:r 1 1]]",
	} {
		j := opened(kind)
		judged(t, j, mustRead(t, events))
		if r := j.Result(ended); r.Verdict != check.Unknown || !strings.Contains(r.Detail, "time limit") {
			t.Errorf("%s: %v %s", kind, r.Verdict, r.Detail)
		}
	}
}
