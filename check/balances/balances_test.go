package balances

import (
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// see makes a read of the accounts a, b, c, ...
func see(id int64, balances ...int64) Read {
	r := Read{ID: id, Process: id % 3, Invoke: id * 1_000_000, Complete: (id + 1) * 1_000_000}
	for i, b := range balances {
		r.Accounts = append(r.Accounts, Account{ID: string(rune('a' + i)), Balance: b})
	}
	return r
}

func judge(o Options, transfers int, reads ...Read) check.Result {
	j := New(o)
	for range transfers {
		j.Transfer(history.Committed)
	}
	for i := range reads {
		j.Read(&reads[i])
	}
	return j.Result()
}

func missing(r Read, account int) Read {
	r.Accounts[account] = Account{ID: r.Accounts[account].ID, Missing: true}
	return r
}

// Each wrong history stands beside a valid one that differs in one thing.
func TestMinimalCases(t *testing.T) {
	for _, c := range []struct {
		kind, text, detail string
		o, validO          Options
		wrong, valid       []Read
	}{
		{kindTotal, "read by process 2 (operation 5, 0.005000 s to 0.006000 s) saw a total of 95 in 2 accounts (a: 45, b: 50), 5 less than the 100 that 2 reads saw",
			"3 reads of all accounts, 1 transfer (1 that may have taken effect); 1 saw another total than 100", Options{}, Options{},
			[]Read{see(1, 50, 50), see(5, 45, 50), see(8, 45, 55)}, []Read{see(1, 50, 50), see(5, 45, 55), see(8, 45, 55)}},
		{kindTotal, "saw a total of 105 in 2 accounts (a: 50, b: 55), 5 more than the 100 that 1 read saw",
			"2 reads of all accounts, 1 transfer (1 that may have taken effect); 1 saw another total than 100", Options{}, Options{},
			[]Read{see(1, 50, 50), see(5, 50, 55)}, []Read{see(1, 50, 55), see(5, 50, 55)}},
		{kindTotal, "saw a total of 90 in 2 accounts (a: 40, b: 50), 10 less than the 100 that there are",
			"1 read of all accounts, 1 transfer (1 that may have taken effect); 1 saw another total than 100",
			Options{Total: 100, TotalKnown: true}, Options{Total: 90, TotalKnown: true},
			[]Read{see(1, 40, 50)}, []Read{see(1, 40, 50)}},
		{kindTotal, "saw a total of 0 in 0 accounts ()", "", Options{}, Options{},
			[]Read{see(1, 50, 50), see(2, 50, 50), see(5)}, []Read{see(1, 50, 50), see(2, 50, 50), see(5, 50, 50)}},
		{kindNegative, "saw account b at -1, below zero", "1 time an account was below zero", Options{}, Options{NegativeAllowed: true},
			[]Read{see(1, 1, 0), see(2, 2, -1)}, []Read{see(1, 1, 0), see(2, 2, -1)}},
		{kindMissing, "saw no balance of an account that it read: a: none, b: 0", "1 missed a balance", Options{}, Options{},
			[]Read{see(1, 0, 0), see(2, 0, 0), missing(see(3, 0, 0), 0)}, []Read{see(1, 0, 0), see(2, 0, 0), see(3, 0, 0)}},
		{kindTotal, "saw a total of 18446744073709551614 in 2 accounts", "", Options{}, Options{},
			[]Read{see(1, 0, -2), see(2, 0, -2), see(3, math.MaxInt64, math.MaxInt64)}[1:], []Read{see(1, math.MaxInt64, 1), see(2, 1, math.MaxInt64)}},
	} {
		got := judge(c.o, 1, c.wrong...)
		if got.Verdict != check.Violated || !has(got, c.kind, c.text) || !strings.Contains(got.Detail, c.detail) {
			t.Errorf("got %v %s %+v\nwant %s %s; %s", got.Verdict, got.Detail, got.Evidence, c.kind, c.text, c.detail)
		}
		if got := judge(c.validO, 1, c.valid...); got.Verdict != check.Valid || got.Found != 0 {
			t.Errorf("%s, the valid one: %v %s %+v", c.kind, got.Verdict, got.Detail, got.Evidence)
		}
	}
}

func has(r check.Result, kind, text string) bool {
	for _, e := range r.Evidence {
		if e.Kind == kind && strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

func TestWordsAndFields(t *testing.T) {
	if r := judge(Options{}, 1, see(1, 50, 50), see(2, 50, 50)); !strings.Contains(r.Detail, "no account below zero") {
		t.Errorf("valid, and says %q", r.Detail)
	}
	if r := judge(Options{NegativeAllowed: true}, 1, see(1, 150, -50), see(2, 50, 50)); r.Verdict != check.Valid || strings.Contains(r.Detail, "zero") {
		t.Errorf("%v, and says %q", r.Verdict, r.Detail)
	}
	if r := judge(Options{}, 1, see(1, 150, -50), see(2, 50, 50)); r.Verdict != check.Violated || strings.Contains(r.Detail, "total than") {
		t.Errorf("%v, and says %q", r.Verdict, r.Detail)
	}
	timeless := see(7, 50, 40)
	timeless.Invoke, timeless.Complete = NoTime, NoTime
	r := judge(Options{Total: 100, TotalKnown: true}, 1, see(3, 50, 40), timeless, see(8, 50, 40), see(9, 50, 40))
	if r.Found != 4 || len(r.Evidence) != perTotal {
		t.Errorf("%d of %d are listed", len(r.Evidence), r.Found)
	}
	_, begun := r.Evidence[1].Fields["invoke_ns"]
	_, ended := r.Evidence[1].Fields["complete_ns"]
	if first := r.Evidence[0].Fields; begun || ended || first["invoke_ns"] != 3_000_000 || first["complete_ns"] != 4_000_000 {
		t.Errorf("%v and %v", first, r.Evidence[1].Fields)
	}
	if r := judge(Options{}, 1, see(1, 100), see(2, 50, 50)); r.Verdict != check.Unknown || r.Found != 0 {
		t.Errorf("a read that lacks an account is %v, %d found", r.Verdict, r.Found)
	}
}

func TestNothingIsUnknown(t *testing.T) {
	unanswered := New(Options{})
	unanswered.Transfer(history.Committed)
	unanswered.Unanswered()
	failed := New(Options{})
	for _, r := range []Read{see(1, 5), see(2, 5)} {
		failed.Read(&r)
	}
	failed.Transfer(history.Failed)
	failed.Transfer(history.Rejected)
	for want, r := range map[string]check.Result{
		"0 reads of all accounts, 0 transfers (none that may have taken effect); no read was answered, so nothing can be said":                                           judge(Options{}, 0),
		"0 reads of all accounts, 1 transfer (1 that may have taken effect); no read was answered, so nothing can be said; 1 more read without accounts in the history":  unanswered.Result(),
		"2 reads of all accounts, 2 transfers (none that may have taken effect); no money was moved, so nothing was put to the test":                                     failed.Result(),
		"1 read of all accounts, 1 transfer (1 that may have taken effect); one read alone does not show whether its total is right; give the total, or read more often": judge(Options{}, 1, see(1, 5)),
	} {
		if r.Verdict != check.Unknown || r.Detail != want || r.Found != 0 {
			t.Errorf("got %v %q\nwant %q", r.Verdict, r.Detail, want)
		}
	}
	unknown := New(Options{Total: 5, TotalKnown: true})
	r := see(1, 5)
	unknown.Read(&r)
	unknown.Transfer(history.Unknown)
	if got := unknown.Result(); got.Verdict != check.Valid {
		t.Errorf("a transfer that may have happened: %v %s", got.Verdict, got.Detail)
	}
}

// A read without an account that others have says nothing, until it is known
// which accounts there are.
func TestReadsThatLackAnAccount(t *testing.T) {
	two := []string{"a", "b"}
	for _, c := range []struct {
		o         Options
		transfers []string
		reads     []Read
		verdict   check.Verdict
		says      string
	}{
		{Options{}, nil, []Read{see(1, 5, 15), see(2, 20)}, check.Unknown, "1 read lacks an account that other reads or transfers name (read by process 2 (operation 2, 0.002000 s to 0.003000 s) has no account b)"},
		{Options{}, []string{"a", "c"}, []Read{see(1, 5, 15), see(2, 15, 5)}, check.Unknown, "2 reads lack an account that other reads or transfers name (read by process 1 (operation 1, 0.001000 s to 0.002000 s) has no account c)"},
		{Options{}, []string{"a", "b"}, []Read{see(1, 5, 15), see(2, 15, 5)}, check.Valid, "each read saw a total of 20"},
		{Options{}, nil, []Read{see(1, 5, 15), see(2, 20), see(3, 5, 14)}, check.Violated, "another total"},
		{Options{Accounts: two}, nil, []Read{see(1, 5, 15), see(2, 20)}, check.Violated, "1 lacked an account"},
		{Options{Accounts: two}, []string{"c"}, []Read{see(1, 5, 15), see(2, 20, 0)}, check.Valid, "each read saw a total of 20"},
		{Options{Accounts: two}, nil, []Read{see(1, 5, 15), see(2, 5, 10, 5)}, check.Violated, "1 saw an account that is none of the bank's"},
	} {
		j := New(c.o)
		j.Transfer(history.Committed)
		for _, id := range c.transfers {
			j.Account(id)
		}
		for i := range c.reads {
			j.Read(&c.reads[i])
		}
		if got := j.Result(); got.Verdict != c.verdict || !strings.Contains(got.Detail, c.says) {
			t.Errorf("got %v %q\nwant %v ...%s...", got.Verdict, got.Detail, c.verdict, c.says)
		}
	}
}

// What is kept is bounded, what is counted is not, and each wrong total is
// heard before any has its second.
func TestFloods(t *testing.T) {
	j := New(Options{})
	j.Transfer(history.Committed)
	for i := range int64(3 * maxTotals) {
		for range 2 {
			r := see(i, i, -1)
			j.Read(&r)
		}
	}
	for range 3 {
		r := see(7, 7, 0)
		j.Read(&r)
	}
	r := j.Result()
	if len(j.order) != maxTotals || len(j.negative) != check.MaxEvidence || len(r.Evidence) != check.MaxEvidence {
		t.Errorf("kept %d totals, %d negatives, %d in all", len(j.order), len(j.negative), len(r.Evidence))
	}
	// The total 7 is the usual one: twice of 8 and -1, thrice of 7 and 0.
	if want := int64(6*maxTotals-2) + 6*maxTotals; r.Found != want {
		t.Errorf("found %d, want %d: %s", r.Found, want, r.Detail)
	}
	seen := map[int64]bool{}
	for _, e := range r.Evidence {
		if e.Kind != kindTotal || seen[e.Fields["total"]] {
			t.Errorf("%+v comes too early", e)
		}
		seen[e.Fields["total"]] = true
	}
}

// A bank that moves money at once is not convicted; the same with one balance
// changed is, whichever it is and in whatever order the reads come.
func TestEveryMutationIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		accounts := make([]int64, 2+random.IntN(5))
		for i := range accounts {
			accounts[i] = random.Int64N(50)
		}
		var reads []Read
		for id := range int64(3 + random.IntN(10)) {
			for range 3 {
				from, to := random.IntN(len(accounts)), random.IntN(len(accounts))
				amount := random.Int64N(accounts[from] + 1)
				accounts[from] -= amount
				accounts[to] += amount
			}
			reads = append(reads, see(id, accounts...))
		}
		random.Shuffle(len(reads), func(i, j int) { reads[i], reads[j] = reads[j], reads[i] })
		if r := judge(Options{}, 1, reads...); r.Verdict != check.Valid {
			t.Fatalf("%v %s %+v", r.Verdict, r.Detail, r.Evidence)
		}
		for i := range reads {
			a := &reads[i].Accounts[random.IntN(len(accounts))]
			was := a.Balance
			a.Balance += 1 + random.Int64N(9)
			r := judge(Options{}, 1, reads...)
			if r.Verdict != check.Violated || r.Found != 1 || r.Evidence[0].Fields["operation"] != reads[i].ID {
				t.Fatalf("%v %s %+v", r.Verdict, r.Detail, r.Evidence)
			}
			a.Balance = was
		}
	}
}

func TestTotalsDoNotOverflow(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		var sum total
		want := new(big.Int)
		for range random.IntN(8) {
			v := []int64{math.MaxInt64, math.MinInt64, -1, 0, 1, random.Int64(), -random.Int64()}[random.IntN(7)]
			sum = sum.plus(v)
			want.Add(want, big.NewInt(v))
		}
		if sum.big().Cmp(want) != 0 {
			t.Fatalf("got %s, want %s", sum.big(), want)
		}
	}
}

