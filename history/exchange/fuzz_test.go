package exchange

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzRead gives the reader arbitrary bytes. It must not panic, and must say where it cannot read.
// What it can read must survive being written and read again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{:type :invoke, :f :txn, :value [[:r 8 nil] [:append "x" 1N]], :process 2, :time 123, :index 0}
{:type :ok, :f :txn, :value [[:r 8 [1 2]] [:append "x" 1N]], :process 2, :time 124, :index 1}`,
		`[#jepsen.history.Op{:process 0 :type :invoke :f :write :value [:k 1]} #_#{1 2/3} ;c
{:process 0 :type :info :f :write :value \a}]`,
		`{:process 1, :type :invoke, :f :read} {:process 1, :type :ok, :f :read, :value {1 10, "a\n" nil}}`,
		`{"type":"invoke","process":0,"f":"cas","value":[4,[null,"\u00e4\ud83d"]]}`,
		`[{"type":"invoke","process":0,"f":"transfer","value":{"from":1,"to":2,"amount":3}},{"type":"fail","process":0,"f":"transfer"}]`,
		`{:process 0 :type :ok :value [[:append :a 1] [:r :b]]} {:process 1 :type :info :f :t :value [[:r :a [1]]]} {:process 0 :type :fail :f :t :value [[:r :a 1]]}`,
		`{:type :invoke :f :enqueue :value 1} {:type :invoke :f :drain} {:type :ok :f :drain :value [1 2]} {:type :info :f :enqueue :value 1}`,
		`{:process 1 :type :invoke :f :drain} {:process 1 :type :invoke :f :dequeue} {:process 1 :type :ok :f :dequeue :value 2} {:process 1 :type :ok :f :drain :value :exhausted}`,
		`{:process 0 :type :invoke :f :x :value #a.Tuple{:key 1 :value [[:write 1 2]]}} {:process 0 :type :fail :f :x}`,
		"INFO  jepsen.util - 0\t:invoke\t:write\t4\nINFO - 0 :info :write :timed-out\n",
		`{:type :invoke :process 0 :f :txn :value [[:w 8 -3], [:r 9 999999999999999999]]} ; why
{:type :info, :process :nemesis, :f :kill, :value {:a "}"}} {:index 6, :type :fail, :process 0, :f :txn, :value [[:w 8 -3] [:r 9 nil]], :error "a
b"}`,
		`{"f":"send","index":0,"type":"invoke","process":0,"value":[["send",1,7]]} { "index" : 1,"type":"ok","process":0,"f":"send","value":[["send",1,[0,7]]]}`,
		`{:process 0 :type :invoke :f :e :value[]}{:process 0 :type :info :f :e}`,
		`{:process 0 :type :invoke :f :e :value[]}{:process 0 :type :info :f :e :value[]}`,
		`{:process 0 :type :invoke :f :e :value[]}{:process 0 :type :ok :f :e :value nil}`,
		`{:type :invoke :f :0 :value[[r]]}`, `{:type :invoke :f :0 :value[[r 1]]}`, `{:type :invoke :f :0 :value[#{r}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, r, err := tryRead(bytes.NewReader(data))
		if err != nil {
			var bad *FormatError
			if !errors.As(err, &bad) || bad.Line < 1 || bad.Line > 1+bytes.Count(data, []byte("\n")) || bad.Reason == "" {
				t.Fatalf("not a proper error: %v", err)
			}
			if r != nil {
				if _, again := r.Next(); again == nil || again == io.EOF {
					t.Fatalf("after %v: %v", err, again)
				}
			}
			return
		}
		var processes int64 = 1
		for i := range ops {
			ops[i].Process %= 1 << 40
			processes = max(processes, ops[i].Process+1)
		}
		if !distinct(ops) {
			return // two processes fell together
		}
		text := write(t, Output{Format: EDN, Processes: processes, Window: span(ops)}, ops)
		again, _, err := tryRead(bytes.NewReader([]byte(text)))
		if err != nil {
			t.Fatalf("%v\nin what was written:\n%s", err, text)
		}
		for i := range ops {
			forget(&ops[i])
		}
		sameOps(t, ops, again, processes)
		text = write(t, Output{Format: JSON, Processes: processes, Window: span(ops)}, ops)
		// JSON has no sets and no symbols: who knows the kind must name it.
		if n, err := count(text, r.Kind()); err != nil || n != len(ops) {
			t.Fatalf("%d operations became %d (%v) in JSON:\n%s", len(ops), n, err, text)
		}
	})
}

// count returns the number of operations of a history, read as written if that is its kind.
func count(text string, kind Kind) (n int, err error) {
	r, err := NewReader(strings.NewReader(text))
	if err != nil {
		return 0, err
	}
	if kind == AsWritten {
		r.Untyped()
	}
	for {
		if _, err := r.Next(); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
	}
}

// forget drops what a history does not keep: the reads of an unacknowledged transaction.
func forget(o *Operation) {
	if o.Outcome.String() == "committed" {
		return
	}
	for i := range o.Txn {
		if m := &o.Txn[i]; m.Kind == GetList || m.Kind == GetValue {
			*m = MicroOp{Kind: GetNothing, Key: m.Key}
		}
	}
}

// distinct reports whether no process does two operations at once.
func distinct(ops []Operation) bool {
	for i := range ops {
		for j := range i {
			a, b := &ops[i], &ops[j]
			if a.Process == b.Process && a.Invoke < b.Complete && b.Invoke < a.Complete {
				return false
			}
		}
	}
	return true
}
