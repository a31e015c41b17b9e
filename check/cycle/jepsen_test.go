package cycle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"assay/check"
	. "assay/check/cycle"
	"assay/check/cycle/internal/simdb"
	"assay/history"
)

func TestReadJepsenForms(t *testing.T) {
	for _, c := range []struct {
		name, text string
		found      string // anomalies under strict serializability
		verdict    check.Verdict
		size       Size
	}{
		{"numbers", `{"index":0,"type":"invoke","process":0,"value":[["append",1,1]]}
{"index":1,"type":"ok","process":0,"value":[["append",1,1]]}
{"index":2,"type":"invoke","process":1,"value":[["r",1,null]]}
{"index":3,"type":"ok","process":1,"value":[["r",1,null]]}
`, "G-single-item-realtime", check.Violated, Size{Transactions: 2, Committed: 2, Operations: 2, Keys: 1}},
		{"strings, blanks, colons, other order", `
 { "process" : 0 , "value" : [ [ ":append" , "k\u00e9y" , "\"a\"" ] ] , "type" : ":invoke" }

{"time":1.5e3,"error":{"a":[true,false,null,-0.5]},"process":0,"value":[["append","kéy","\"a\""]],"type":"ok"}
{"process":0,"value":[["r","kéy",null]],"type":"invoke","f":"txn"}
{"process":0,"value":[["r","kéy",["\"a\""]]],"type":"ok"}`,
			"", check.Valid, Size{Transactions: 2, Committed: 2, Operations: 2, Keys: 1}},
		{"the number 1 is not the string 1", `{"type":"invoke","process":0,"value":[["append","1",7]]}
{"type":"ok","process":0,"value":[["append","1",7]]}
{"type":"invoke","process":0,"value":[["r",1,null]]}
{"type":"ok","process":0,"value":[["r",1,null]]}`,
			"", check.Unknown, Size{Transactions: 2, Committed: 2, Operations: 2, Keys: 2}},
		{"failed, indefinite, never ended, nemesis", `{"type":"info","process":"nemesis","f":"kill","value":{"n1":"killed"}}
{"type":"invoke","process":0,"value":[["append",1,1]]}
{"type":"invoke","process":1,"value":[["append",1,2],["r",2,null]]}
{"type":"invoke","process":2,"value":[["append",1,3]]}
{"type":"invoke","process":3,"value":[["r",1,null]]}
{"type":"fail","process":0,"value":"deadlock"}
{"type":"info","process":1}
{"type":"ok","process":3,"value":[["r",1,[1,2,3]]]}`,
			"G1a", check.Violated, Size{Transactions: 4, Committed: 1, Unknown: 2, Operations: 4, Keys: 1}},
		{"registers", `{"type":"invoke","process":0,"value":[["w","x",1],["r","y",null]]}
{"type":"invoke","process":1,"value":[["w","y",1],["r","x",null]]}
{"type":"ok","process":0,"value":[["w","x",1],["r","y",null]]}
{"type":"ok","process":1,"value":[["w","y",1],["r","x",null]]}`,
			"G2-item", check.Violated, Size{Transactions: 2, Committed: 2, Operations: 4, Keys: 2}},
		{"empty", "", "", check.Unknown, Size{}},
		{"no operations", `{"type":"invoke","process":0,"value":[]}
{"type":"ok","process":0,"value":[]}`, "", check.Unknown, Size{Transactions: 1, Committed: 1}},
	} {
		h, err := ReadJepsen(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := Check(context.Background(), h, StrictSerializable, Options{})
		checkReport(t, c.name, r)
		r.Size.Dependencies, r.Size.Components = 0, 0
		if got := strings.Join(r.Anomalies, " "); got != c.found || r.Verdict != c.verdict || r.Size != c.size {
			t.Errorf("%s: %v %q %+v, want %v %q %+v", c.name, r.Verdict, got, r.Size, c.verdict, c.found, c.size)
		}
	}
}

func TestReadJepsenErrors(t *testing.T) {
	const begin = `{"type":"invoke","process":0,"value":[["append",1,1],["r",2,null]]}` + "\n"
	for _, c := range []struct {
		text   string
		line   int64
		reason string
	}{
		{"{", 1, "the line ends"},
		{"\n\nnull", 3, "'{'"},
		{`{"type":"invoke","process":0,"value":[]} x`, 1, "the end of the line"},
		{`{"type":"invoke","process":0,"value":[],}`, 1, "a string"},
		{`{"type":"invoke","process":0}`, 1, "must have a value"},
		{`{"type":"invoke","value":[]}`, 1, "a type and a process"},
		{`{"process":0,"value":[]}`, 1, "a type and a process"},
		{`{"type":"begin","process":0,"value":[]}`, 1, `"begin" is not a type of event`},
		{`{"type":"invoke","process":99999999999,"value":[]}`, 1, "too large"},
		{`{"type":"invoke","process":0,"value":null}`, 1, "the value must be"},
		{`{"type":"invoke","process":0,"value":[["append",1]]}`, 1, "','"},
		{`{"type":"invoke","process":0,"value":[["append",1,1,1]]}`, 1, "the value must be"},
		{`{"type":"invoke","process":0,"value":[["cas",1,1]]}`, 1, `"cas" is not an operation`},
		{`{"type":"invoke","process":0,"value":[["append",1.5,1]]}`, 1, "the key is a number that is not a whole number"},
		{`{"type":"invoke","process":0,"value":[["append",1,99999999999999999999]]}`, 1, "not a whole number"},
		{`{"type":"invoke","process":0,"value":[["append",1,-9223372036854775808]]}`, 1, "not a whole number"},
		{`{"type":"invoke","process":0,"value":[["append",1,null]]}`, 1, "neither a whole number nor a string"},
		{`{"type":"invoke","process":0,"value":[["r",1,[[2]]]]}`, 1, "neither a whole number nor a string"},
		{`{"type":"invoke","process":0,"value":[["r",1,"\ud8"]]}`, 1, "malformed string"},
		{`{"type":"invoke","process":0,"value":[["r",1,"` + "\x01" + `"]]}`, 1, "malformed string"},
		{`{"type":"invoke","process":0,"value":[["r",01,null]]}`, 1, "a value"},
		{`{"x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, 1, "nested deeper"},
		{`{"x":nul}`, 1, "a value"},
		{`{"x":1.}`, 1, "a digit"},
		{`{"x":"`, 1, "the end of a string"},
		{`{"type":"ok","process":0,"value":[]}`, 1, "that it never began"},
		{begin + begin, 2, "while it runs another"},
		{begin + `{"type":"ok","process":0,"value":[["append",1,1]]}`, 2, "begun with 2 operations and ended with 1"},
		{begin + `{"type":"ok","process":0,"value":[["append",1,2],["r",2,null]]}`, 2, "operation 0 is not the one"},
		{begin + `{"type":"ok","process":0,"value":[["append",1,1],["r",3,null]]}`, 2, "operation 1 is not the one"},
		{begin + `{"type":"ok","process":0,"value":[["append",1,1],["append",2,1]]}`, 2, "operation 1 is not the one"},
		{begin + `{"type":"ok","process":0,"value":[["append",1,1],["r",2,7]]}` + "\n" +
			`{"type":"invoke","process":0,"value":[["append",2,1]]}` + "\n" +
			`{"type":"ok","process":0,"value":[["append",2,1]]}`, 4, "as a list and as a register"},
	} {
		_, err := ReadJepsen(strings.NewReader(c.text))
		var bad *LineError
		if !errors.As(err, &bad) {
			t.Errorf("%.80q: %v", c.text, err)
			continue
		}
		if bad.Line != c.line || !strings.Contains(bad.Reason, c.reason) {
			t.Errorf("%.80q: %v, want line %d: ...%s...", c.text, err, c.line, c.reason)
		}
	}
	broken := errors.New("the disk is gone")
	if _, err := ReadJepsen(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// writeJepsen writes what a run of a simulated database did, as Jepsen would.
func writeJepsen(t testing.TB, c simdb.Config) (*bytes.Buffer, *History) {
	t.Helper()
	type event struct {
		at   int64
		line []byte
	}
	var events []event
	var b Builder
	err := simdb.Run(c, func(x Txn) error {
		types := map[history.Outcome]string{history.Committed: "ok", history.Failed: "fail", history.Unknown: "info"}
		var begin, end []any
		for _, op := range x.Ops {
			name, value, asked := "r", any(nil), any(nil)
			switch op.Kind {
			case Append:
				name, value, asked = "append", op.Value, op.Value
			case Write:
				name, value, asked = "w", op.Value, op.Value
			case ReadList:
				value = op.List
			case ReadValue:
				value = op.Value
			}
			begin, end = append(begin, []any{name, op.Key, asked}), append(end, []any{name, op.Key, value})
		}
		if x.Outcome != history.Committed {
			end = begin
		}
		for _, e := range []struct {
			at    int64
			word  string
			value []any
		}{{x.Invoke, "invoke", begin}, {x.Complete, types[x.Outcome], end}} {
			line, err := json.Marshal(map[string]any{"index": e.at, "type": e.word, "process": x.Process, "value": e.value})
			if err != nil {
				return err
			}
			events = append(events, event{e.at, line})
		}
		return b.Add(x)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(events, func(a, b event) int { return int(a.at - b.at) })
	var text bytes.Buffer
	for _, e := range events {
		text.Write(e.line)
		text.WriteByte('\n')
	}
	return &text, b.History()
}

func TestReadJepsenRoundTrip(t *testing.T) {
	for seed := range uint64(12) {
		c := simdb.Config{
			Level: simdb.Level(seed % 4), Seed: seed, Txns: 300, Clients: 5,
			Registers: seed%3 == 0, Crash: 0.1,
		}
		text, direct := writeJepsen(t, c)
		read, err := ReadJepsen(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []Model{Serializable, SessionSerializable, StrictSerializable} {
			a := Check(context.Background(), direct, model, Options{})
			b := Check(context.Background(), read, model, Options{})
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d, %s: read %+v, want %+v", seed, model, b, a)
			}
		}
	}
}

// BenchmarkReadJepsen reads a log of 100,000 transactions.
func BenchmarkReadJepsen(b *testing.B) {
	text, _ := writeJepsen(b, simdb.Config{Seed: 1, Txns: 100_000, Clients: 10, Keys: 100})
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ReadJepsen(bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzReadJepsen(f *testing.F) {
	f.Add([]byte(`{"type":"invoke","process":0,"value":[["append","a",1],["r",1,null]]}`))
	f.Add([]byte(`{"index":-1,"time":1e9,"type":"ok","process":0,"value":[["r",1,[1,2]],["w",2,"x"]]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		h, err := ReadJepsen(bytes.NewReader(line))
		if err != nil {
			var bad *LineError
			if !errors.As(err, &bad) || bad.Line < 1 || bad.Reason == "" || h != nil {
				t.Fatalf("%v is not a *LineError", err)
			}
			return
		}
		for i, l := range bytes.Split(line, []byte("\n")) {
			if l = bytes.TrimSpace(l); len(l) > 0 && !json.Valid(l) {
				t.Fatalf("line %d was read, though it is no JSON: %q", i+1, l)
			}
		}
		checkReport(t, fmt.Sprintf("%q", line), Check(context.Background(), h, StrictSerializable, Options{}))
	})
}