// TestAHistoryOfJepsens shows how a history that was read from a file is handed
// over.
func TestAHistoryOfJepsens(t *testing.T) {
	const text = `{:index 0, :time 100, :type :invoke, :process 0, :f :read}
{:index 1, :time 200, :type :ok, :process 0, :f :read, :value {0 10, 1 10}}
{:index 2, :time 300, :type :invoke, :process 1, :f :transfer, :value {:from 0, :to 1, :amount 5}}
{:index 3, :time 400, :type :invoke, :process 0, :f :read}
{:index 4, :time 500, :type :ok, :process 0, :f :read, :value {0 5, 1 %d}}
{:index 5, :time 600, :type :ok, :process 1, :f :transfer, :value {:from 0, :to 1, :amount 5}}
{:index 6, :time 700, :type :invoke, :process 0, :f :read}
{:index 7, :time 800, :type :fail, :process 0, :f :read}
`
	for second, want := range map[int]check.Verdict{15: check.Valid, 10: check.Violated} {
		in, err := exchange.NewReader(strings.NewReader(fmt.Sprintf(text, second)))
		if err != nil {
			t.Fatal(err)
		}
		j := New(Options{})
		for {
			o, err := in.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch o.Function {
			case exchange.Transfer:
				j.Transfer(o.Outcome)
			case exchange.ReadAccounts:
				r := Read{ID: o.ID(), Process: o.Process, Invoke: o.InvokeTime, Complete: o.CompleteTime}
				for _, a := range o.Accounts {
					r.Accounts = append(r.Accounts, Account{ID: a.ID.String(), Balance: a.Balance, Missing: a.Missing})
				}
				j.Read(&r)
			default:
				j.Unanswered()
			}
		}
		r := j.Result()
		if r.Verdict != want || !strings.Contains(r.Detail, "2 reads of all accounts, 1 transfer") || !strings.Contains(r.Detail, "1 more read") {
			t.Errorf("%v: %s %+v", r.Verdict, r.Detail, r.Evidence)
		}
	}
}

