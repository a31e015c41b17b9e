package register

import (
	"context"
	"math/rand/v2"
	"testing"

	"assay/check"
)

func BenchmarkCheck(b *testing.B) {
	for name, a := range map[string]atomicRegister{
		"unique values, one key, 300,000":           {clients: 10, ops: 300_000, keys: 1, unknown: true},
		"five values, one key, 50,000":              {clients: 10, ops: 50_000, keys: 1, values: 5, sets: true, gaps: true},
		"five values, crashes, 1,000 keys, 300,000": {clients: 10, ops: 300_000, keys: 1000, values: 5, sets: true, unknown: true},
	} {
		b.Run(name, func(b *testing.B) {
			h := build(b, a.run(rand.New(rand.NewPCG(1, 1))))
			for b.Loop() {
				if r := Check(context.Background(), h, Options{}); r.Verdict != check.Valid {
					b.Fatal(r.Detail)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(a.ops), "ns/operation")
		})
	}
}
