package exchange

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"assay/history"
	"assay/internal/expect"
)

func readAll(t *testing.T, text string) ([]Operation, *Reader) {
	t.Helper()
	ops, r, err := tryRead(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, text)
	}
	return ops, r
}

func tryRead(src io.Reader) ([]Operation, *Reader, error) {
	r, err := NewReader(src)
	if err != nil {
		return nil, nil, err
	}
	var ops []Operation
	for {
		op, err := r.Next()
		if err == io.EOF {
			return ops, r, nil
		}
		if err != nil {
			return ops, r, err
		}
		ops = append(ops, *op.Clone())
	}
}

// say writes what an operation did, without times.
func say(o *Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", o.Process, o.Function)
	if o.Keyed {
		fmt.Fprintf(&b, " key %s", o.Key)
	}
	switch o.Function {
	case Transaction:
		for _, m := range o.Txn {
			switch m.Kind {
			case Append:
				fmt.Fprintf(&b, " append %s %s", m.Key, m.Value)
			case Put:
				fmt.Fprintf(&b, " w %s %s", m.Key, m.Value)
			case GetValue:
				fmt.Fprintf(&b, " r %s %s", m.Key, m.Value)
			case GetList:
				fmt.Fprintf(&b, " r %s %v", m.Key, m.List)
			case GetNothing:
				fmt.Fprintf(&b, " r %s", m.Key)
			}
		}
	case CompareAndSet:
		fmt.Fprintf(&b, " %s %s", o.From, o.Value)
	case Transfer:
		fmt.Fprintf(&b, " %s %s %d", o.Movement.From, o.Movement.To, o.Movement.Amount)
	case ReadAccounts:
		for _, a := range o.Accounts {
			if a.Missing {
				fmt.Fprintf(&b, " %s=?", a.ID)
			} else {
				fmt.Fprintf(&b, " %s=%d", a.ID, a.Balance)
			}
		}
	default:
		fmt.Fprintf(&b, " %s", o.Value)
	}
	fmt.Fprintf(&b, " %s", o.Outcome)
	return b.String()
}

func says(ops []Operation) []string {
	all := make([]string, len(ops))
	for i := range ops {
		all[i] = say(&ops[i])
	}
	return all
}

