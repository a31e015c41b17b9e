package register

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/history"
)

// The short forms of hand-written histories, with times in milliseconds.
func at(process, begin, end int64, o Op) Op {
	o.ID, o.Process = begin, process
	o.Invoke, o.Complete = begin, end
	o.InvokeTime, o.CompleteTime = begin*1_000_000, end*1_000_000
	o.Outcome = history.Committed
	return o
}

func read(process, begin, end int64, value string) Op {
	return at(process, begin, end, Op{Kind: Read, Value: value})
}

func write(process, begin, end int64, value string) Op {
	return at(process, begin, end, Op{Kind: Write, Value: value})
}

func cas(process, begin, end int64, from, to string) Op {
	return at(process, begin, end, Op{Kind: CompareAndSet, From: from, Value: to})
}

func unknown(o Op) Op { o.Outcome = history.Unknown; return o }
func failed(o Op) Op  { o.Outcome = history.Failed; return o }

func TestMinimalCases(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		wrong      []Op
		valid      []Op
	}{
		{kindGarbage, "read of 7 by process 1 (operation 3, 0.003000 s to 0.004000 s), but nobody wrote 7",
			[]Op{write(0, 1, 2, "1"), read(1, 3, 4, "7")},
			[]Op{write(0, 1, 2, "1"), read(1, 3, 4, "1")}},
		{kindGarbage, "read of 0 by process 1 (operation 1, 0.001000 s to 0.004000 s), but nobody wrote 0; if the register held it from the beginning, give it as the initial value",
			[]Op{read(1, 1, 4, "0"), write(0, 2, 3, "1")},
			[]Op{read(1, 1, 4, Nil), write(0, 2, 3, "1")}},
		{kindGarbage, "read of 2 by process 1 (operation 5, 0.005000 s to 0.006000 s), but nobody wrote 2",
			[]Op{write(0, 1, 2, "1"), read(0, 3, 4, "1"), read(1, 5, 6, "2")},
			[]Op{write(0, 1, 2, "1"), read(0, 3, 4, "1"), unknown(write(3, 4, 5, "2")), read(1, 5, 6, "2")}},
		{kindDirty, "read of 2 by process 1 (operation 5, 0.005000 s to 0.006000 s), but write of 2 by process 2 (operation 3, begun at 0.003000 s) failed, and nobody else wrote 2",
			[]Op{write(0, 1, 2, "1"), failed(write(2, 3, 4, "2")), read(1, 5, 6, "2")},
			[]Op{write(0, 1, 2, "1"), unknown(write(2, 3, 4, "2")), read(1, 5, 6, "2")}},
		{kindFuture, "read of 2 by process 1 (operation 1, 0.001000 s to 0.002000 s), before anybody wrote 2: first, write of 2 by process 2 (operation 3, 0.003000 s to 0.004000 s)",
			[]Op{read(1, 1, 2, "2"), write(2, 3, 4, "2")},
			[]Op{read(1, 1, 3, "2"), write(2, 3, 4, "2")}},
		{kindStale, "read of 1 by process 1 (operation 7, 0.007000 s to 0.008000 s), but 1 was overwritten: write of 2 by process 0 (operation 3, 0.003000 s to 0.004000 s) ended 0.003000 s before that began, and began after the end of the write of 1 by process 0 (operation 1, 0.001000 s to 0.002000 s)",
			[]Op{write(0, 1, 2, "1"), write(0, 3, 4, "2"), read(2, 5, 6, "2"), read(1, 7, 8, "1")},
			[]Op{write(0, 1, 2, "1"), write(0, 3, 7, "2"), read(1, 4, 5, "1"), read(1, 7, 8, "1")}},
		{kindStale, "but nil was overwritten: write of 2 by process 0 (operation 1, 0.001000 s to 0.002000 s) ended 0.003000 s before that began, and began after the beginning, when the register held nil",
			[]Op{write(0, 1, 2, "2"), read(1, 3, 4, "2"), read(1, 5, 6, Nil)},
			[]Op{write(0, 1, 2, "2"), read(1, 2, 4, Nil), read(1, 5, 6, "2")}},
		{kindLost, "write of 2 by process 0 (operation 3, 0.003000 s to 0.004000 s) was acknowledged, but nobody read 2, and read of 1 by process 1 (operation 7, 0.007000 s to 0.008000 s), begun 0.003000 s later, found 1, set before that by the write of 1 by process 0 (operation 1, 0.001000 s to 0.002000 s)",
			[]Op{write(0, 1, 2, "1"), write(0, 3, 4, "2"), read(1, 7, 8, "1")},
			[]Op{write(0, 1, 2, "1"), unknown(write(0, 3, 4, "2")), read(1, 7, 8, "1")}},
		{kindLost, "found the initial value nil",
			[]Op{write(0, 1, 2, "1"), read(1, 3, 4, Nil)},
			[]Op{failed(write(0, 1, 2, "1")), read(1, 3, 4, Nil)}},
		{kindDuplicate, "1 was replaced more often than it was written (once): compare-and-set from 1 to 2 by process 1 (operation 3, 0.003000 s to 0.006000 s), and compare-and-set from 1 to 3 by process 2 (operation 4, 0.004000 s to 0.007000 s)",
			[]Op{write(0, 1, 2, "1"), cas(1, 3, 6, "1", "2"), cas(2, 4, 7, "1", "3")},
			[]Op{write(0, 1, 2, "1"), cas(1, 3, 6, "1", "2"), cas(2, 4, 7, "2", "3")}},
		{kindOrder, "1 and 2 would each have to come before the other: the read of 1 by process 2 (operation 2, 0.002000 s to 0.003000 s) ended before the read of 2 by process 2 (operation 4, 0.004000 s to 0.005000 s) began, but the read of 2 by process 2 (operation 4, 0.004000 s to 0.005000 s) ended before the read of 1 by process 3 (operation 6, 0.006000 s to 0.007000 s) began",
			[]Op{write(0, 1, 9, "1"), write(1, 1, 9, "2"), read(2, 2, 3, "1"), read(2, 4, 5, "2"), read(3, 6, 7, "1")},
			[]Op{write(0, 1, 9, "1"), write(1, 1, 9, "2"), read(2, 2, 3, "1"), read(2, 4, 5, "2"), read(3, 6, 7, "2")}},
		{kindOrder, "nil was there from the beginning, before the read of 1",
			[]Op{write(0, 1, 9, "1"), read(2, 2, 3, "1"), read(3, 6, 7, Nil)},
			[]Op{write(0, 1, 9, "1"), read(2, 2, 3, Nil), read(3, 6, 7, "1")}},
		{kindUnexplained, "no order of the operations explains the compare-and-set from 1 to 3 by process 2 (operation 7, 0.007000 s to 0.008000 s); the register could hold only 2 then; what was before it is explained by an order that ends: write of 1 by process 0 (operation 1, 0.001000 s to 0.002000 s), write of 2 by process 1 (operation 1, 0.001000 s to 0.009000 s), read of 2 by process 3 (operation 4, 0.004000 s to 0.005000 s)",
			[]Op{write(0, 1, 2, "1"), write(1, 1, 9, "2"), unknown(write(4, 9, 9, "1")), read(3, 4, 5, "2"), cas(2, 7, 8, "1", "3"), read(2, 10, 11, "3"), write(2, 12, 13, "2"), write(2, 14, 15, "1")},
			[]Op{write(0, 1, 2, "1"), write(1, 1, 9, "2"), unknown(write(4, 6, 9, "1")), read(3, 4, 5, "2"), cas(2, 7, 8, "1", "3"), read(2, 10, 11, "3"), write(2, 12, 13, "2"), write(2, 14, 15, "1")}},
	} {
		for _, w := range []struct {
			ops  []Op
			want check.Verdict
		}{{c.wrong, check.Violated}, {c.valid, check.Valid}} {
			got := judge(t, w.ops)
			if got.Verdict != w.want || verdict(w.ops, brute(w.ops, Nil)) != w.want {
				t.Errorf("%s: %v: %s\n%s", c.kind, got.Verdict, got.Detail, show(w.ops))
				continue
			}
			if w.want == check.Valid {
				continue
			}
			if e := got.Evidence[0]; e.Kind != c.kind || !strings.Contains(e.Text, c.text) {
				t.Errorf("got %s: %s\nwant %s: %s", e.Kind, e.Text, c.kind, c.text)
			}
		}
	}
}

