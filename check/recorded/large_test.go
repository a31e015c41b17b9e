package recorded

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
	"assay/internal/expect"
)

// A long history is judged in time that grows linearly with it; reads of a set are as long as their
// content.
func TestLargeHistories(t *testing.T) {
	const n = 200_000
	for kind, words := range map[string][]string{"set": {"add"}, "queue": {"enqueue"}, "counter": {"add"}, "unique-ids": {"generate"},
		"mutex": {"acquire", "release"}, "owner-mutex": {"acquire", "release"}} {
		ops := make([]exchange.Operation, n)
		last := exchange.Operation{Index: n, Function: exchange.Other, Word: "read", Outcome: history.Committed, Invoke: 2 * n, Complete: 2*n + 1, Answer: listOf()}
		for i := range ops {
			at := int64(i)
			ops[i] = exchange.Operation{Index: at, Function: exchange.Other, Word: words[i%len(words)], Process: at / 2 % 7, Outcome: history.Committed,
				Invoke: 2 * at, Complete: 2*at + 1, Request: whole(at), Answer: whole(at)}
			if kind == "unique-ids" || len(words) > 1 {
				ops[i].Request = exchange.Value{}
			}
			last.Answer.Items = append(last.Answer.Items, whole(at))
		}
		switch kind {
		case "set":
			ops = append(ops, last)
		case "queue":
			last.Word = "drain"
			ops = append(ops, last)
		case "counter":
			last.Answer = whole(n * (n - 1) / 2)
			ops = append(ops, last)
		}
		if r := judged(t, opened(kind), ops); r.Verdict != check.Valid {
			t.Errorf("%s: %v %s %+v", kind, r.Verdict, r.Detail, r.Evidence)
		}
	}
	for seed := range uint64(10) {
		for bug, convicted := range map[string]bool{"": false, "stale": true} {
			c := &clients{Rand: rand.New(rand.NewPCG(seed, 2)), processes: 3, left: 150, crash: 0.05, bug: bug, odds: 2}
			if r := judged(t, opened("multi-register"), c.history(c.registers())); (r.Verdict == check.Violated) != convicted {
				t.Errorf("multi-register, %q: %v %s", bug, r.Verdict, r.Detail)
			}
		}
	}
}

// In a long log, errors at the end are found, and right logs are not convicted. A value that stands
// at many offsets is counted at each.
func TestLongLogs(t *testing.T) {
	const n = 3000 // more than the journal keeps together
	sends, polls := "", ""
	for v := range n {
		sends += fmt.Sprintf("%d invoke send [[:send %d %d]]; %d ok send [[:send %d [%d %d]]]; ", v%7, v%2, v, v%7, v%2, v/2, v)
		polls += fmt.Sprintf("%d invoke poll [[:poll]]; %d ok poll [[:poll {%d [[%d %d]]}]]; ", 10+v%2, 10+v%2, v%2, v/2, v)
	}
	again := ""
	for range 2 {
		for at := range 20 {
			again += fmt.Sprintf("[%d 0] ", n+at)
		}
	}
	const cycle = "8 invoke txn [[:send 5 1] [:poll]]; 9 invoke txn [[:send 6 1] [:poll]]; " +
		"8 ok txn [[:send 5 [0 1]] [:poll {6 [[0 1]]}]]; 9 ok txn [[:send 6 [0 1]] [:poll {5 [[0 1]]}]]"
	expectAll(t, []minimal{
		{"kafka", sends + strings.TrimSuffix(polls, "; "), check.Valid, "3,000 sends to 2 keys, 3,000 polls of 3,000 values"},
		{"kafka", sends + polls + cycle, check.Violated, "1 G1c"},
		{"kafka", sends + polls + "12 invoke poll [[:poll]]; 12 ok poll [[:poll {0 [" + again + "]}]]", check.Violated, "40 duplicate"},
	})
}

func TestLongCounters(t *testing.T) {
	begin, end := "", ""
	for p := range 400 { // all in flight at once
		begin += fmt.Sprintf("%d invoke add 5; ", 10+p)
		end += fmt.Sprintf("; %d ok add 5", 10+p)
	}
	for kind, events := range map[string]string{
		kindBack: begin + "9 invoke read; 9 ok read 5; 9 invoke read; 9 ok read 0" + end,
		kindSum:  begin + "9 invoke read; 9 ok read 3" + end,
		kindBounds: "9 invoke read; 9 ok read 10; " + strings.Repeat("0 invoke add 5; 0 ok add 5; ", 400) +
			"0 invoke add -5; 0 ok add -5; 8 invoke read; 8 ok read 1990",
	} {
		if r := judged(t, opened("counter"), mustRead(t, events)); r.Verdict != check.Violated || r.Evidence[0].Kind != kind {
			t.Errorf("%v %+v, want %s", r.Verdict, r.Evidence, kind)
		}
	}
	// With too much in flight there is no search, and so no verdict.
	expectAll(t, []minimal{{"counter", begin + "0 invoke read; 0 ok read 25" + end, check.Unknown, "whether one order explains the reads was not decided: too much was in flight at once"}})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	j := opened("counter")
	judged(t, j, mustRead(t, "0 invoke add 5; 0 ok add 5; 1 invoke read; 1 ok read 5"))
	if r := j.Result(over); r.Verdict != check.Unknown || !strings.Contains(r.Detail, "time limit") {
		t.Errorf("%v %s", r.Verdict, r.Detail)
	}
}

