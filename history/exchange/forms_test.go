package exchange

import (
	"fmt"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// told describes operations in short: process, beginning and end, outcome and steps.
func told(t *testing.T, text string) string {
	t.Helper()
	ops, r, err := tryRead(strings.NewReader(text))
	expect.NoError(t, err)
	var all []string
	for i := range ops {
		o := &ops[i]
		end := "-"
		if o.Complete != Never {
			end = fmt.Sprint(o.Complete)
		}
		edn := eventText{edn: true}
		edn.value(o, o.Outcome == history.Committed)
		name := o.Word
		if name == "" {
			name = o.Function.String()
		}
		all = append(all, fmt.Sprintf("%d %d-%s %s %s %s", o.Process, o.Invoke, end, o.Outcome, name, edn.buf))
	}
	return fmt.Sprintf("%v %t %t: ", r.Kind(), r.Unnamed(), r.Uninvoked()) + strings.Join(all, "; ")
}

func TestFormsOfHistories(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// Completions without invocations: each began at any time after the process's previous one.
		{`{:process 0 :type :ok :value [[:append :a 1] [:r :b [1]]]} {:process 1 :type :info :value [[:append :b 1] [:r :a [1]]]} {:process 0 :type :fail :value [[:append :a 2]]}`,
			"list-append false true: 0 0-1 committed txn [[:append :a 1] [:r :b [1]]]; 1 0-3 unknown txn [[:append :b 1] [:r :a nil]]; 0 2-5 failed txn [[:append :a 2]]"},
		{`{:process 0, :type :info, :f :txn, :value [[:append 3 1] [:r 2 [1]]]} {:process 0, :type :ok, :f :txn, :value [[:r 3 [1]]]}`,
			"list-append false true: 0 0-1 unknown txn [[:append 3 1] [:r 2 nil]]; 0 2-3 committed txn [[:r 3 [1]]]"},
		{`{"process":0,"type":"ok","value":[["w",1,2]]} {"process":1,"type":"ok","value":[["r",1,2]]}`,
			"rw-register false true: 0 0-1 committed txn [[:w 1 2]]; 1 0-3 committed txn [[:r 1 2]]"},
		{`{:process 0 :type :ok :f :add :value 1} {:process 1 :type :ok :f :read :value #{1}}`,
			"other false true: 0 0-1 committed add 1; 1 0-3 committed read #{1}"},
		{`{:process 0 :type :ok :f :write :value 1} {:process 1 :type :ok :f :read :value 1} {:process 0 :type :fail :f :cas :value [1 2]}`,
			"register false true: 0 0-1 committed write 1; 1 0-3 committed read 1; 0 2-5 failed cas [1 2]"},
		{`{:process 0 :type :ok :f :transfer :value {:from 1 :to 2 :amount 5}} {:process 1 :type :ok :f :read :value {1 5 2 5}}`,
			"bank false true: 0 0-1 committed transfer {:from 1, :to 2, :amount 5}; 1 0-3 committed read {1 5, 2 5}"},

		// No process: each operation has one of its own.
		{`{:type :invoke :value [[:w :x 1]]} {:type :invoke :value [[:r :x nil]]} {:type :ok :value [[:r :x 1]]} {:type :ok :value [[:w :x 1]]}`,
			"rw-register true false: 1 1-2 committed txn [[:r :x 1]]; 0 0-3 committed txn [[:w :x 1]]"},
		{`{:type :invoke :value [[:r :x]]} {:type :invoke :value [[:r :x]]} {:type :ok :value [[:r :x 1]]} {:type :ok :value [[:r :x 2]]}`,
			"rw-register true false: 1 0-2 committed txn [[:r :x 1]]; 0 0-3 committed txn [[:r :x 2]]"},
		{`{:process nil :type :invoke :f :write :value 1} {:type :invoke :f :read :value nil} {:type :info :f :write} {:type :ok :f :read :value 1}`,
			"register true false: 0 0-2 unknown write 1; 1 1-3 committed read 1"},
		{`{:type :ok :value [[:append :a 1]]} {:process :nemesis :type :info :f :kill} {:type :ok :value [[:r :a [1]]]}`,
			"list-append true true: 0 0-1 committed txn [[:append :a 1]]; 1 0-4 committed txn [[:r :a [1]]]"},
		{`{:type :invoke :f :enqueue :value 1} {:type :invoke :f :enqueue :value 2} {:type :fail :f :enqueue :value 1} {:type :invoke :f :dequeue} {:type :ok :f :dequeue :value 2}`,
			"other true false: 0 0-2 failed enqueue 1; 2 3-4 committed dequeue 2; 1 1-- unknown enqueue 2"},

		// Transactions with any name, and all words for their steps.
		{`{:process 0 :type :invoke :f :transact :value [[:append 1 2]]} {:process 0 :type :info :f :transact} {:process 1 :type :invoke :f :transact :value []} {:process 1 :type :ok :f :transact :value []}`,
			"list-append false false: 0 0-1 unknown transact [[:append 1 2]]; 1 2-3 committed transact []"},
		{`{:process 0 :type :invoke :f :write :value [[:w 1 2]]} {:process 0 :type :ok :f :write :value [[:w 1 2]]} {:process 0 :type :invoke :f :txn :value [[:r 1] [:w 1 3]]} {:process 0 :type :ok :f :txn :value [[:r 1] [:w 1 3]]}`,
			"rw-register false false: 0 0-1 committed write [[:w 1 2]]; 0 2-3 committed txn [[:r 1 nil] [:w 1 3]]"},
		{`{:process 0 :type :invoke :f "my/txn" :value (["read" :ns/k nil] ("append" #uuid "a-b" 2))} {:process 0 :type :ok :f :my/txn :value [[:r :ns/k [nil true -1N]] [:append "a-b" 2]]}`,
			`list-append false false: 0 0-1 committed my/txn [[:r :ns/k [nil true -1]] [:append "a-b" 2]]`},
		{`{:process 0 :type :invoke :f :cas :value [7 [[:w 1 2]]]} {:process 0 :type :ok :f :cas :value [7 [[:w 1 2]]]}`,
			"rw-register false false: 0 0-1 committed cas [7 [[:w 1 2]]]"},

		// Independent keys, as records and as entries of maps.
		{`#jepsen.history.Op{:process 0 :type :invoke :f :txn :value #jepsen.independent.Tuple{:key 7 :value [[:w 1 2]]}} ; a comment
#_ {:process 9} #jepsen.history.Op{:process 0 :type :ok :f :txn :value #jepsen/tuple [7 [[:w 1 2]]]}`,
			"rw-register false false: 0 0-1 committed txn [7 [[:w 1 2]]]"},
		{`[{:process 0 :type :invoke :f :read :value #jepsen.independent.Tuple[3 nil]}, {:process 0 :type :ok :f :read :value #jepsen.independent.Tuple{:k 3 :v {1 10}}}]`,
			"bank false false: 0 0-1 committed read [3 {1 10}]"},

		// A key in a field of its own.
		{`{:process 0, :type :invoke, :f :append, :key "7", :value "p"} {:process 0, :type :ok, :f :append, :key "7", :value "p"}`,
			`other false false: 0 0-1 committed append ["7" "p"]`},
		{`{:process 0 :type :invoke :f :write :key "x" :value 1} {:process 0 :type :ok :f :write :value 1} {:process 0 :type :invoke :f :read :key "y"} {:process 0 :type :ok :f :read :key "y" :value 2}`,
			`register false false: 0 0-1 committed write ["x" 1]; 0 2-3 committed read ["y" 2]`},
		{`{:process 0 :type :invoke :f :cas :key 3 :value [1 2]} {:process 0 :type :ok :f :cas :key 3 :value [1 2]}`,
			"register false false: 0 0-1 committed cas [3 [1 2]]"},
		{`{:process 0 :type :invoke :f :txn :key 7 :value [[:append 1 2]]} {:process 0 :type :ok :f :txn :key 7 :value [[:append 1 2]]} {:process 0 :type :invoke :key 8 :value [[:r 1 nil]]} {:process 0 :type :ok :value [[:r 1 [2]]]}`,
			"list-append false false: 0 0-1 committed txn [7 [[:append 1 2]]]; 0 2-3 committed txn [8 [[:r 1 [2]]]]"},
		{`{:process 0 :type :invoke :f :transfer :key 7 :value {:from 1 :to 2 :amount 5}} {:process 0 :type :info :f :transfer :key 7} {:process 1 :type :invoke :f :read :key 7} {:process 1 :type :ok :f :read :key 7 :value {1 5}}`,
			"bank false false: 0 0-1 unknown transfer [7 {:from 1, :to 2, :amount 5}]; 1 2-3 committed read [7 {1 5}]"},
		{`{:process 0 :type :ok :f :read :key 7 :value 5} {:process 1 :type :ok :f :write :key 7 :value 5}`,
			"register false true: 0 0-1 committed read [7 5]; 1 0-3 committed write [7 5]"},
		{`{:process 0 :type :invoke :f :add :key 7 :value [1 2]} {:process 0 :type :ok :f :add :value [1 2]}`,
			"other false false: 0 0-1 committed add [7 [1 2]]"},

		// A string that is a whole number names an account as the number does: JSON has no other names.
		{`{"process":0,"type":"invoke","f":"transfer","value":{"from":"1","to":"01","amount":5}} {"process":0,"type":"ok","f":"transfer","value":{"from":"1","to":"01","amount":5}} {"process":0,"type":"invoke","f":"read"} {"process":0,"type":"ok","f":"read","value":{"1":5,"01":-5}}`,
			`bank false false: 0 0-1 committed transfer {:from 1, :to "01", :amount 5}; 0 2-3 committed read {1 5, "01" -5}`},
	} {
		if got := told(t, c.text); got != c.want {
			t.Errorf("%s\nis   %s\nwant %s", c.text, got, c.want)
		}
	}
}

