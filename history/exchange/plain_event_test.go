package exchange

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readBoth reads a history with and without decoding ahead, and wants the same
// operations and the same error of both. It returns how many operations there are.
func readBoth(t *testing.T, text []byte) int {
	t.Helper()
	read := func(how string) (ops []Operation, err error) {
		r, err := NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		switch how {
		case "general":
			r.forms = nil
		case "compact":
			r.CompactTransactions()
		}
		for {
			op, err := r.Next()
			if err != nil {
				return ops, err
			}
			op = op.Clone()
			general(op)
			op.Accounts = append([]Account{}, op.Accounts...)
			op.Txn = append([]MicroOp{}, op.Txn...)
			ops = append(ops, *op)
		}
	}
	want, wantErr := read("general")
	for _, how := range []string{"plain", "compact"} {
		got, err := read(how)
		if err.Error() != wantErr.Error() {
			t.Fatalf("%s: %v; want %v\nin:\n%s", how, err, wantErr, text)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %d operations; want %d\nin:\n%s", how, len(got), len(want), text)
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s: got\n%+v\nwant\n%+v\nin:\n%s", how, got[i], want[i], text)
			}
		}
	}
	return len(want)
}

// general brings an operation into the form that it has without decoding ahead.
func general(op *Operation) {
	for _, n := range op.Numbers {
		m := MicroOp{Kind: n.Kind, Key: Int64(n.Key)}
		if n.Kind != GetList && n.Kind != GetNothing {
			m.Value = Int64(n.Value)
		}
		for _, v := range n.List {
			m.List = append(m.List, Int64(v))
		}
		op.Txn = append(op.Txn, m)
	}
	op.Numbers, op.asked, op.plain = nil, nil, false
	for i := range op.Txn {
		if m := &op.Txn[i]; len(m.List) == 0 {
			m.List = nil
		}
	}
}

const plainEDN = `{:index 0, :time 5, :type :invoke, :process 0, :f :txn, :value [[:r 8 nil] [:append 2 1]]}
{:type :invoke :f :txn :value [[:w 8 -3] [:r 9 nil]] :process 1 :time 6 :index 1}
{:index 2, :time 7, :type :info, :process :nemesis, :f :kill, :value {:a "}"}}
  {:index 3, :time 8, :type :ok, :process 0, :f :txn, :value [[:r 8 [1 22 -333]] [:append 2 1]]},
{:index 4, :time 9, :type :ok, :process 1, :f :txn, :value [[:w 8 -3], [:r 9 999999999999999999]]}
{:index 5, :time nil, :type :invoke, :process 0, :f :txn, :value [[:r :x nil] [:append 2 1]]} ; why
{:index 6, :time 11, :type :fail, :process 0, :f :txn, :value [[:r :x nil] [:append 2 1]], :error "a
b"}
{:index 7, :type :invoke, :process 0, :f :txn, :value []} {:index 8, :type :info, :process 0, :f :txn, :value nil}
`

const plainJSON = `{"index":0,"time":5,"type":"invoke","process":0,"f":"txn","value":[["r",8,null],["append",2,1]]}
{"type":"invoke","f":"txn","value":[["w",8,-3],["r",9,null]],"process":1,"time":6,"index":1}
{"index":2,"type":"info","process":"nemesis","f":"kill","value":{"a":"}"}}
 { "index" : 3 , "type" : "ok", "process" : 0 , "f" : "txn" , "value" : [ [ "r" , 8 , [ 1 , 22 , -333 ] ] , ["append",2,1]] }
{"index":4,"time":9,"type":"ok","process":1,"f":"txn","value":[["w",8,-3],["r",9,999999999999999999]]}
{"index":5,"type":"invoke","process":0,"f":"txn","value":[["r","x",null],["append",2,1]]}
{"index":6,"type":"fail","process":0,"f":"txn","value":[["r","x",null],["append",2,1]],"error":"a\nb"}
{"index":7,"type":"invoke","process":0,"f":"txn","value":[]} {"index":8,"type":"info","process":0,"f":"txn","value":null}
`

// What is decoded ahead is read as it is without that, and so is what is
// malformed, whatever is changed in a history.
func TestPlainEventsAreReadLikeOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, seed := range []string{plainEDN, plainJSON, "[" + plainEDN + "]", "[" + strings.NewReplacer("\n", " ", "; why", "").Replace(strings.TrimSpace(plainEDN)) + "]",
		"[" + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(plainJSON, "} {", "}\n{")), "}\n", "},\n") + "]"} {
		if n := readBoth(t, []byte(seed)); n != 4 {
			t.Errorf("%d operations in\n%s", n, seed)
		}
		for range 60 {
			readBoth(t, changed(r, seed))
		}
	}
}

