package exchange

import (
	"bytes"
	"io"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

func BenchmarkRead(b *testing.B) {
	for _, format := range []Format{EDN, JSON} {
		var out bytes.Buffer
		w, err := NewWriter(&out, Output{Format: format, Processes: 10, Window: 10})
		expect.NoError(b, err)
		list := make([]Atom, 8)
		const n = 100_000
		for i := range int64(n) {
			for j := range list {
				list[j] = Int64(i*8 + int64(j))
			}
			err := w.Add(&Operation{Process: i % 10, Function: Transaction, Outcome: history.Committed, Invoke: i, Complete: i + 5,
				Txn: []MicroOp{{Kind: GetList, Key: Int64(i % 100), List: list}, {Kind: Append, Key: Int64(i % 7), Value: Int64(i)}, {Kind: GetNothing, Key: Int64(i)}}})
			expect.NoError(b, err)
		}
		expect.NoError(b, w.Close())
		b.Run(format.String(), func(b *testing.B) {
			b.SetBytes(int64(out.Len()))
			b.ReportAllocs()
			for b.Loop() {
				r, err := NewReader(bytes.NewReader(out.Bytes()))
				expect.NoError(b, err)
				ops := 0
				for _, err = r.Next(); err == nil; _, err = r.Next() {
					ops++
				}
				if err != io.EOF || ops != n {
					b.Fatalf("%d operations, %v", ops, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/txn")
		})
	}
}