func TestEvidenceHasTheSameAsData(t *testing.T) {
	w, r := write(4, 1, 2, "1"), read(1, 3, 5, Nil)
	w.Key, r.Key = "12", "12"
	e := judge(t, []Op{w, r}).Evidence[0]
	want := map[string]int64{"key": 12, "operation": 3, "process": 1, "invoke_ns": 3_000_000, "complete_ns": 5_000_000, "other_operation": 1}
	if fmt.Sprint(e.Fields) != fmt.Sprint(want) || !strings.HasPrefix(e.Text, "key 12: ") {
		t.Errorf("got %q %v", e.Text, e.Fields)
	}
	w.InvokeTime, w.CompleteTime, r.InvokeTime, r.CompleteTime = NoTime, NoTime, NoTime, NoTime
	e = judge(t, []Op{w, r}).Evidence[0]
	if !strings.Contains(e.Text, "write of 1 by process 4 (operation 1, events 1 to 2)") || e.Fields["invoke_ns"] != 0 {
		t.Errorf("got %q %v", e.Text, e.Fields)
	}
}

func TestInitialValue(t *testing.T) {
	ops := []Op{read(0, 1, 2, "0"), write(0, 3, 4, "1"), read(1, 5, 6, "1")}
	h := build(t, ops)
	if r := Check(context.Background(), h, Options{}); r.Verdict != check.Violated {
		t.Errorf("%v: %s", r.Verdict, r.Detail)
	}
	if r := Check(context.Background(), h, Options{Initial: "0"}); r.Verdict != check.Valid {
		t.Errorf("%v: %s %v", r.Verdict, r.Detail, r.Evidence)
	}
}