// A history is read as the requested kind, or the error names the line that does not fit.
func TestKindsThatAreAskedFor(t *testing.T) {
	const read = `{:process 0 :type :invoke :f :txn :value [[:read 1 nil]]} {:process 0 :type :ok :f :txn :value [[:read 1 nil]]}`
	for _, c := range []struct {
		text string
		kind Kind
		says string
	}{
		{read, ReadWrite, ""},
		{read, ListAppend, ""},
		{"\n" + `{:process 0 :type :invoke :f :a :value [[:w 1 2]]}`, ListAppend, "line 2: an a as a history of kind rw-register has it, which cannot be read as one of kind list-append"},
		{"\n" + `{:process 0 :type :invoke :f :read :value [[:w 1 2]]} {:process 0 :type :ok :f :read :value [[:w 1 2]]}`, ReadWrite, ""},
		{"\n" + `{:process 0 :type :invoke :f :read} {:process 0 :type :ok :f :read :value 3}`, ReadWrite, "line 2: a transaction whose value is not a list"},
		{`{:process 0 :type :invoke :f :read} {:process 0 :type :info :f :read}`, Bank, ""},
		{`{:process 0 :type :invoke :f :read}` + "\n" + `{:process 0 :type :ok :f :read :value 3}`, Bank, "line 2: a read as a history of kind register has it"},
		{`{:process 0 :type :invoke :f :transfer :value {:from 1 :to 2 :amount 3}}`, Register, "line 1: a transfer as a history of kind bank has it"},
	} {
		r, err := NewReader(strings.NewReader(c.text))
		expect.NoError(t, err)
		r.Typed(c.kind)
		kind, err := r.Decide()
		for err == nil {
			_, err = r.Next()
		}
		if c.says == "" && kind == c.kind && err.Error() == "EOF" || c.says != "" && strings.Contains(err.Error(), c.says) {
			continue
		}
		t.Errorf("%s as %v: %v, %v; want %s", c.text, c.kind, kind, err, c.says)
	}
}