func TestReadsWhatJepsenWrites(t *testing.T) {
	for _, c := range []struct {
		name   string
		text   string
		format Format
		kind   Kind
		want   []string
	}{
		{"list-append, a map a line", `
{:type :invoke, :f :txn, :value [[:r 8 nil] [:append 2 1]], :process 2, :time 123, :index 0}
{:type :invoke, :f :txn, :value [[:append 8 3]], :process 0, :time 130, :index 1}
{:type :info, :f :start, :value nil, :process :nemesis, :time 140, :index 2, :error [1.5 2/3 \a]}
{:type :ok, :f :txn, :value [[:r 8 [1 2]] [:append 2 1]], :process 2, :time 150, :index 3}
{:type :fail, :f :txn, :value [[:append 8 3]], :process 0, :time 160, :index 4, :error [:duplicate "a \"key\"\n\u0041"]}
`, EDN, ListAppend, []string{"2 txn r 8 [1 2] append 2 1 committed", "0 txn append 8 3 failed"}},
		{"records in a vector, over several lines", `; a comment
[#jepsen.history.Op{:index 0,
                    :time 1, :type :invoke, :process 0, :f :txn,
                    :value [[:w :x 1] [:r :y nil]]}
 #jepsen.history.Op{:index 1, :time 2, :type :ok, :process 0, :f :txn,
                    :value [[:w :x 1] [:r :y nil]] :exception #error{:cause "no" :via [{:type java.lang.X}]
                      :trace [[java.lang.Thread run "Thread.java" 833]] :data #{1 2 #{}}}}
 #_ {:type :nonsense} , #_ #_ 1 2
 {:index 2, :time 3, :type :invoke, :process 0, :f :txn, :value [[:r :x nil]]},
 {:index 3, :time 4, :type :ok, :process 0, :f :txn, :value [[:r :x 1N]]}] ; the end
`, EDN, ReadWrite, []string{"0 txn w :x 1 r :y committed", "0 txn r :x 1 committed"}},
		{"a list of maps", `({:type :invoke :f :write :value 3 :process 0}{:type :ok :f :write :value 3 :process 0})`,
			EDN, Register, []string{"0 write 3 committed"}},
		{"a register, with an unknown and an open write", `
{:process 0, :type :invoke, :f :write, :value 1}
{:process 1, :type :invoke, :f :cas, :value [1 2]}
{:process 2, :type :invoke, :f :read}
{:process 0, :type :info, :f :write, :value :timed-out}
{:process 2, :type :ok, :f :read, :value nil}
{:process 5, :type :invoke, :f :read, :value nil}
`, EDN, Register, []string{"0 write 1 unknown", "2 read nil committed", "1 cas 1 2 unknown", "5 read nil unknown"}},
		{"independent keys", `
{:process 0, :type :invoke, :f :write, :value [4 1]}
{:process 1, :type :invoke, :f :read, :value [4 nil]}
{:process 2, :type :invoke, :f :cas, :value [:k [1 2]]}
{:process 1, :type :ok, :f :read, :value #independent/tuple [4 "a"]}
{:process 0, :type :ok, :f :write, :value [4 1]}
{:process 2, :type :fail, :f :cas, :value [:k [1 2]], :error :not-found}
`, EDN, Register, []string{`1 read key 4 "a" committed`, "0 write key 4 1 committed", "2 cas key :k 1 2 failed"}},
		{"a bank", `
{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 0, :type :ok, :f :transfer, :value {:from 1, :to 2, :amount 5}}
{:process 1, :type :ok, :f :read, :value {1 10, 2 -3, "c" nil}}
`, EDN, Bank, []string{"0 transfer 1 2 5 committed", `1 read 1=10 2=-3 "c"=? committed`}},
		{"a bank of old, whose read is a list", `
{:process 0, :type :invoke, :f :read, :value nil}
{:process 0, :type :ok, :f :read, :value [10 11 nil]}
{:process 0, :type :invoke, :f :read, :value nil}
{:process 0, :type :fail, :f :read, :value nil}
`, EDN, Bank, []string{"0 read 0=10 1=11 2=? committed", "0 read nil failed"}},
		{"transactions without a function", `
{:process 0, :type :invoke, :value [[:append 1 5] [:r 2 nil]]}
{:process 1, :type :invoke, :f nil, :value [[:r 1 nil]]}
{:process 0, :type :ok, :value [[:append 1 5] [:r 2 nil]]}
{:process 1, :type :info}
`, EDN, ListAppend, []string{"0 txn append 1 5 r 2 committed", "1 txn r 1 unknown"}},
		{"reads that are invoked with what they will see", `
{:process 0, :type :invoke, :f :read, :value 4}
{:process 1, :type :invoke, :f :read, :value [1 2 3]}
{:process 1, :type :fail, :f :read, :value 9}
{:process 0, :type :ok, :f :read, :value 5}
`, EDN, Register, []string{"1 read nil failed", "0 read 5 committed"}},
		{"behind a byte order mark", "\xef\xbb\xbf" + `{"process":0,"type":"invoke","f":"write","value":1}`, JSON, Register, []string{"0 write 1 unknown"}},
		{"what EDN has else", `{:value [[:r 99999999999999999999 nil] [:w -7 -9223372036854775808] [:w true 5]], :process 0, :type :invoke, :f :txn, :more [#inst "2020-01-01" #uuid "x" ##NaN ##-Inf
 0x1F 1e9 2M -0.5 \newline \, \( #"a\"b" #:ns{:a 1} :ns/key a/b + - <= true false 99999999999999999999]}
{:value [[:r 99999999999999999999 nil] [:w -7 -9223372036854775808] [:w true +5]], :process 0, :type :ok, :f :txn}`,
			EDN, ReadWrite, []string{"0 txn r 99999999999999999999 w -7 -9223372036854775808 w true 5 committed"}},
		{"list-append, JSON lines", `
{"index":0,"time":-1,"type":"invoke","process":2,"f":"txn","value":[["r",8,null],["append",2,1]]}
{"index":1,"time":-1,"type":"info","process":"nemesis","f":"kill","value":{"a":[1.5e3,"\u00e4\ud83d\ude00"]}}
{"index":2,"time":-1,"type":"ok","process":2,"f":"txn","value":[["r",8,[1,2]],["append",2,1]]}
`, JSON, ListAppend, []string{"2 txn r 8 [1 2] append 2 1 committed"}},
		{"a bank, a JSON array", ` [ {"type":"invoke","process":0,"f":"read"} ,
 {"type":"ok","process":0,"f":"read","value":{"1":10,"-2":20,"x":null,"007":1}} ] `,
			JSON, Bank, []string{`0 read 1=10 -2=20 "x"=? "007"=1 committed`}},
		{"a log", "INFO  jepsen.core - Worker 2 starting\n" +
			"INFO  jepsen.util - 0\t:invoke\t:write\t4\n" +
			"INFO  jepsen.util - :nemesis :info :start nil\r\n" +
			"WARN  jepsen.core - Process 3 :ok then crashed\n" +
			"2026-01-02 03:04:05,678{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1  :invoke :cas    [4 2]\r\n" +
			"2\t:invoke\t:read\tnil\n" +
			"INFO  jepsen.util - 1  :info   :cas    :timed-out\n" +
			"INFO  jepsen.util - 0\t:ok\t:write\t4\t[:an :error]\n" +
			"2\t:ok\t:read\t4\n",
			Log, Register, []string{"1 cas 4 2 unknown", "0 write 4 committed", "2 read 4 committed"}},
		{"nothing", "", EDN, NoKind, []string{}},
		{"nothing but comments", " ; nobody did anything\n", EDN, NoKind, []string{}},
		{"an empty vector", " [ ] \n", EDN, NoKind, []string{}},
		{"only the nemesis", "{:process :nemesis, :type :info, :f :kill}", EDN, NoKind, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ops, r := readAll(t, c.text)
			if got := says(ops); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
			if r.Format() != c.format || r.Kind() != c.kind {
				t.Errorf("got %s, %s; want %s, %s", r.Format(), r.Kind(), c.format, c.kind)
			}
			slow, _, err := tryRead(iotest.OneByteReader(strings.NewReader(c.text)))
			if err != nil || !reflect.DeepEqual(slow, ops) {
				t.Errorf("byte by byte: %v, %v", says(slow), err)
			}
		})
	}
}