// changed changes something in a history.
func changed(r *rand.Rand, seed string) []byte {
	const letters = "{}[]():\",;# \n\t\r\x00-+0179nilr_wN.\\x"
	text := []byte(seed)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(text))
		switch r.IntN(4) {
		case 0:
			text[at] = letters[r.IntN(len(letters))]
		case 1:
			text = append(text[:at], text[at+1:]...)
		case 2: // something that stands elsewhere in it
			from := r.IntN(len(text))
			piece := bytes.Clone(text[from:min(len(text), from+1+r.IntN(30))])
			text = append(text[:at:at], append(piece, text[at:]...)...)
		default:
			text = text[:len(text)-r.IntN(min(len(text), 20))]
		}
	}
	return text
}

// generalHistories are of other kinds than transactions over whole numbers, with as many
// operations each as are told.
func generalHistories() map[string]int {
	return map[string]int{
		`{:index 0, :time 0, :type :invoke, :process 0, :f :write, :value [:k 3]}
{:index 1, :time 1, :type :invoke, :process 1, :f :cas, :value ["k" [3 -4]]}
{:index 2, :time 2, :type :ok, :process 0, :f :write, :value [:k 3]}
{:index 3, :time 3, :type :fail, :process 1, :f :cas, :value ["k" [3 -4]]} {:type :invoke, :process 1, :f :read, :value #jepsen.independent.Tuple{:key :k, :value nil}}
{:type :ok, :process 1, :f :read, :value #jepsen.independent.Tuple{:key :k, :value 3}}
`: 3,
		`{:index 0, :type :invoke, :process 0, :f :add, :value "a b\u00e4\"}"}
{:index 1, :type :invoke, :process 1, :f :read, :value nil}
{:index 2, :type :ok, :process 0, :f :add, :value "a b\u00e4\"}"}
{:index 3, :type :ok, :process 1, :f :read, :value #{"a
b" 2 12345678901234567890 #_ 4 \newline}}
{:f :read, :value nil, :index 4, :type :invoke, :process 1}
{:f :read, :value (1 2 {3 1.5}), :index 5, :type :ok, :process 1}
{:index 6, :type :invoke, :process 1, :f :read-all, :value nil}
`: 4,
		`{"index":0,"type":"invoke","process":0,"f":"send","value":[["send",1,7]]}
{"index":1,"type":"ok","process":0,"f":"send","value":[["send",1,[0,7]]]}
{"index":2,"type":"invoke","process":0,"f":"txn","value":[["poll"],["r",1,null]]}
{"index":3,"type":"ok","process":0,"f":"txn","value":[["poll",{"1":[[0,7]]}],["r",1,null]]}
{"index":4,"type":"invoke","process":0,"f":"txn","value":[["r",1,null]]}
`: 3,
		`{"type":"invoke","process":0,"f":"transfer","value":{"from":1,"to":2,"amount":3}}
{"type":"invoke","process":1,"f":"read","value":null}
{"type":"info","process":0,"f":"transfer","value":{"from":1,"to":2,"amount":3}}
{"type":"ok","process":1,"f":"read","value":{"1":10,"2":-1}}
`: 2,
	}
}

// Values of any form that are decoded ahead are read as they are without that, and so is
// what is malformed.
func TestGeneralEventsAreReadLikeOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, seed := range slices.Sorted(maps.Keys(generalHistories())) {
		if n, want := readBoth(t, []byte(seed)), generalHistories()[seed]; n != want {
			t.Errorf("%d operations, want %d in\n%s", n, want, seed)
		}
		c := &chunk{text: []byte(seed)}
		if c.decode(seed[1] == ':'); len(c.events) < 4 || c.events[len(c.events)-1].nodes == 0 && c.events[0].nodes == 0 {
			t.Errorf("%d events are decoded ahead of\n%s", len(c.events), seed)
		}
		for range 100 {
			readBoth(t, changed(r, seed))
		}
	}
}

