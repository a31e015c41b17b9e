package exchange

import (
	"errors"
	"strings"
	"testing"
)

func TestMalformedHistories(t *testing.T) {
	const (
		invoke = `{:process 0, :type :invoke, :f :read, :value nil}` + "\n"
		txn    = `{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}` + "\n"
	)
	for _, c := range []struct {
		name   string
		bad    string
		line   int
		reason string
		good   string
	}{
		{"cut in a map", invoke + `{:process 0, :type :ok, :f :read`, 2, "cut short",
			invoke + `{:process 0, :type :ok, :f :read}`},
		{"cut in a string", invoke + "\n" + `{:process 0, :error "ab`, 3, "cut short",
			invoke + "\n" + `{:process 0, :type :info, :f :read :error "ab"}`},
		{"cut in a vector", "[" + invoke, 2, "cut short", "[" + invoke + "]"},
		{"something behind the vector", "[" + invoke + "]\n{}", 3, "follows", "[" + invoke + "]\n;"},
		{"an odd map", `{:process 0 :type}`, 1, "no value", `{:process :nemesis :type 1}`},
		{"the wrong bracket", `{:process [0 1), :type :invoke}`, 1, "']' was expected", invoke},
		{"a tag alone", `{:process # 0}`, 1, "without a tag", `{:process #int 0, :type :invoke, :f :read}`},
		{"not a map", invoke + "7", 2, "not a map", invoke},
		{"an unknown escape", `{:process :nemesis :a "\q"}`, 1, "escape", `{:process :nemesis :a "\\q"}`},
		{"a short escape", `{:process :nemesis :a "\u12"}`, 1, "hexadecimal", `{:process :nemesis :a "\u0012"}`},
		{"no number", `{:process 1:2, :type :invoke}`, 1, "not a number", invoke},
		{"metadata", `{:process ^:a 1, :type :invoke}`, 1, "not EDN", invoke},
		{"not UTF-8", "{:process \"\xff\"}", 1, "UTF-8", invoke},
		{"too deep", strings.Repeat("[", 600), 1, "no operation was found", invoke},
		{"too deep inside", `{:process ` + strings.Repeat("[", 600), 1, "levels", invoke},
		{"two processes", `{:process 0, :process 1, :type :invoke, :f :read}`, 1, "twice", invoke},
		{"a process missing", invoke + `{:type :ok, :f :read}`, 2, "without a process", `{:type :invoke, :f :read}`},
		{"a process too many", `{:type :invoke, :f :read}` + "\n" + invoke, 2, "with a process", invoke},
		{"a completion of any of two", `{:type :invoke, :f :write, :value 1} {:type :invoke, :f :write, :value 2}
{:type :info, :f :write}`, 2, "name the process", `{:type :invoke, :f :write, :value 1} {:type :info, :f :write}`},
		{"the beginning cut off", `{:process 0, :type :ok, :f :read, :value 1}` + "\n" + invoke, 2, "cut off", `{:process 0, :type :ok, :f :read, :value 1}`},
		{"a negative process", `{:process -1, :type :invoke, :f :read}`, 1, "from 0 on", invoke},
		{"a process of another kind", `{:process :manager, :type :invoke, :f :read}`, 1, ":manager", invoke},
		{"no type", `{:process 0, :f :read}`, 1, "without a type", invoke},
		{"an unknown type", `{:process 0, :type :maybe, :f :read}`, 1, ":maybe", invoke},
		{"no function", `{:process 0, :type :invoke}`, 1, "function", invoke},
		{"an unknown function", `{:process 1, :type :invoke, :f :cas, :value [1 2]}
{:process 0, :type :invoke, :f :enqueue, :value 1}`, 2, ":enqueue cannot be judged", `{:process 0, :type :invoke, :f :enqueue, :value 1}`},
		{"a function that is no word", `{:process 0, :type :invoke, :f 7}`, 1, "7 is no word", invoke},
		{"an index that is none", `{:process 0, :type :invoke, :f :read, :index 1.5}`, 1, "1.5 is not a whole number", invoke},
		{"a time that is none", `{:process 0, :type :invoke, :f :read, :time "x"}`, 1, "nanoseconds", invoke},
		{"indices out of order", `{:process 0, :type :invoke, :f :read, :index 3}
{:process 0, :type :ok, :f :read, :index 3, :value 1}`, 2, "index 3 comes after index 3", `{:process 0, :type :invoke, :f :read, :index 3}
{:process 0, :type :ok, :f :read, :index 4, :value 1}`},
		{"two at once", invoke + invoke, 2, "line 1 is not completed", invoke},
		{"completed twice", invoke + `{:process 0, :type :fail, :f :read}
{:process 0, :type :fail, :f :read}`, 3, "has not invoked", invoke + `{:process 0, :type :fail, :f :read}`},
		{"another function", invoke + `{:process 0, :type :ok, :f :write, :value 1}`, 2, "is a read", invoke},
		{"another write", `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 2}`, 2, "another write", `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}`},
		{"a transaction that is no list", `{:process 0, :type :invoke, :f :txn, :value 5}`, 1, "not a list", txn},
		{"no answer of a transaction", txn + `{:process 0, :type :ok, :f :txn}`, 2, "not a list", txn},
		{"a step that is no list", `{:process 0, :type :invoke, :f :txn, :value [:r]}`, 1, ":r where", txn},
		{"a step of two", `{:process 0, :type :invoke, :f :txn, :value [[:w 1]]}`, 1, "three parts", txn},
		{"a step of four", `{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil nil]]}`, 1, "three parts", txn},
		{"an unknown step", `{:process 0, :type :invoke, :f :txn, :value [[:inc 1 1]]}`, 1, ":inc is not", txn},
		{"a ratio", `{:process 0, :type :invoke, :f :txn, :value [[:w 1 2/3]]}`, 1, "2/3 is no key or value", txn},
		{"a key that is a list", `{:process 0, :type :invoke, :f :txn, :value [[:w [1] 2]]}`, 1, "a list is no key", txn},
		{"a list in a list", `{:process 0, :type :invoke, :f :txn, :value [[:r 1 [[2]]]]}`, 1, "a list is no key", txn},
		{"a transfer of nothing", `{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2}}`, 1, "amount",
			`{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 1}}`},
		{"a transfer of a part", `{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 0.5}}`, 1, "0.5",
			`{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 5}}`},
		{"a balance beyond all", invoke + `{:process 0, :type :ok, :f :read, :value {1 9223372036854775808}}`, 2, "64 bits",
			invoke + `{:process 0, :type :ok, :f :read, :value {1 9223372036854775807}}`},
		{"the wrong key", `{:process 0, :type :invoke, :f :read, :value [1 nil]}
{:process 0, :type :ok, :f :read, :value [2 5]}`, 2, "the key 2", `{:process 0, :type :invoke, :f :read, :value [1 nil]}
{:process 0, :type :ok, :f :read, :value [1 5]}`},
		{"no key", `{:process 0, :type :invoke, :f :read, :value [1 nil]}
{:process 0, :type :ok, :f :read, :value 5}`, 2, "[key value]", invoke},
		{"a cas of one", `{:process 0, :type :invoke, :f :cas, :value 5}`, 1, "[from to]",
			`{:process 0, :type :invoke, :f :cas, :value [5 6]}`},
		{"a write of nothing", `{:process 0, :type :invoke, :f :write}`, 1, "without a value",
			`{:process 0, :type :invoke, :f :write, :value nil}`},
		{"fewer steps than asked for", txn + `{:process 0, :type :ok, :f :txn, :value []}`, 2, "of 1 operations on line 1 and is answered with 0",
			txn + `{:process 0, :type :ok, :f :txn, :value [[:r 1 5]]}`},
		{"another key than asked for", txn + `{:process 0, :type :ok, :f :txn, :value [[:r 2 nil]]}`, 2, "operation 1 of the transaction is not the one",
			txn + `{:process 0, :type :ok, :f :txn, :value [[:r 1 [2]]]}`},
		{"a write in place of a read", txn + `{:process 0, :type :ok, :f :txn, :value [[:w 1 2]]}`, 2, "operation 1 of the transaction is not the one",
			txn + `{:process 0, :type :ok, :f :txn, :value [[:r 1 2]]}`},
		{"another element than asked for", `{:process 0, :type :invoke, :f :txn, :value [[:append 1 1] [:append 1 2]]}
{:process 0, :type :ok, :f :txn, :value [[:append 1 1] [:append 1 3]]}`, 2, "operation 2 of the transaction is not the one",
			`{:process 0, :type :invoke, :f :txn, :value [[:append 1 1] [:append 1 2]]}
{:process 0, :type :ok, :f :txn, :value [[:append 1 1] [:append 1 2]]}`},
		{"two kinds", txn + `{:process 0, :type :ok, :f :txn, :value [[:r 1 nil]]}
{:process 1, :type :invoke, :f :write, :value 1}
{:process 1, :type :ok, :f :write, :value 1}`, 3, "another kind", txn + `{:process 0, :type :ok, :f :txn, :value [[:r 1 nil]]}`},
		{"a completion of another function", `{:process 1, :type :invoke, :f :drain}
{:process 1, :type :ok, :f :dequeue, :value 1}`, 2, "process 1 completes a dequeue, but what it invoked on line 1 is a drain", `{:process 1, :type :invoke, :f :dequeue}
{:process 1, :type :ok, :f :dequeue, :value 1}`},
		{"a completion of another known function", invoke + `{:process 0, :type :ok, :f :enqueue, :value 1}`, 2, "completes an enqueue, but what it invoked on line 1 is a read", invoke + `{:process 0, :type :ok, :f :read, :value 1}`},
		{"a list in a register", `{:process 0, :type :invoke, :f :read}
{:process 0, :type :ok, :f :read, :value [1 2 3]}
{:process 0, :type :invoke, :f :write, :value 1}`, 3, "a write in a history of another kind, bank, as which it began on line 1", invoke + `{:process 0, :type :ok, :f :read, :value 1}
{:process 0, :type :invoke, :f :write, :value 1}`},
		{"a bank among registers", `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 1, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 1}}`, 3, "another kind", invoke},
		{"nothing but zeros", "\x00\x00\x00\x00\x00", 1, "byte 0 of", ""},
		{"a zeroed tail", invoke + "\x00\x00\x00\x00", 2, "byte 50 of", invoke},
		{"zeros between events", invoke + "\x00\x00" + `{:process 0, :type :ok, :f :read}`, 2, "byte 50 of", invoke + `{:process 0, :type :ok, :f :read}`},
		{"zeros behind the list", "[" + invoke + "]\x00", 2, "byte 52 of", "[" + invoke + "]"},
		{"zeros inside an event", `{:process 0, :type` + "\x00 :invoke}", 1, "byte 18 of", invoke},
		{"zeros in place of a bracket", `{:process [0` + "\x00", 1, "byte 12 of", invoke},
		{"zeros in a comment", invoke + "; the end\x00", 2, "byte 59 of", invoke + "; the end"},
		{"a zeroed tail of JSON lines", `{"process":0,"type":"invoke","f":"read"}` + "\n\x00", 2, "byte 41 of", `{"process":0,"type":"invoke","f":"read"}` + "\n"},
		{"zeros in a JSON array", `[{"process":0,"type":"invoke","f":"read"}` + "\x00", 1, "byte 41 of", `[{"process":0,"type":"invoke","f":"read"}]`},
		{"a zeroed tail of a log", "0 :invoke :read nil\n\x00\x00", 2, "byte 20 of", "0 :invoke :read nil\n"},
		{"in the middle of a line", `[{:process 0, :type :invoke, :f :read, :value nil} {:process 0, :type :ok, :f :enqueue}]`, 1, "completes an enqueue", invoke},
		{"a control character as a blank", invoke + "\x01", 2, `'\x01'`, invoke + "\x1c"},
		{"no function, and no transaction", `{:process 0, :type :invoke, :value [1 2]}`, 1, "function", `{:process 0, :type :invoke, :value [[:append 1 2]]}`},
		{"a completion without a function, of a read", invoke + `{:process 0, :type :ok, :value 5}`, 2, "function", invoke + `{:process 0, :type :ok, :f :read, :value 5}`},
		{"one account twice", invoke + `{:process 0, :type :ok, :f :read, :value {1 5, 1 15}}`, 2, "account 1 twice",
			invoke + `{:process 0, :type :ok, :f :read, :value {1 5, 2 15}}`},
		{"one account twice, in two ways", invoke + `{:process 0, :type :ok, :f :read, :value {1 5, 2 5, "1" 15}}`, 2, "account 1 twice",
			invoke + `{:process 0, :type :ok, :f :read, :value {1 5, :1 15}}`},
		{"two amounts", `{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 1, :amount 2}}`, 1, ":amount twice",
			`{:process 0, :type :invoke, :f :transfer, :value {:from 1, :to 2, :amount 1, :note 2}}`},
		{"a key that is none", `{:process 0, :type :invoke, :f :write, :key [1], :value 1}`, 1, "a list is no key", `{:process 0, :type :invoke, :f :write, :key 1, :value 1}`},
		{"a key of the completion alone", `{:process 0, :type :invoke, :f :add, :value 1}
{:process 0, :type :info, :f :add, :key 7, :value 1}`, 2, "an add names the key 7, and its invocation on line 1 names none", `{:process 0, :type :invoke, :f :add, :value 1}
{:process 0, :type :info, :f :add, :key nil, :value 1}`},
		{"a completion with another key", `{:process 0, :type :invoke, :f :add, :key 7, :value 1}
{:process 0, :type :fail, :f :add, :key 8, :value 1}`, 2, "an add of the key 7, invoked on line 1, is answered for the key 8", `{:process 0, :type :invoke, :f :add, :key 7, :value 1}
{:process 0, :type :fail, :f :add, :value 1}`},
		{"a transaction answered for another key", `{:process 0, :type :invoke, :f :txn, :key 7, :value [[:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :key 8, :value [[:r 1 [2]]]}`, 2, "answered for the key 8", `{:process 0, :type :invoke, :f :txn, :key 7, :value [[:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :key 7, :value [[:r 1 [2]]]}`},
		{"a write of nil", `{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil] [:w 1 nil]]}`, 1, "a write of nil to the register 1",
			`{:process 0, :type :invoke, :f :txn, :value [[:append 1 nil]]} {:process 0, :type :ok, :f :txn, :value [[:append 1 nil]]}`},
		{"a write of nil in JSON", `{"process":0,"type":"ok","value":[["w","x",null]]}`, 1, `a write of nil to the register "x"`, `{"process":0,"type":"ok","value":[["w","x",0]]}`},
		{"a set for a list", `{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :value [[:r 1 #{1 2}]]}`, 2, "a set, which has no order, where the list that was read from 1", `{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}
{:process 0, :type :ok, :f :txn, :value [[:r 1 (1 2)]]}`},
		{"a set of steps", `{:process 0, :type :invoke, :f :txn, :value #{[:r 1 nil] [:append 1 2]}}`, 1, "a transaction whose value is not a list", txn},
		{"a set to compare and set", `{:process 0, :type :invoke, :f :cas, :value #{1 2}}`, 1, "a cas of a set", `{:process 0, :type :invoke, :f :cas, :value [1 2]}`},
		{"a log without operations", "Everything looks good\n", 1, "no operation", "0 :invoke :read nil\n"},
		{"a log cut in its last line", "0 :invoke :read nil\n0 :ok :read 1", 2, "cut short", "0 :invoke :read nil\n0 :ok :read 12\n"},
		{"a log without a value", "0 :invoke :read nil\n0 :ok :read\n", 2, "without a value", "0 :invoke :read nil\n0 :ok :read nil\n"},
		{"a broken value in a log", "0 :invoke :write 1\n1 :invoke :cas [1 2\n", 2, "cut short",
			"0 :invoke :write 1\n1 :invoke :cas [1 2]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := tryRead(strings.NewReader(c.bad))
			var bad *FormatError
			if !errors.As(err, &bad) {
				t.Fatalf("got %v", err)
			}
			if bad.Line != c.line || !strings.Contains(bad.Reason, c.reason) {
				t.Errorf("got %v; want line %d, ...%s...", err, c.line, c.reason)
			}
			if _, _, err := tryRead(strings.NewReader(c.good)); err != nil {
				t.Errorf("the good one: %v", err)
			}
		})
	}
}