// The search for an order of many registers is given a bounded memory.
func TestManyRegisters(t *testing.T) {
	begin, end := "", ""
	for p := range 12 { // each order of these leaves other registers
		begin += fmt.Sprintf("%d invoke txn [[:w :x %d] [:w :y%d %d]]; ", 100+p, p, p, p)
		end += fmt.Sprintf("; %d ok txn", 100+p)
	}
	wide := ""
	for k := range 1000 {
		wide += fmt.Sprintf("[:w %d 1] ", k)
	}
	ops := mustRead(t, "0 invoke txn ["+wide+"]; 0 ok txn; "+begin+"1 invoke txn [[:r :x nil]]; 1 ok txn [[:r :x 7]]"+end)
	for memory, want := range map[int]check.Verdict{4 << 20: check.Unknown, 1 << 30: check.Valid} {
		r := judged(t, multiRegister(memory), ops)
		if r.Verdict != want || want == check.Unknown && !strings.Contains(r.Detail, "needed more memory than it is given") {
			t.Errorf("%v %s", r.Verdict, r.Detail)
		}
	}
}

func TestEvidenceIsTheSameAgain(t *testing.T) {
	events := "9 invoke read; 9 ok read [{:val 99 :sts 9}]; "
	for v := range 30 {
		events = fmt.Sprintf("0 invoke add; 0 ok add {:val %d :sts %d}; ", v, v) + events
	}
	ops := mustRead(t, events)
	first := judged(t, opened("monotonic"), ops)
	for range 5 {
		if again := judged(t, opened("monotonic"), ops); !reflect.DeepEqual(first, again) {
			t.Fatalf("%+v\n%+v", first, again)
		}
	}
}

// An operation that is not linked to the one before contradicts it.
func TestLinksOfACausalRegister(t *testing.T) {
	const text = `{:process 0, :type :invoke, :f :read-init} {:process 0, :type :ok, :f :read-init, :value 0, :position 5, :link :init}
{:process 0, :type :invoke, :f :read} {:process 0, :type :ok, :f :read, :value 0, :position 6, :link LINK}`
	for link, want := range map[string]check.Verdict{"5": check.Valid, ":init": check.Valid, "4": check.Violated} {
		ops, err := readAs(exchange.AsWritten, strings.Replace(text, "LINK", link, 1))
		expect.NoError(t, err)
		if r := judged(t, opened("causal"), ops); r.Verdict != want {
			t.Errorf("linked to %s: %v %+v", link, r.Verdict, r.Evidence)
		}
	}
}

// see is a read of the accounts 0, 1, 2, ...
func see(id int64, balances ...int64) exchange.Operation {
	op := exchange.Operation{Index: id, Function: exchange.ReadAccounts, Outcome: history.Committed, InvokeTime: id * 1_000_000, CompleteTime: (id + 1) * 1_000_000}
	for i, b := range balances {
		op.Accounts = append(op.Accounts, exchange.Account{ID: exchange.Int64(int64(i)), Balance: b})
	}
	return op
}

var moved = exchange.Operation{Function: exchange.Transfer, Outcome: history.Committed, Movement: exchange.Movement{From: exchange.Int64(0), To: exchange.Int64(1)}}

// The evidence of a bank is bounded, the counts are not, and each wrong total is listed before a
// second read of any.
func TestFloods(t *testing.T) {
	ops := []exchange.Operation{moved, see(7, 7, 0), see(7, 7, 0), see(7, 7, 0)}
	for i := range int64(3 * maxTotals) {
		ops = append(ops, see(i, i, -1), see(i, i, -1))
	}
	j := Bank{}.Open().(*bank)
	r := judged(t, j, ops)
	if len(j.order) != maxTotals || j.found.Count(kindNegative) != 6*maxTotals || len(r.Evidence) != check.MaxEvidence {
		t.Errorf("kept %d totals, %d negatives, %d in all", len(j.order), j.found.Count(kindNegative), len(r.Evidence))
	}
	// The total 7 is the usual one: twice of 8 and -1, thrice of 7 and 0.
	if want := int64(6*maxTotals-2) + 6*maxTotals; r.Found != want {
		t.Errorf("found %d, want %d: %s", r.Found, want, r.Detail)
	}
	seen := map[int64]bool{}
	for _, e := range r.Evidence {
		if e.Kind != kindTotal || seen[e.Fields["total"]] || e.Fields["complete_ns"] != e.Fields["invoke_ns"]+1_000_000 {
			t.Errorf("%+v comes too early", e)
		}
		seen[e.Fields["total"]] = true
	}
}

// A bank with atomic transfers is not convicted. With one balance changed it is, whichever it is
// and in whatever order the reads come.
func TestEveryMutationIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		accounts := make([]int64, 2+random.IntN(5))
		for i := range accounts {
			accounts[i] = random.Int64N(50)
		}
		ops := []exchange.Operation{moved}
		for id := range int64(3 + random.IntN(10)) {
			for range 3 {
				from, to := random.IntN(len(accounts)), random.IntN(len(accounts))
				amount := random.Int64N(accounts[from] + 1)
				accounts[from] -= amount
				accounts[to] += amount
			}
			ops = append(ops, see(id, accounts...))
		}
		random.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
		if r := judged(t, opened("bank"), ops); r.Verdict != check.Valid {
			t.Fatalf("%v %s %+v", r.Verdict, r.Detail, r.Evidence)
		}
		for i := range ops {
			if len(ops[i].Accounts) == 0 {
				continue
			}
			a := &ops[i].Accounts[random.IntN(len(accounts))]
			was := a.Balance
			a.Balance += 1 + random.Int64N(9)
			r := judged(t, opened("bank"), ops)
			if r.Verdict != check.Violated || r.Found != 1 || r.Evidence[0].Fields["operation"] != ops[i].Index {
				t.Fatalf("%v %s %+v", r.Verdict, r.Detail, r.Evidence)
			}
			a.Balance = was
		}
	}
}