// A history is read through many chunks, with events and strings across their
// borders.
func TestManyChunks(t *testing.T) {
	const each = 9000
	for _, format := range []Format{EDN, JSON} {
		var ops []Operation
		for i := range int64(each) {
			ops = append(ops, Operation{Process: i % 5, Index: NoIndex, Function: Transaction, Outcome: 1, Invoke: 2 * i, Complete: 2*i + 1,
				Txn: []MicroOp{{Kind: Append, Key: Int64(i % 7), Value: Int64(i)}, {Kind: GetList, Key: Int64(1), List: []Atom{Int64(i), Int64(7)}}}})
		}
		text := []byte(write(t, Output{Format: format, Processes: 5, Window: 10}, ops))
		if len(text) < 4*chunkSize {
			t.Fatalf("only %d bytes", len(text))
		}
		if n := readBoth(t, text); n != each {
			t.Errorf("%d operations in %s", n, format)
		}
		if format == JSON {
			continue
		}
		oneLine := append([]byte("["), bytes.ReplaceAll(text, []byte("\n"), []byte(" "))...)
		if n := readBoth(t, append(oneLine, ']')); n != each {
			t.Errorf("%d operations in one line", n)
		}
		long := append([]byte(`{:process :nemesis :type :info :f :a :value "`), bytes.Repeat([]byte("{:process 0}\n"), chunkSize/6)...)
		if n := readBoth(t, append(append(long, "\"}\n"...), text...)); n != each {
			t.Errorf("%d operations behind a long string", n)
		}
	}
}

// FuzzPlainEvents compares the two ways of reading.
func FuzzPlainEvents(f *testing.F) {
	f.Add([]byte(plainEDN))
	f.Add([]byte(plainJSON))
	for seed := range generalHistories() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { readBoth(t, text) })
}

// Of nearly all events of a usual history, nothing is left to the general reader.
func TestUsualEventsArePlain(t *testing.T) {
	for text, want := range map[string]int{plainEDN: 6, plainJSON: 7} {
		c := &chunk{text: []byte(text)}
		c.decode(text == plainEDN)
		if len(c.events) != want {
			t.Errorf("%d events are plain in\n%s", len(c.events), text)
		}
	}
}

// Numbers of all lengths are read as strconv reads them, and no other text is.
func TestPlainNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		text := strconv.FormatInt(r.Int64()>>r.IntN(64), 10)
		if r.IntN(4) == 0 {
			at := r.IntN(len(text))
			text = text[:at] + string(rune(r.IntN(128))) + text[at+1:]
		}
		var got int64
		d := plainDecoder{text: []byte(text + " "), edn: true}
		ok := d.number(&got)
		want, err := strconv.ParseInt(text, 10, 64)
		if wanted := err == nil && len(strings.TrimPrefix(text, "-")) <= 18 && strconv.FormatInt(want, 10) == text; d.at == len(text) && ok != wanted || ok && wanted && got != want || wanted && !ok {
			t.Fatalf("%q: %d, %v", text, got, ok)
		}
	}
}

// An event of many times the size of a chunk, such as a read of everything at the
// end, is decoded ahead like others, and what it took is not kept for those behind.
func TestLongEvents(t *testing.T) {
	for _, format := range []Format{EDN, JSON} {
		var ops []Operation
		for i := range int64(4) {
			op := Operation{Process: 1, Index: NoIndex, Function: Transaction, Outcome: 1, Invoke: 2 * i, Complete: 2*i + 1}
			keys := int64(4)
			if i == 1 {
				keys = 4000
			}
			for key := range keys {
				m := MicroOp{Kind: GetList, Key: Int64(key)}
				for v := range int64(30) {
					m.List = append(m.List, Int64(9e17+key<<32+v))
				}
				op.Txn = append(op.Txn, m)
			}
			ops = append(ops, op)
		}
		text := []byte(write(t, Output{Format: format, Processes: 5, Window: 10}, ops))
		if len(text) < longEventSize {
			t.Fatalf("only %d bytes", len(text))
		}
		if n := readBoth(t, text); n != len(ops) {
			t.Errorf("%d operations in %s", n, format)
		}
		in := newChunks(bytes.NewReader(text), format == EDN)
		events := 0
		for {
			c := in.next()
			events += len(c.events)
			if c.err != nil {
				break
			}
		}
		for _, c := range in.spare {
			if cap(c.text) > 2*chunkSize {
				t.Errorf("a chunk with room for %d bytes is kept", cap(c.text))
			}
		}
		if events != 2*len(ops) {
			t.Errorf("%d events are plain of %d in %s", events, 2*len(ops), format)
		}
	}
}

// Events that are written in turns in different ways are all plain.
func TestShapesOfEvents(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "{:index %d, :type :invoke, :process 0, :f :txn, :value [[:r 1 nil]  [:append 2 %d]]}\n", 2*i, i)
		fmt.Fprintf(&text, "{:type :ok :process 0 :value [[ :r 1 [1  2, 3 ]][:append 2 %d] ] :f :txn, :index %d}\n", i, 2*i+1)
	}
	if n := readBoth(t, []byte(text.String())); n != 20 {
		t.Errorf("%d operations", n)
	}
	c := &chunk{text: []byte(text.String())}
	if c.decode(true); len(c.events) != 40 {
		t.Errorf("%d events are plain of 40", len(c.events))
	}
}