func TestMalformedJSON(t *testing.T) {
	const good = `{"process":0,"type":"invoke","f":"read","value":null}`
	if _, _, err := tryRead(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for bad, reason := range map[string]string{
		`{"process":0,}`:              "not a string",
		`{"process" 0}`:               "no colon",
		`{"process":[0 1]}`:           "a comma",
		`{"process":[0,]}`:            "a value was expected",
		`{"process":01}`:              "not a number",
		`{"process":1.}`:              "not a number",
		`{"process":1e}`:              "not a number",
		`{"process":-}`:               "not a number",
		`{"process":nul}`:             "not JSON",
		`{"process":"` + "\x01" + `"`: "control character",
		`{"process":"\x"}`:            "escape",
		`{"process":"\101"}`:          "escape",
		`{"process":"` + "\xff" + `"`: "UTF-8",
		`[` + good + ` ` + good + `]`: "a comma or the end",
		`[` + good + `,]`:             "a value was expected",
		`[` + good:                    "cut short",
		good[:len(good)-1]:            "cut short",
		`{"process":0.5}`:             "0.5",
		`{"process":true}`:            "true",
	} {
		_, _, err := tryRead(strings.NewReader(bad))
		var malformed *FormatError
		if !errors.As(err, &malformed) || malformed.Line != 1 || !strings.Contains(malformed.Reason, reason) {
			t.Errorf("%s: got %v; want ...%s...", bad, err, reason)
		}
	}
}

// An error names the line and the column: of the operation, or of what is no form.
func TestColumns(t *testing.T) {
	for text, want := range map[string]string{
		`[{:process 0, :type :invoke, :f :read} {:process 0, :type :ok, :f :add}]`:          "line 1, column 40: process 0 completes an add",
		"{:process 0, :type :invoke, :f :read}\n  {:process 0, :type :ok, :f :add}":         "line 2, column 3: process 0 completes",
		"{:process 0, :type :invoke, :f :read}\r\n{:process 0, :type :ok, :f :add}":         "line 2: process 0 completes",
		"{:process 0,\n :type ^:invoke}":                                                    "line 2, column 16: \"^:invoke\" is not EDN",
		`[{"process":0,"type":"invoke","f":"read"}, {"process":0 "type":"ok"}]`:             "line 1, column 57: found '\"'",
		"INFO util - 0 :invoke :read nil\nINFO util - 0 :ok :write 5\n":                     "line 2, column 13: process 0 completes",
		"INFO util - 0 :invoke :read nil\nINFO util - 0 :ok :read ]\n":                      "line 2, column 25: found ']'",
		strings.Repeat(" ", 300_000) + `{:process 0, :type :invoke, :f :read} {:process 0}`: "line 1, column 300039: an operation without a type",
	} {
		_, _, err := tryRead(strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`[{:process 0, :type :invoke, :f :txn, :value [[:append 1 1]]} {:process 0, :type :ok, :f :txn, :value [[:append 1 1]]}]`: "line 1, column 63: a txn as a history of kind list-append has it",
		"{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil]]}\n {:process 0, :type :ok, :f :txn, :value [[:r 1 [1]]]}":       "line 2, column 2: a txn as",
		" {:process 1, :type :invoke, :f :txn, :value [[:append 1 1]]}":                                                           "line 1, column 2: a txn as",
	} {
		r, err := NewReader(strings.NewReader(text))
		if err == nil {
			r.Typed(ReadWrite)
		}
		for err == nil {
			_, err = r.Next()
		}
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