func TestWhenAndWhere(t *testing.T) {
	ops, _ := readAll(t, `{:process 7, :type :invoke, :f :read, :index 10, :time 100}
{:process :nemesis, :type :info, :f :x, :index 11}
{:process 8, :type :invoke,
 :f :write, :value 1, :index 12, :time 120}
{:process 8, :type :ok, :f :write, :value 1, :index 13, :time 130}
{:process 7, :type :info, :f :read, :index 15}
{:process 9, :type :invoke, :f :read}
`)
	want := []Operation{
		{Line: 3, EndLine: 5, Column: 1, Index: 12, Process: 8, Function: Write, Outcome: history.Committed,
			Invoke: 2, Complete: 3, InvokeTime: 120, CompleteTime: 130, Value: Int64(1)},
		{Line: 1, EndLine: 6, Column: 1, Index: 10, Process: 7, Function: Read, Outcome: history.Unknown,
			Invoke: 0, Complete: 4, InvokeTime: 100, CompleteTime: NoTime},
		{Line: 7, Column: 1, Index: NoIndex, Process: 9, Function: Read, Outcome: history.Unknown,
			Invoke: 5, Complete: Never, InvokeTime: NoTime, CompleteTime: NoTime},
	}
	for i := range ops {
		ops[i].Txn, ops[i].Accounts = nil, nil
	}
	if !reflect.DeepEqual(ops, want) {
		t.Errorf("got\n%+v\nwant\n%+v", ops, want)
	}
	if ops[0].ID() != 12 || ops[2].ID() != 5 {
		t.Errorf("ids %d, %d", ops[0].ID(), ops[2].ID())
	}
}