// FuzzJudge gives a judge whatever comes: it must never panic, and must count
// what it lists.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03"), int64(5), true)
	f.Add([]byte("\x03\xff\x80\x00\x02\x00\x7f\x01"), int64(-1), false)
	f.Fuzz(func(t *testing.T, data []byte, sum int64, known bool) {
		j := New(Options{Total: sum, TotalKnown: known})
		for len(data) > 1 {
			kind, n := data[0]%4, int(data[1]%5)
			data = data[2:]
			switch kind {
			case 0:
				j.Transfer(history.Outcome(n))
			case 1:
				j.Unanswered()
			default:
				r := Read{ID: int64(len(data)), Invoke: NoTime, Complete: int64(n)}
				for i := range min(n, len(data)) {
					b := int64(int8(data[i]))
					if b == 127 {
						b = math.MaxInt64
					}
					r.Accounts = append(r.Accounts, Account{ID: fmt.Sprint(i), Balance: b, Missing: b == -128})
				}
				data = data[min(n, len(data)):]
				j.Read(&r)
			}
		}
		r := j.Result()
		if (r.Verdict == check.Violated) != (r.Found > 0) || r.Found < int64(len(r.Evidence)) || r.Found > 0 && len(r.Evidence) == 0 || r.Detail == "" {
			t.Errorf("%v with %d found and %d listed: %q", r.Verdict, r.Found, len(r.Evidence), r.Detail)
		}
	})
}
