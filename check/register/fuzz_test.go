package register

import (
	"context"
	"fmt"
	"testing"
	"time"

	"assay/history"
)

// fuzzLimit ends one execution long before a second, even on a busy machine; the worst of thirty
// thousand took 4 ms. A fuzzing engine whose time ends during an execution fails with "context
// deadline exceeded", which is no finding: it comes without an input.
const fuzzLimit = 300 * time.Millisecond

// FuzzCheck makes small histories of bytes, and compares the verdict with the definition, if there
// is one in time.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("\x01\x00\x01\x01\x11\x02\x02\x22"))
	f.Add([]byte("\x12\x00\x21\x00\x45\x31\x62\x33\x22\x11\x90\x00\x11\x31\x42"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ops := opsOf(data)
		if len(ops) == 0 {
			return
		}
		want := verdict(ops, brute(ops, Nil))
		ctx, cancel := context.WithTimeout(t.Context(), fuzzLimit)
		defer cancel()
		if got := judgeIn(ctx, t, ops); got.Verdict != want && ctx.Err() == nil {
			t.Fatalf("%v, but it is %v: %s %+v\n%s", got.Verdict, want, got.Detail, got.Evidence, show(ops))
		}
	})
}

func opsOf(data []byte) []Op {
	var ops []Op
	for len(data) >= 4 && len(ops) < 7 {
		kind, span, values, end := data[0], data[1], data[2], data[3]
		data = data[4:]
		value := func(b byte) string {
			if b == 0 {
				return Nil
			}
			return fmt.Sprint(b)
		}
		ops = append(ops, Op{ID: int64(len(ops)), Process: int64(len(ops)), Kind: Kind(1 + kind%3), Value: value(values & 7), From: value(values >> 4 & 7),
			Invoke: int64(span), Complete: int64(span) + int64(end), InvokeTime: NoTime, CompleteTime: NoTime,
			Outcome: []history.Outcome{history.Committed, history.Committed, history.Unknown, history.Failed}[kind>>4&3]})
	}
	return ops
}