func TestAProcessGoesOnAfterInfo(t *testing.T) {
	ops, _ := readAll(t, `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :info, :f :write, :value 1}
{:process 0, :type :invoke, :f :write, :value 2}
{:process 0, :type :ok, :f :write, :value nil}`)
	want := []string{"0 write 1 unknown", "0 write 2 committed"}
	if got := says(ops); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestDecidesBeforeTheFirstOperation(t *testing.T) {
	const (
		nothing = `{:process 0, :type :invoke, :f :read} {:process 0, :type :ok, :f :read} {:process 0, :type :invoke, :f :read} {:process 0, :type :fail, :f :read} `
		empty   = `{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]} {:process 0, :type :ok, :f :txn, :value [[:r 1 nil]]} `
	)
	many := strings.Repeat(nothing, lookAhead)
	for _, c := range []struct {
		text string
		want Kind
		ops  int
	}{
		{"", NoKind, 0},
		{"{:process :nemesis, :type :info, :f :kill}", NoKind, 0},
		{nothing, Register, 2},
		{empty, ListAppend, 1},
		{nothing + `{:process 1, :type :invoke, :f :read} {:process 1, :type :ok, :f :read, :value 1} ` + nothing, Register, 5},
		{nothing + `{:process 1, :type :invoke, :f :read} {:process 1, :type :ok, :f :read, :value {1 2}}` + nothing, Bank, 5},
		{nothing + `{:process 1, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 3}}`, Bank, 3},
		{empty + `{:process 1, :type :invoke, :f :txn, :value [[:w 1 2]]}`, ReadWrite, 2},
		{many, Register, 2 * lookAhead},
	} {
		r, err := NewReader(strings.NewReader(c.text))
		expect.NoError(t, err)
		for range 2 {
			if got, err := r.Decide(); got != c.want || err != nil {
				t.Errorf("%.200s: got %s, %v; want %s", c.text, got, err, c.want)
			}
		}
		n := 0
		for _, err = r.Next(); err == nil; _, err = r.Next() {
			n++
		}
		if n != c.ops || err != io.EOF {
			t.Errorf("%.200s: %d operations, %v; want %d", c.text, n, err, c.ops)
		}
	}
	r, err := NewReader(strings.NewReader(nothing + "{"))
	expect.NoError(t, err)
	var bad *FormatError
	if _, err := r.Decide(); !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Errorf("what came before the malformed: %v", err)
		}
	}
	if _, err := r.Next(); !errors.As(err, &bad) {
		t.Errorf("got %v", err)
	}
}

func TestSourceErrorsAreNotMalformedInput(t *testing.T) {
	broken := errors.New("the disk is gone")
	whole := `{:process 0, :type :invoke, :f :write, :value "a` + "\n"
	for cut := range len(whole) {
		_, _, err := tryRead(io.MultiReader(strings.NewReader(whole[:cut]), iotest.ErrReader(broken)))
		var bad *FormatError
		if !errors.Is(err, broken) || errors.As(err, &bad) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	if _, _, err := tryRead(iotest.DataErrReader(strings.NewReader("{:process 0, :type :invoke, :f :read}"))); err != nil {
		t.Errorf("data together with the end: %v", err)
	}
}

func TestMemoryDoesNotGrowWithTheHistory(t *testing.T) {
	const each = 20_000
	src, out := io.Pipe()
	go func() {
		for i := range each {
			_, err := fmt.Fprintf(out, `{:process %d, :type :invoke, :f :txn, :value [[:append 1 %d] [:r 1 nil]]}
{:process %d, :type :ok, :f :txn, :value [[:append 1 %d] [:r 1 [1 2 3 4]]]}
`, i, i, i, i)
			if err != nil {
				return
			}
		}
		out.Close()
	}()
	r, err := NewReader(src)
	expect.NoError(t, err)
	n, kept := 0, 0
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		expect.NoError(t, err)
		n++
		kept = max(kept, len(r.free)+len(r.open), cap(r.source.(*readAhead).now.nodes)/largeBatch, cap(r.source.(*readAhead).now.text)/(8*batchText))
	}
	if n != each || kept > 1 {
		t.Errorf("%d operations, of which %d were kept at a time", n, kept)
	}
	if r.free != nil || r.tree.nodes != nil || r.source != nil {
		t.Error("memory is kept after the end")
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}
