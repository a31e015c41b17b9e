package exchange

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"assay/internal/expect"
)

// A history is read in many batches, with events and strings across their borders, and one event of
// many times a batch's size.
func TestManyBatches(t *testing.T) {
	const each = 9000
	for _, format := range []Format{EDN, JSON} {
		var ops []Operation
		for i := range int64(each) {
			o := Operation{Process: i % 5, Index: NoIndex, Function: Transaction, Outcome: 1, Invoke: 2 * i, Complete: 2*i + 1,
				Txn: []MicroOp{{Kind: Append, Key: Int64(i % 7), Value: Int64(i)}, {Kind: GetList, Key: Int64(1), List: []Atom{Int64(i), Int64(7)}}}}
			if i == each/2 {
				for v := range int64(2 * largeBatch) {
					o.Txn[1].List = append(o.Txn[1].List, Int64(v))
				}
			}
			ops = append(ops, o)
		}
		text := write(t, Output{Format: format, Processes: 5, Window: 10}, ops)
		if len(text) < 8*batchText {
			t.Fatalf("only %d bytes", len(text))
		}
		forms := []string{text}
		if format == EDN {
			forms = append(forms, "["+strings.ReplaceAll(text, "\n", " ")+"]",
				`{:process :nemesis :type :info :f :a :value "`+strings.Repeat("{:process 0}\n", bufferSize/6)+"\"}\n"+text)
		}
		for _, form := range forms {
			got, _ := readAll(t, form)
			if len(got) != each {
				t.Fatalf("%d operations of %d in %s", len(got), each, format)
			}
			for i := range got {
				if got, want := say(&got[i]), say(&ops[i]); got != want {
					t.Fatalf("%s: %s, want %s", format, got, want)
				}
			}
		}
	}
}

func TestNobodyAsksForMore(t *testing.T) {
	text := strings.Repeat("{:process 0, :type :invoke, :f :read}\n{:process 0, :type :ok, :f :read, :value 1}\n", 20_000)
	before := runtime.NumGoroutine()
	for range 3 {
		r, err := NewReader(bytes.NewReader([]byte(text)))
		expect.NoError(t, err)
		_, err = r.Next()
		expect.NoError(t, err)
		<-r.source.(*readAhead).read
	}
	for runtime.NumGoroutine() > before { // that of the last one is about to end
		runtime.Gosched()
	}
}
