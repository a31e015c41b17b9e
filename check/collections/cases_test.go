package collections

import (
	"testing"

	"assay/check"
	"assay/check/simulated"
)

func opened(name string) simulated.Judge {
	switch name {
	case "set":
		return NewSet(SetOptions{Reads: LastReads})
	case "set-full":
		return NewSet(SetOptions{Reads: AllReads})
	case "linearizable set":
		return NewSet(SetOptions{Reads: AllReads, Linearizable: true})
	case "a set":
		return NewSet(SetOptions{})
	case "queue":
		return NewQueue(UnorderedQueue)
	case "total-queue":
		return NewQueue(TotalQueue)
	case "a queue":
		return NewQueue(AnyQueue)
	case "counter":
		return NewCounter()
	default:
		return NewUniqueIDs()
	}
}

// Each wrong history stands beside those that differ from it in one thing and
// are right, or show nothing.
func TestMinimalCases(t *testing.T) {
	const (
		add1     = "0 invoke add 1; 0 ok add 1; "
		read     = "9 invoke read; 9 ok read "
		enqueue1 = "0 invoke enqueue 1; 0 ok enqueue 1; "
	)
	for _, c := range []struct {
		kind, events string
		want         check.Verdict
		says         string
	}{
		{"set", add1 + read + "[1]", check.Valid, "the last saw 1 element"},
		{"set", add1 + read + "[]", check.Violated, "lost: process 0 (operation 0) put 1 in"},
		{"set", add1 + read + "[1 2]", check.Violated, "unexpected: process 9 (operation 2) saw 2, which nobody put in"},
		{"set", "0 invoke add 1; 0 info add 1; " + read + "[]", check.Valid, "none of an addition of unknown outcome"},
		{"set", "0 invoke add 1; 0 info add 1; " + read + "[1]", check.Valid, "1 of an addition of unknown outcome"},
		{"set", "0 invoke add 1; 0 fail add 1; " + read + "[1]", check.Violated, "failed-element"},
		{"set", "0 invoke add 1; 0 fail add 1; " + read + "[]", check.Valid, "1 failed"},
		{"set", "0 invoke add 1; 9 invoke read; 0 ok add 1; 9 ok read []", check.Valid, ""},
		{"set", "9 invoke read; 9 ok read [1]; " + add1, check.Violated, "future-element"},
		{"set", "0 invoke add 1; 9 invoke read; 9 ok read [1]", check.Valid, ""},
		{"set", add1, check.Unknown, "never read"},
		{"set", read + "[]", check.Unknown, "nothing was added"},
		{"set", add1 + read + "[]; 9 invoke read; 9 ok read [1]", check.Violated, "lost"},
		{"set", read + "[]; " + add1 + read + "[1]", check.Valid, "1 last read"},

		{"set-full", add1 + read + "[1]", check.Valid, "1 stable"},
		{"set-full", add1 + read + "[]", check.Violated, "lost: process 9 (operation 2) did not see 1, though process 0 (operation 0) had added it"},
		{"set-full", add1 + read + "[]; 9 invoke read; 9 ok read [1]", check.Valid, "1 stale"},
		{"linearizable set", add1 + read + "[]; 9 invoke read; 9 ok read [1]", check.Violated, "stale: process 9 (operation 2) did not see 1"},
		{"linearizable set", "0 invoke add 1; " + read + "[]; 9 invoke read; 9 ok read [1]; 0 ok add 1", check.Valid, "none stale"},
		{"set-full", "0 invoke add 1; " + read + "[1]; 9 invoke read; 9 ok read []", check.Violated, "process 9 (operation 1) had seen it"},
		{"set-full", "0 invoke add 1; " + read + "[]; 0 ok add 1", check.Unknown, "1 never read"},
		{"set-full", add1 + read + "[1 1]", check.Violated, "duplicate: process 9 (operation 2) saw 1 more than once"},
		{"set-full", add1 + read + "[1 7]", check.Violated, "unexpected"},
		{"set-full", add1, check.Unknown, "never read"},
		{"a set", read + "[]; " + add1 + read + "[1]; 0 invoke add 2; 0 ok add 2; 9 invoke read; 9 ok read [1 2]", check.Valid, "2 stable"},
		{"a set", add1 + read + "[1]", check.Valid, "1 last read"},

		{"queue", enqueue1 + "1 invoke dequeue; 1 ok dequeue 1", check.Valid, ""},
		{"queue", enqueue1 + "1 invoke dequeue; 1 ok dequeue 2", check.Violated, "of unknown outcome; 1 unexpected"},
		{"queue", enqueue1 + "1 invoke dequeue; 1 ok dequeue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Violated, "had been put in once and came out 2 times"},
		{"queue", enqueue1 + enqueue1 + "1 invoke dequeue; 1 ok dequeue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Valid, ""},
		{"queue", "1 invoke dequeue; 1 ok dequeue 1; " + enqueue1, check.Violated, "future-element"},
		{"queue", "0 invoke enqueue 1; 1 invoke dequeue; 1 ok dequeue 1; 0 ok enqueue 1", check.Valid, ""},
		{"queue", "0 invoke enqueue 1; 0 fail enqueue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Violated, "failed-element"},
		{"queue", "0 invoke enqueue 1; 0 info enqueue 1; 1 invoke dequeue; 1 ok dequeue 1", check.Valid, "1 of an enqueue of unknown outcome"},
		{"queue", enqueue1, check.Unknown, "nothing came out"},
		{"queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke dequeue; 1 ok dequeue 1", check.Valid, ""},
		{"total-queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke dequeue; 1 ok dequeue 1", check.Violated, "put 2 in, which was acknowledged, but it never came out"},
		{"total-queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke dequeue; 1 ok dequeue 1; 2 invoke dequeue; 2 info dequeue", check.Unknown, "may have taken them"},
		{"total-queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 0 invoke enqueue 3; 0 ok enqueue 3; 1 invoke dequeue; 1 ok dequeue 1; 2 invoke dequeue", check.Violated, "so did 1 other, more than the 1 dequeue"},
		{"a queue", enqueue1 + "1 invoke drain; 1 ok drain [1]", check.Valid, ""},
		{"a queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 1 invoke drain; 1 ok drain [1]", check.Violated, "lost"},
		{"a queue", enqueue1 + "0 invoke enqueue 2; 1 invoke drain; 0 ok enqueue 2; 1 ok drain [1]", check.Valid, ""},
		{"a queue", enqueue1 + "0 invoke enqueue 2; 0 ok enqueue 2; 2 invoke drain; 2 info drain; 1 invoke drain; 1 ok drain [1]", check.Unknown, "1 drain of unknown outcome may have taken them"},

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
		{"counter", "0 invoke add 5; 1 invoke read; 1 ok read 5; 2 invoke read; 2 ok read 0; 0 info add 5", check.Violated, "went-back"},
		{"counter", "0 invoke add 5; 1 invoke read; 2 invoke read; 1 ok read 5; 2 ok read 0; 0 ok add 5", check.Valid, "one order explains them all"},
		{"counter", "0 invoke add 5; 3 invoke add -5; 1 invoke read; 1 ok read 5; 2 invoke read; 2 ok read 0; 0 ok add 5; 3 ok add -5", check.Valid, ""},
		{"counter", "0 invoke add 5; 1 invoke read; 1 ok read 3; 0 ok add 5", check.Violated, "impossible-sum: process 1 (operation 1) read 3, which no additions add up to: 0 had been"},
		{"counter", "0 invoke add 5; 0 ok add 5; 0 invoke add 4; 0 info add 4; 1 invoke read; 1 ok read 7", check.Violated, "impossible-sum"},
		{"counter", "0 invoke add 5; 0 ok add 5; 0 invoke add 4; 0 info add 4; 1 invoke read; 1 ok read 9", check.Valid, ""},
		{"counter", "0 invoke add 3; 1 invoke add 5; 2 invoke read; 3 invoke read; 2 ok read 3; 3 ok read 5; 0 ok add 3; 1 ok add 5", check.Violated, "unexplained"},
		{"counter", "0 invoke add 2; 0 ok add 2", check.Unknown, "never read"},
		{"counter", "9 invoke read; 9 ok read 0", check.Unknown, "nothing was added"},

		{"unique-ids", `0 invoke generate; 0 ok generate 1; 1 invoke generate; 1 ok generate "1"`, check.Valid, "2 identifiers"},
		{"unique-ids", "0 invoke generate; 0 ok generate 1; 1 invoke generate; 1 ok generate 1", check.Violated, "was given 1, which process 0 (operation 0) had been given"},
		{"unique-ids", "0 invoke generate; 0 info generate 1; 1 invoke generate; 1 ok generate 1", check.Valid, ""},
		{"unique-ids", "0 invoke generate; 0 fail generate", check.Unknown, "no identifier"},
	} {
		simulated.Expect(t, opened(c.kind), c.events, c.want, c.says)
	}
}

// What no history of the kind has is refused.
func TestUnfitOperations(t *testing.T) {
	for kind, events := range map[string][]string{
		"set": {"0 invoke enqueue 1", "0 invoke add", "0 invoke add [1 2]", "0 invoke add 1; 0 ok add 2", "0 invoke read 1",
			"0 invoke read; 0 ok read 5", "0 invoke read; 0 ok read", "0 invoke read; 0 ok read [[1]]", "0 invoke read; 0 ok read {1 2}"},
		"queue": {"0 invoke add 1", "0 invoke enqueue", "0 invoke dequeue 1", "0 invoke dequeue; 0 ok dequeue [1]",
			"0 invoke drain; 0 ok drain 1", "0 invoke drain; 0 ok drain", "0 invoke drain 1"},
		"counter": {"0 invoke generate", "0 invoke add :a", "0 invoke add 99999999999999999999", "0 invoke read; 0 ok read", "0 invoke read; 0 ok read 1.5",
			"0 invoke add 9223372036854775807; 0 ok add 9223372036854775807; 0 invoke add 1"},
		"unique-ids": {"0 invoke read", "0 invoke generate 1", "0 invoke generate; 0 ok generate", "0 invoke generate; 0 ok generate [1]"},
	} {
		for _, text := range events {
			simulated.Refused(t, opened(kind), text)
		}
	}
}