// The most telling finding of each key is listed before a second of any.
func TestEachKeyIsHeard(t *testing.T) {
	var ops []Op
	for key := range 3 {
		for i := range int64(30) {
			w := write(0, 10*i, 10*i+1, fmt.Sprint(i))
			r := read(1, 10*i+2, 10*i+3, "x")
			w.Key, r.Key = fmt.Sprint(key), fmt.Sprint(key)
			ops = append(ops, w, r)
		}
	}
	good := read(0, 1, 2, Nil)
	good.Key = "good"
	r := judge(t, append(ops, good))
	if r.Found != 90 || len(r.Evidence) != check.MaxEvidence || len(r.Findings) != 1 || r.Findings[0] != (check.Finding{Kind: kindGarbage, Found: 90}) {
		t.Errorf("found %d, listed %d", r.Found, len(r.Evidence))
	}
	for i := range 3 {
		if !strings.HasPrefix(r.Evidence[i].Text, fmt.Sprintf("key %d: ", i)) {
			t.Errorf("%d: %s", i, r.Evidence[i].Text)
		}
	}
	want := "181 operations (91 reads, 90 writes; none failed, none of unknown outcome) on 4 registers; 3 registers are not linearizable"
	if r.Detail != want {
		t.Errorf("got %q", r.Detail)
	}
}

// An operation open at a moment may have taken effect, but an open read says nothing. Operations
// that begin later are absent.
func TestWhatWasKnown(t *testing.T) {
	ops := []op{
		{invoke: 1, complete: 9, kind: Read},
		{invoke: 2, complete: 3, kind: Write},
		{invoke: 2, complete: 8, kind: Write},
		{invoke: 3, complete: 4, kind: Read},
		{invoke: 6, complete: 7, kind: Write},
	}
	known := until(ops, 4)
	if len(known) != 3 || known[0].complete != 3 || known[0].pending || known[1].complete != 8 || !known[1].pending || known[2].complete != 4 || known[2].pending {
		t.Errorf("known at 4 are %+v", known)
	}
}

func TestNothingIsUnknown(t *testing.T) {
	for want, ops := range map[string][]Op{
		"no operations":    nil,
		"nothing was read": {write(0, 1, 2, "1"), failed(read(1, 3, 4, "1")), unknown(cas(1, 3, 4, "1", "2"))},
	} {
		r := judge(t, ops)
		if r.Verdict != check.Unknown || !strings.Contains(r.Detail, want) {
			t.Errorf("%v: %s", r.Verdict, r.Detail)
		}
	}
	r := judge(t, []Op{write(0, 1, 2, "1"), read(1, 3, 4, "1")})
	if r.Verdict != check.Valid || r.Detail != "2 operations (1 read, 1 write; none failed, none of unknown outcome) on 1 register; each is linearizable" {
		t.Errorf("%v: %s", r.Verdict, r.Detail)
	}
}

// knot is a history that only an exhaustive search finds wrong. Each of some values is replaced by
// each other one, concurrently. So in every order the first value is there again at the end, when
// another is read.
func knot(key string) []Op {
	const values = 6
	ops := []Op{write(99, 0, 0, "0")}
	for from := range values {
		for to := range values {
			if from != to {
				ops = append(ops, cas(int64(len(ops)), 1, 1000, fmt.Sprint(from), fmt.Sprint(to)))
			}
		}
	}
	ops = append(ops, read(100, 2000, 2001, "1"))
	for i := range ops {
		ops[i].Key = key
	}
	return ops
}

// needsASearch is a valid history that no rule decides.
func needsASearch() []Op {
	ops := []Op{write(0, 1, 2, "1"), write(0, 3, 4, "1"), read(0, 5, 6, "1")}
	for i := range ops {
		ops[i].Key = "good"
	}
	return ops
}

