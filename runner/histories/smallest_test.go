package histories

import (
	"strings"
	"testing"
)

// A smallest part convicts no honest operation: it keeps what explains the operations that it
// holds, and its finding is one of the whole history.
func TestTheSmallestPartIsHonest(t *testing.T) {
	const (
		one = "0 invoke enqueue 1; 0 ok enqueue 1; "
		two = "0 invoke enqueue 2; 0 ok enqueue 2; "
		out = "1 invoke dequeue; 1 ok dequeue 1; "
		p0  = "0 invoke acquire; 0 ok acquire; "
		p1  = "1 invoke acquire; 1 ok acquire; "
	)
	for _, c := range []struct{ test, events, part, why string }{
		{"queue", one + out + "1 invoke dequeue; 1 ok dequeue 5", "dequeue 5", "took out 5, which nobody put in"},
		{"set", "0 invoke add 1; 0 ok add 1; 0 invoke add 2; 0 ok add 2; 0 invoke add 3; 0 ok add 3; 1 invoke read; 1 ok read [1 2 3 99]",
			"add 1, add 2, add 3, read [1 2 3 99]", "saw 99, which nobody put in"},
		{"", `0 invoke append "p", :key "7"; 0 ok append "p", :key "7"; 2 invoke append "x", :key "8"; 2 ok append "x", :key "8"; 1 invoke append "q", :key "7"; 1 ok append "q", :key "7"; 0 invoke get nil, :key "7"; 0 ok get "p", :key "7"`,
			`append "p", append "q", get "p"`, `process 0 (T3) read "p"`},
		{"", "0 invoke txn [[:write 0 1]]; 0 ok txn [[:write 0 1]]; 0 invoke txn [[:read 0 nil]]; 0 ok txn [[:read 0 1]]; 0 invoke txn [[:write 0 2]]; 0 ok txn [[:write 0 2]]; 1 invoke txn [[:read 0 nil]]; 1 ok txn [[:read 0 1]]",
			"txn [[:write 0 1]], txn [[:write 0 2]], txn [[:read 0 1]]", "process 1 (T3)"},
		{"", "0 invoke transfer {:from 1 :to 2 :amount 5}; 0 ok transfer {:from 1 :to 2 :amount 5}; 1 invoke read; 1 ok read {1 45 2 50}; 1 invoke read; 1 ok read {1 45 2 55}; 1 invoke read; 1 ok read {1 45 2 55}",
			"read 1: 45, 2: 50, read 1: 45, 2: 55, read 1: 45, 2: 55", "process 1 (T1) saw a total of 95"},

		{"total-queue", one + two + out + "2 invoke drain; 2 ok drain []", "enqueue 2, drain []", "(T1) put 2 in"},
		{"total-queue", one + two + "1 invoke dequeue; 1 info dequeue; 2 invoke drain; 2 ok drain []", "enqueue 1, enqueue 2, dequeue nil, drain []", "put 1 in"},
		{"total-queue", one + two + "0 invoke enqueue 3; 0 ok enqueue 3; 2 invoke drain; 2 ok drain [3]", "enqueue 1, enqueue 3, drain [3]", "(T1) put 1 in"},
		{"queue", one + one + out + out + out, "enqueue 1, enqueue 1, dequeue 1, dequeue 1, dequeue 1", "had been put in 2 times and came out 3 times"},
		{"", "0 invoke generate; 0 ok generate 1; 0 invoke generate; 0 ok generate 2; 1 invoke generate; 1 ok generate 1", "generate 1, generate 1", "(T2) was given 1, which process 0 (T1)"},
		// The release of unknown outcome explains any two of the three acquires.
		{"mutex", p0 + "2 invoke release; 2 info release; " + p1 + "3 invoke acquire; 3 ok acquire", "acquire nil, release nil, acquire nil, acquire nil", "process 3 (T4) acquired the lock"},
		{"owner-mutex", "2 invoke acquire; 2 ok acquire; 2 invoke release; 2 ok release; " + p0 + "0 invoke release; 0 ok release; " + p0 + p1,
			"acquire nil, acquire nil", "process 1 (T2) acquired the lock, which process 0 (T1) held"},
		{"owner-mutex", p0 + "0 invoke release; 0 info release; 0 invoke release; 0 ok release; " + p0 + p1 + "0 invoke release; 0 ok release",
			"acquire nil, release nil, release nil, acquire nil, acquire nil, release nil", "acquired the lock"},
		{"mutex", p0 + "3 invoke release; 3 ok release; " + p0 + p1, "acquire nil, acquire nil", "process 1 (T2) acquired the lock, which process 0 (T1) held"},
	} {
		h, err := judged(t, c.events, Options{Test: c.test, Explain: true})
		if err != nil || len(h.Evidence) == 0 || h.Evidence[0].Smallest == nil {
			t.Errorf("%s: %v %+v", c.events, err, h)
			continue
		}
		var did []string
		for _, o := range h.Evidence[0].Smallest.Operations {
			did = append(did, strings.Join(o.Steps, " "))
		}
		if got := strings.Join(did, ", "); got != c.part || !strings.Contains(h.Evidence[0].Smallest.Why, c.why) {
			t.Errorf("%s: the smallest part is %s, since %s; want %s, since %s", c.events, got, h.Evidence[0].Smallest.Why, c.part, c.why)
		}
	}
}
