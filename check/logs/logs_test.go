package logs

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/check/simulated"
	"assay/history/exchange"
)

// Each wrong history stands beside those that differ from it in one thing and
// are right, or show nothing.
func TestMinimalCases(t *testing.T) {
	const (
		s1   = "0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [0 10]]]; "
		s2   = "0 invoke send [[:send 1 20]]; 0 ok send [[:send 1 [1 20]]]; "
		s3   = "0 invoke send [[:send 1 30]]; 0 ok send [[:send 1 [2 30]]]; "
		poll = "9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 "
		end  = "}]]; "
	)
	for _, c := range []struct {
		events string
		want   check.Verdict
		says   string
	}{
		{s1 + s2 + poll + "[[0 10] [1 20]]" + end, check.Valid, "2 sends to 1 key, 1 poll of 2 values"},
		{s1 + s2 + poll + "[[1 20]]" + end, check.Violated, "lost-write: process 0 (operation 0) sent 10 to key 1, which was acknowledged with offset 0, but nobody polled it"},
		{s1 + s2 + poll + "[[0 10]]" + end, check.Valid, "1 acknowledged and behind all that was polled"},
		{s1, check.Unknown, "nothing was polled"},
		{s1 + poll + "[[0 10] [1 99]]" + end, check.Violated, "unexpected"},
		{"0 invoke send [[:send 1 10]]; 0 fail send [[:send 1 10]]; " + poll + "[[0 10]]" + end, check.Violated, "G1a"},
		{"0 invoke send [[:send 1 10]]; 0 info send [[:send 1 10]]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{poll + "[[0 10]]" + end + s1, check.Violated, "future-read"},
		{s1 + "1 invoke send [[:send 1 10]]; 1 fail send [[:send 1 10]]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{"0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [5 10]]]; 1 invoke send [[:send 1 20]]; 1 ok send [[:send 1 [1 20]]]; 2 invoke send [[:send 1 30]]; 2 ok send [[:send 1 [3 30]]]; " +
			poll + "[[1 20] [5 10]]" + end, check.Violated, "lost-write: process 2"},
		{s1 + poll + "[[0 10] [1 10]]" + end, check.Violated, "duplicate"},
		{s1 + "0 invoke send [[:send 1 20]]; 0 ok send [[:send 1 [0 20]]]; " + poll + "[[0 10]]" + end, check.Violated, "inconsistent-offsets"},
		{s1 + s2 + poll + "[[0 10]]" + end + poll + "[[1 20]]" + end, check.Valid, ""},
		{s1 + s2 + poll + "[[0 10] [1 20]]" + end + poll + "[[0 10]]" + end, check.Violated, "nonmonotonic-poll: process 9 (operation 6) polled 10 at offset 0"},
		{s1 + s2 + poll + "[[0 10] [1 20]]" + end + "9 invoke assign [1]; 9 ok assign [1]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{s1 + s2 + "9 invoke subscribe [1]; 9 ok subscribe [1]; " + poll + "[[0 10] [1 20]]" + end + poll + "[[0 10]]" + end, check.Valid, ""},
		{s1 + s2 + s3 + poll + "[[0 10]]" + end + poll + "[[2 30]]" + end + "8 invoke poll [[:poll]]; 8 ok poll [[:poll {1 [[1 20]]}]]", check.Violated, "poll-skip: process 9 (operation 8) polled 30 at offset 2 of key 1, after process 9 (operation 6) had polled offset 0, and skipped 20 at offset 1"},
		{s1 + s3 + poll + "[[0 10]]" + end + poll + "[[2 30]]" + end, check.Valid, ""},
		{s1 + s2 + poll + "[[1 20] [0 10]]" + end, check.Violated, "int-nonmonotonic-poll"},
		{s1 + s2 + s3 + poll + "[[0 10] [2 30]]" + end, check.Violated, "int-poll-skip"},
		{"0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [5 10]]]; " + s2 + poll + "[[1 20] [5 10]]" + end, check.Violated, "nonmonotonic-send"},
		{"0 invoke txn [[:send 1 10] [:poll]]; 0 ok txn [[:send 1 [0 10]] [:poll {1 [[0 10]]}]]", check.Violated, "precommitted-read"},
		{"0 invoke txn [[:send 1 10] [:poll]]; 0 ok txn [[:send 1 [0 10]] [:poll {}]]; " + poll + "[[0 10]]" + end, check.Valid, ""},
		{s1 + s2 + poll + "[[0 10] [1 20]]" + end + "9 invoke poll [[:poll]]; 9 info poll [[:poll]]; 18 invoke poll [[:poll]]; 18 ok poll [[:poll {\"1\" [[0 10]]}]]", check.Valid, "1 key"},
	} {
		simulated.Expect(t, New(Polls), c.events, c.want, c.says)
	}
	for _, text := range []string{"0 invoke add 1", "0 invoke send 5", "0 invoke send [[:send 1]]", "0 invoke send [[:send [1] 2]]", "0 invoke txn [[:r 1 nil]]",
		"0 invoke poll [[:poll]]; 0 ok poll [[:poll [1]]]", "0 invoke poll [[:poll]]; 0 ok poll [[:poll {1 [5]}]]", "0 invoke send [[:send 1 2]]; 0 ok send [[:send 1 [:a 2]]]"} {
		simulated.Refused(t, New(Polls), text)
	}
}