// worn is a context that ends after some calls.
type worn struct {
	context.Context
	left int
	err  error
}

func (w *worn) Err() error {
	if w.left--; w.left < 0 {
		return w.err
	}
	return nil
}

func TestLimitsEndInUnknown(t *testing.T) {
	h := build(t, append(knot("knot"), needsASearch()...))
	for want, check1 := range map[string]struct {
		left   int
		err    error
		memory int64
	}{
		"1 register is not judged (the first is key knot): the search for an order needed more memory": {1 << 40, nil, 1 << 16},
		"2 registers are not judged (the first is key knot): the time limit ended before the search":   {20, context.DeadlineExceeded, 1 << 40},
		"2 registers are not judged (the first is key knot): the search was cancelled":                 {0, context.Canceled, 1 << 40},
	} {
		ctx := &worn{Context: context.Background(), left: check1.left, err: check1.err}
		r := Check(ctx, h, Options{Memory: check1.memory})
		if r.Verdict != check.Unknown || !strings.Contains(r.Detail, want) {
			t.Errorf("%v: %s\nwant %s", r.Verdict, r.Detail, want)
		}
	}
}

// A violation found before the end stays, and the detail reports the rest.
func TestAViolationOutlivesTheLimit(t *testing.T) {
	bad := read(0, 1, 2, "7")
	bad.Key = "bad"
	h := build(t, append([]Op{bad}, knot("knot")...))
	ctx := &worn{Context: context.Background(), left: 20, err: context.DeadlineExceeded}
	r := Check(ctx, h, Options{})
	if r.Verdict != check.Violated || r.Found != 1 || !strings.Contains(r.Detail, "1 register is not linearizable; 1 register is not judged (the first is key knot): the time limit") {
		t.Errorf("%v: %s", r.Verdict, r.Detail)
	}
}

// If the limit ends the search for the wrong operation, the violation stays.
func TestAViolationWithoutDetails(t *testing.T) {
	ops := []Op{write(0, 1, 2, "1"), write(1, 1, 9, "2"), unknown(write(4, 9, 9, "1")), read(3, 4, 5, "2"), cas(2, 7, 8, "1", "3")}
	h := build(t, append(ops, write(2, 10, 11, "1")))
	cut := false
	for left := range 40 {
		r := Check(&worn{Context: context.Background(), left: left, err: context.Canceled}, h, Options{})
		switch {
		case r.Verdict == check.Valid:
			t.Fatalf("valid when cut after %d", left)
		case r.Verdict == check.Violated && strings.HasPrefix(r.Evidence[0].Text, "no order explains the operations from the write of 1"):
			cut = true
		}
	}
	if !cut {
		t.Error("the search was never cut in its explanation")
	}
}

// Crashed writes make histories hard. Unseen ones are left out, and those that must have been seen
// are as good as done.
func TestCrashedWritesAreNoBurden(t *testing.T) {
	var ops []Op
	for i := range int64(200) {
		lost := unknown(write(1000+i, 10*i, 0, "lost"))
		seen := unknown(cas(2000+i, 10*i+1, 0, fmt.Sprint(i), fmt.Sprint(i+1)))
		ops = append(ops, lost, seen)
		if i%4 == 0 { // from one read to the next, four follow from each other
			ops = append(ops, read(0, 10*i+8, 10*i+9, fmt.Sprint(i+1)))
		}
	}
	r := Check(context.Background(), build(t, ops), Options{Initial: "0", Memory: 1 << 20})
	if r.Verdict != check.Valid {
		t.Errorf("%v: %s %v", r.Verdict, r.Detail, r.Evidence)
	}
	h := build(t, ops)
	for _, o := range prepare(&h.keys[0], h.number["0"], h.values).ops {
		if number := o.id / 10; !o.certain() && number < 197 {
			t.Fatalf("operation %d is left to the search", o.id)
		}
	}
}

func TestADeadlineEndsTheSearch(t *testing.T) {
	h := build(t, knot(""))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	r := Check(ctx, h, Options{})
	if r.Verdict != check.Unknown || !strings.Contains(r.Detail, "time limit") {
		t.Errorf("%v: %s", r.Verdict, r.Detail)
	}
}

func TestMalformedOperations(t *testing.T) {
	for _, o := range []Op{{Kind: 0}, {Kind: 4}, {Kind: Read, Outcome: 9}, {Kind: Read, Outcome: history.Committed, Invoke: 2, Complete: 1}} {
		var h History
		var bad *InputError
		if err := h.Add(o); !errors.As(err, &bad) || h.counts.ops != 0 {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