// Cycles of transactions, beside histories that differ in one thing and have none,
// and what a log that promises less allows.
func TestCycles(t *testing.T) {
	const (
		begin = "0 invoke txn [[:send 1 10] [:poll]]; 1 invoke txn [[:send 2 20] [:poll]]; "
		one   = "0 ok txn [[:send 1 [0 10]] [:poll {2 [[0 20]]}]]; "
		late  = "9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10]]}]]; "
		send  = "1 invoke send [[:send 2 20]]; "
		sent  = "1 ok send [[:send 2 [0 20]]]; "
		first = "0 invoke txn [[:send 1 10] [:send 2 20]]; 1 invoke txn [[:send 1 11] [:send 2 21]]; "
		polls = "9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 20] [1 21]]}]]"
		mixed = "0 invoke txn [[:send 1 10] [:poll]]; 1 invoke txn [[:send 1 11] [:send 2 20]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 20]]]; "
	)
	for _, c := range []struct {
		events  string
		promise Promise
		want    check.Verdict
		says    string
	}{
		{begin + one + "1 ok txn [[:send 2 [0 20]] [:poll {1 [[0 10]]}]]", Polls, check.Violated,
			"G1c: T1 is process 0 (operation 0), T2 is process 1 (operation 1); T2 polled 10 of key 1, which T1 sent; T1 polled 20 of key 2, which T2 sent: no order of them exists"},
		{begin + one + "1 ok txn [[:send 2 [0 20]] [:poll {}]]", Polls, check.Valid, ""},
		{begin + one + "1 info txn", Polls, check.Valid, ""},
		{"0 invoke txn [[:send 1 10] [:poll]]; " + late + send + sent + one, Polls, check.Violated, "was acknowledged before T"},
		{"0 invoke txn [[:send 1 10] [:poll]]; " + send + late + sent + one, Polls, check.Valid, ""},
		{first + "0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]",
			Polls, check.Valid, "allowed, and found: a cycle G0"},
		{first + "0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]",
			Sends, check.Violated, "stands behind 10 in key 1"},
		{first + "0 ok txn [[:send 1 [0 10]] [:send 2 [1 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [0 21]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [1 11]] 2 [[0 21] [1 20]]}]]",
			SendsAndPolls, check.Violated, "G0: T1 is"},
		{first + "0 ok txn [[:send 1 [0 10]] [:send 2 [0 20]]]; 1 ok txn [[:send 1 [1 11]] [:send 2 [1 21]]]; " + polls, SendsAndPolls, check.Valid, ""},
		{mixed + one, Polls, check.Valid, "allowed, and found: a cycle G1c"},
		{mixed + one, Sends, check.Valid, "allowed, and found: a cycle G1c"},
		{mixed + one, SendsAndPolls, check.Violated, "G1c: "},
	} {
		r := simulated.Expect(t, New(c.promise), c.events, c.want, c.says)
		for _, e := range r.Evidence {
			if e.Cycle == nil || len(e.Cycle.Steps) < 2 || r.Found != 1 {
				t.Errorf("%s: %d found, %s without a cycle to draw", c.events, r.Found, e.Kind)
			}
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	j := New(Polls)
	for _, op := range simulated.MustRead(t, begin+one+"1 ok txn [[:send 2 [0 20]] [:poll {}]]") {
		if err := j.Add(&op); err != nil {
			t.Fatal(err)
		}
	}
	if r := j.Result(ended); r.Verdict != check.Unknown || !strings.Contains(r.Detail, "time limit") {
		t.Errorf("after the end of the time: %v %s", r.Verdict, r.Detail)
	}
}

// simulate makes a history of two logs: clients send, and poll from where they
// are. At the end one reads all from the beginning.
func simulate(seed uint64, bug string) (ops []exchange.Operation, struck bool) {
	random := rand.New(rand.NewPCG(seed, 5))
	clients := simulated.Clients{Random: random, Processes: 2 + random.IntN(4), Operations: 80, Crash: float64(seed%3) / 30}
	var logs [2][]int64
	at := map[[2]int64]int{}
	strikes := func(of string) bool {
		hit := bug == of && random.IntN(6) == 0
		struck = struck || hit
		return hit
	}
	send, poll := simulated.Word("send"), simulated.Word("poll")
	var next int64
	left := clients.Operations
	ops = clients.History(func(process int64) (simulated.Action, bool) {
		left--
		if random.IntN(2) == 0 && left > 20 {
			key, v := random.Int64N(2), next
			next++
			return simulated.Action{Word: "send", Request: simulated.List(simulated.List(send, simulated.Int(key), simulated.Int(v))), Effect: func() (exchange.Value, bool) {
				if random.IntN(10) == 0 {
					if strikes("aborted") {
						logs[key] = append(logs[key], v)
					}
					return exchange.Value{}, false
				}
				offset := int64(len(logs[key]))
				if strikes("lost") {
					logs[key] = append(logs[key], -1) // a hole
				} else {
					logs[key] = append(logs[key], v)
				}
				if strikes("duplicate") {
					logs[key] = append(logs[key], v)
				}
				return simulated.List(simulated.List(send, simulated.Int(key), simulated.List(simulated.Int(offset), simulated.Int(v)))), true
			}}, true
		}
		polls := func(own int64) exchange.Value {
			polled := exchange.Value{Form: exchange.Map}
			for key := range int64(2) {
				position := at[[2]int64{process, key}]
				if position > 0 && strikes("back") {
					position--
				}
				if position < len(logs[key]) && strikes("skip") {
					position++
				}
				list := simulated.List()
				for ; position < len(logs[key]); position++ {
					if v := logs[key][position]; v >= 0 && v != own {
						list.Items = append(list.Items, simulated.List(simulated.Int(int64(position)), simulated.Int(v)))
					}
				}
				at[[2]int64{process, key}] = position
				polled.Items = append(polled.Items, simulated.Int(key), list)
			}
			return simulated.List(poll, polled)
		}
		if random.IntN(3) == 0 && left > 20 { // a transaction that polls and sends
			key, v, offset := random.Int64N(2), next, int64(-1)
			next++
			append1 := func() {
				offset = int64(len(logs[key]))
				logs[key] = append(logs[key], v)
			}
			if strikes("uncommitted") { // others see it while the transaction runs
				append1()
			}
			return simulated.Action{Word: "txn", Request: simulated.List(simulated.List(send, simulated.Int(key), simulated.Int(v)), simulated.List(poll)),
				Effect: func() (exchange.Value, bool) {
					polled := polls(v)
					if offset < 0 {
						append1()
					}
					return simulated.List(simulated.List(send, simulated.Int(key), simulated.List(simulated.Int(offset), simulated.Int(v))), polled), true
				}}, true
		}
		return simulated.Action{Word: "poll", Request: simulated.List(simulated.List(poll)), Effect: func() (exchange.Value, bool) {
			return simulated.List(polls(-1)), true
		}}, true
	})
	return ops, struck
}

// What is right is never convicted, whatever crashed; most of what a bug struck
// is, by its name.
func TestSimulatedLogs(t *testing.T) {
	for bug, kinds := range map[string][]string{"": nil, "lost": {kindLost}, "duplicate": {kindDuplicate}, "aborted": {kindAborted},
		"back": {kindPollBack}, "skip": {kindPollSkip, kindLost}, "uncommitted": {kindG1c, kindG1cRealtime}} {
		valid, hits, found := 0, 0, 0
		for seed := range uint64(100) {
			ops, struck := simulate(seed, bug)
			r := simulated.Judged(t, New(Polls), ops)
			switch {
			case r.Verdict == check.Violated && !struck:
				t.Fatalf("%q, seed %d: %s %+v", bug, seed, r.Detail, r.Evidence)
			case r.Verdict == check.Valid:
				valid++
			}
			if struck {
				hits++
				if slices.ContainsFunc(r.Evidence, func(e check.Evidence) bool { return slices.Contains(kinds, e.Kind) }) {
					found++
				}
			}
		}
		least := hits / 2
		if bug == "uncommitted" { // seen only if somebody polled it and sent what it then polled
			least = hits / 8
		}
		if bug == "" && valid < 95 || bug != "" && (hits < 30 || found < least) {
			t.Errorf("%q: %d valid, found in %d of %d", bug, valid, found, hits)
		}
	}
}

func FuzzJudge(f *testing.F) {
	simulated.Fuzz(f, func(string) simulated.Judge { return New(SendsAndPolls) }, []string{"kafka"},
		"0 invoke send [[:send 1 10]]; 0 ok send [[:send 1 [0 10]]]; 9 invoke poll [[:poll]]; 9 ok poll [[:poll {1 [[0 10] [2 5]]}]]",
		"0 invoke txn [[:send 1 10] [:poll]]; 0 info txn; 1 invoke assign [1]; 1 ok assign [1]; 1 invoke subscribe [1]")
}
