package cycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/check"
	. "assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
)

func TestUnknown(t *testing.T) {
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	cancel()
	expired, cancel := context.WithDeadline(background, time.Now().Add(-time.Second))
	defer cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		model  Model
		txns   []string
		reason string
	}{
		{"nothing was done", background, Serializable, nil, "the history has no transactions"},
		{"nothing was read", background, Serializable, []string{"ax1", "ax2", "wy1"}, "nothing was put to the test"},
		{"nothing was written", background, Serializable, slices.Repeat([]string{"rx_"}, 21), "nothing was put to the test"},
		{"nothing was shared", background, Serializable, append(slices.Repeat([]string{"rx_"}, 20), "ay1 ry1"), "nothing was put to the test"},
		{"nobody was committed", background, Serializable, []string{"? ax1 rx_", "! rx_ ax2"}, "nothing was put to the test"},
		{"appended twice", background, Serializable, []string{"ax1", "ax1", "rx1"},
			"1 was written to key 120 by transaction 1 and by transaction 2"},
		{"perhaps appended twice", background, Serializable, []string{"? ax1", "ax1", "rx1"},
			"1 was written to key 120 by transaction 1 and by transaction 2"},
		{"written by too many", background, Serializable, slices.Concat(slices.Repeat([]string{"wx1", "rx=1"}, 6), []string{"rx=1 rx_"}),
			"1 was written to key 120 by transaction 1 and"},
		{"no model", background, "acid", []string{"ax1", "rx1"}, `"acid" is not a consistency model`},
		{"cancelled", cancelled, Serializable, []string{"ax1", "rx1"}, "the search was cancelled"},
		{"too late", expired, Serializable, []string{"ax1", "rx1"}, "allow more time"},
	} {
		r := Check(c.ctx, parse(t, c.txns...), c.model, Options{})
		checkReport(t, c.name, r)
		if r.Verdict != check.Unknown || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: %v: %s, want ...%s...", c.name, r.Verdict, r.Reason, c.reason)
		}
		if result := r.Result(); result.Verdict != check.Unknown || !strings.Contains(result.Detail, c.reason) {
			t.Errorf("%s: the result is %+v", c.name, result)
		}
	}
	// A failed append may be tried again with the same element.
	r := Check(background, parse(t, "! ax1", "ax1", "rx1", "! ax1"), Serializable, Options{})
	if r.Verdict != check.Valid {
		t.Errorf("a retry: %v %s %v", r.Verdict, r.Reason, r.Anomalies)
	}
}

// countdown is a context that ends after a number of calls.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A check cut short at any moment at which it looks at its context must answer unknown, or with an
// earlier finding. Some models have algorithms of their own, which look at the context elsewhere.
func TestTimeLimit(t *testing.T) {
	models := []Model{StrictSerializable, ReadCommitted, MonotonicAtomicView, MonotonicView, ReadAtomic, Causal, CursorStability, UpdateAtomic, ConsistentView, RepeatableRead, Prefix}
	for _, level := range []isolationLevel{simulateStrict, simulateSnapshot, simulatePrefix} {
		h, err := simulatedHistory(simulation{Level: level, Seed: 1, Txns: 4000, Clients: 10, Writes: 4})
		expect.NoError(t, err)
		for _, model := range models {
			full, unknown, finer := Check(context.Background(), h, model, Options{}), 0, 3
			if model == StrictSerializable {
				finer = 8
			}
			for moments := 0; ; moments += 1 + moments/finer {
				limit := countdown{context.Background(), moments}
				r := Check(&limit, h, model, Options{})
				if limit.left >= 0 {
					if r.Verdict != full.Verdict || r.Partial || moments == 0 {
						t.Fatalf("%s in time, but %v: %s", model, r.Verdict, r.Reason)
					}
					break
				}
				checkReport(t, fmt.Sprint(model, " cut at ", moments), r)
				if r.Partial != (r.Verdict == check.Violated) || r.Partial && !strings.Contains(r.Result().Detail, "time ran out") {
					t.Fatalf("%s cut at %d: %v, partial %v: %s", model, moments, r.Verdict, r.Partial, r.Result().Detail)
				}
				if r.Verdict == check.Unknown {
					unknown++
					if !strings.Contains(r.Reason, "allow more time") {
						t.Fatalf("%s cut at %d: %s", model, moments, r.Reason)
					}
				}
				if r.Verdict == check.Valid || r.Verdict == check.Violated && full.Verdict != check.Violated {
					t.Fatalf("%s of level %d, cut at %d: %v, but %v with enough time", model, level, moments, r.Verdict, full.Verdict)
				}
			}
			if level != simulatePrefix && model == StrictSerializable && unknown < 3 { // there, violations show at once
				t.Errorf("level %d: only %d moments without a verdict", level, unknown)
			}
		}
	}
}

func TestResult(t *testing.T) {
	r := Check(context.Background(), parse(t, "@0-10 ax1 ay1", "@20-30 rx_ ry1", "@20-30 rx_ az1", "@40-50 rx_"), Serializable, Options{})
	result := r.Result()
	if result.Name != "isolation" || result.Verdict != check.Violated || result.Found != 2 || len(result.Evidence) != 2 {
		t.Fatalf("%+v", result)
	}
	expect.Text(t, "the detail", result.Detail, "not serializable", "G-single-item", "weakest model ruled out is consistent-view and repeatable-read")
	if result.Evidence[0].Kind != "G-single-item" || result.Evidence[1].Kind != "lost-append" {
		t.Errorf("%+v", result.Evidence)
	}
	r = Check(context.Background(), parse(t, "rx_ ay1", "ry_ ax1"), SnapshotIsolation, Options{})
	if got := r.Result().Detail; r.Verdict != check.Valid || !strings.Contains(got, "nothing that snapshot-isolation forbids") ||
		strings.Join(r.Permitted, " ") != "G2-item" || r.Result().Verdict != check.Allowed {
		t.Errorf("%v %v %s", r.Verdict, r.Permitted, got)
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		txns []string
		want []string
	}{
		{[]string{"ax1", "ax2 ay1", "rx1 ry1", "rx12"}, []string{
			"(rw): T1 read [1] from key 120, without 2, which T2 appended",
			"(wr): T1 read [1] from key 121, whose last element T2 appended",
			"No order of these transactions"}},
		{[]string{"ax1 ay1", "ax2 ay2", "rx12 ry21"}, []string{
			"T1 appended 1 to key 120, and then T2 appended 2: transaction 3 read [1 2]",
			"T2 appended 2 to key 121, and then T1 appended 1: transaction 3 read [2 1]"}},
		{[]string{"ax1 ay2", "ax2 ay1", "rx1 ry1"}, []string{
			"T1 appended 1 to key 120, and T2 appended 2, which is not in [1], the longest state that was read (by transaction 3), so it came later"}},
		{[]string{"rx_ ax1", "rx_ ax2"}, []string{
			"T1 read [] from key 120, without 1, which T2 appended and which no read shows",
			"T1 and T2 both found nothing in key 120, then both wrote to it"}},
		{[]string{"wx1", "rx=1 wx2 wy1", "rx=1 ry=1"}, []string{
			"read 1 from key 120, and", "wrote 2, which came later, because", "read the one and then wrote the other",
			"read 1 from key 121, which"}},
		{[]string{"rx_ wy1", "ry_ wx1"}, []string{"read nothing from key 120, and", "because nothing had been written"}},
		{[]string{"p7 @0-10 ax1", "p7 @20-30 rx_"}, []string{"client 7 ran T", "(process)"}},
		{[]string{"rx=2 wx1", "rx=1 wx2"}, []string{"of key 120, ", "is before", "T1 read the one and then wrote the other", ": a contradiction"}},
	} {
		r := Check(context.Background(), parse(t, c.txns...), SessionSerializable, Options{})
		var all []string
		for _, e := range r.Evidence {
			all = append(all, e.Text)
		}
		text := strings.Join(all, "\n")
		expect.Text(t, c.txns, text, c.want...)
	}
	r := Check(context.Background(), parse(t, "@0-10 ax1", "@20-30 rx_"), StrictSerializable, Options{})
	if want := "T1 was acknowledged at 10, before T2 was begun at 20"; !strings.Contains(r.Evidence[0].Text, want) &&
		!strings.Contains(r.Evidence[0].Text, "T2 was acknowledged at 10, before T1 was begun at 20") {
		t.Errorf("%s does not say %q", r.Evidence[0].Text, want)
	}
	if v := r.Evidence[0].Txns; v[0].Text != "read [] from key 120" && v[1].Text != "read [] from key 120" {
		t.Errorf("%+v", v)
	}
}

// Evidence without a cycle also says which transactions it names, each once and in order.
func TestEvidenceNamesItsTransactions(t *testing.T) {
	for _, c := range []struct {
		anomaly, ends string
		txns          []string
	}{
		{"G1b", "T2 wrote to it again (T1 is transaction 2 of process 1002, T2 is transaction 1 of process 1001)", []string{"ax1 ax2", "rx1", "rx12"}},
		{"own-write-not-seen", "a list that ends in [1] (T1 is transaction 1 of process 7)", []string{"p7 ax1 rx_"}},
		{"own-write-not-seen", "to write 1 to key 120 (T1 is transaction 1 of process 7)", []string{"p7 wx1 rx=2", "wx2"}},
		{"lost-update", "missed the other's update (T1 is transaction 2 of process 7, T2 is transaction 3 of process 8)", []string{"ax1", "p7 rx1 ax2", "p8 rx1 ax3"}},
		{"G1a", "and T2 failed (T1 is transaction 2 of process 1002, T2 is transaction 1 of process 1001)", []string{"! ax1", "rx1"}},
		{"dirty-update", "T3 read [1 2] (T1 is transaction 1 of process 1001, T2 is transaction 2 of process 1002, T3 is transaction 3 of process 1003)",
			[]string{"! ax1", "ax2", "rx12"}},
		{"cyclic-versions", ": a contradiction (T1 is transaction 2 of process 1002, T2 is transaction 1 of process 1001)", []string{"rx=2 wx1", "rx=1 wx2"}},
	} {
		r := Check(context.Background(), parse(t, c.txns...), StrictSerializable, Options{})
		said := ""
		for _, e := range r.Evidence {
			if e.Anomaly == c.anomaly {
				said = e.Text
			}
		}
		if !strings.HasSuffix(said, c.ends) {
			t.Errorf("%v: %s says %q, which does not end in %q", c.txns, c.anomaly, said, c.ends)
		}
	}
}

func TestSnapshotReads(t *testing.T) {
	for name, c := range map[string]struct {
		want check.Verdict
		txns []string
	}{
		"one state":                        {check.Valid, []string{"ax1 ay1", "rx1 ry1"}},
		"half a transaction":               {check.Violated, []string{"ax1 ay1", "rx1 ry_"}},
		"half of one, of registers":        {check.Violated, []string{"wx1 wy1", "rx=1 ry_"}},
		"read again":                       {check.Violated, []string{"ax1", "rx_ rx1"}},
		"read again, a register":           {check.Violated, []string{"wx1", "rx_ rx=1"}},
		"what it wrote shows what is new":  {check.Valid, []string{"ax1", "rx_ ax2 rx12"}},
		"and a plain read does not":        {check.Valid, []string{"ax1 ay1", "rx_ ax2 rx12 ry_"}},
		"a plain read after it, of others": {check.Violated, []string{"ax1 ay1", "rx_ az1 ry1"}},
		"a lost update":                    {check.Valid, []string{"rx_ wx1", "rx_ wx2", "rx=2"}},
		"two in both orders":               {check.Violated, []string{"ax1", "ay1", "rx1 ry_", "rx_ ry1"}},
		"write skew":                       {check.Valid, []string{"rx_ ay1", "ry_ ax1", "rx1 ry1"}},
		"what was undone":                  {check.Violated, []string{"! ax1", "rx1"}},
		"its own write unseen":             {check.Violated, []string{"ax1 rx_"}},
	} {
		r := Check(context.Background(), parse(t, c.txns...), SnapshotReads, Options{})
		checkReport(t, name, r)
		if r.Verdict != c.want || c.want == check.Violated && !slices.Contains(append(r.Not, r.AlsoNot...), SnapshotReads) {
			t.Errorf("%s: %v %v %s, not %v", name, r.Verdict, r.Anomalies, r.Reason, r.Not)
		}
	}
}

func TestLongListsAreCut(t *testing.T) {
	for elements, want := range map[int]string{
		10: "read [1 2 3 4 5 6 7 8 9 10] from key 120",
		11: "read [(1 element) 2 3 4 5 6 7 8 9 10 11] from key 120",
		12: "read [(2 elements) 3 4 5 6 7 8 9 10 11 12] from key 120",
	} {
		read := Txn{ID: 1, Complete: 10, Outcome: history.Committed, Ops: []Op{{Kind: ReadList, Key: 'x'}}}
		for v := range int64(elements) {
			read.Ops[0].List = append(read.Ops[0].List, v+1)
		}
		r := Check(context.Background(), build(t, []Txn{read}), Serializable, Options{}) // nobody wrote them
		if len(r.Evidence) == 0 || r.Evidence[0].Txns[0].Text != want || !strings.Contains(r.Evidence[0].Text, want) {
			t.Errorf("%d elements: %+v, want %q", elements, r.Evidence, want)
		}
	}
}

// FuzzCheck judges arbitrary histories by every model. It must not panic, and whatever rules out a
// model must rule out all above it.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03abcdefgh"))
	f.Add([]byte{1, 0, 9, 0x11, 1, 0x23, 2, 3, 4, 0, 1, 0x32, 7, 7, 2, 9, 0x14, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := build(t, decode(data))
		verdicts := map[Model]check.Verdict{}
		for _, m := range Models() {
			r := Check(context.Background(), h, m, Options{SequentialKeys: len(data)%2 == 0, LinearizableKeys: len(data)%3 == 0})
			checkReport(t, string(m), r)
			verdicts[m] = r.Verdict
			for _, not := range append(r.Not, r.AlsoNot...) {
				if verdicts[not] == check.Valid {
					t.Fatalf("%s was valid, but %s rules it out by %v%s", not, m, r.Anomalies, show(decode(data)))
				}
			}
		}
	})
}

var outcomes = []history.Outcome{history.Committed, history.Committed, history.Unknown, history.Failed}

// decode makes transactions of bytes. Elements and values go up to 7, so that they meet; keys 0 to
// 1 are lists, 2 to 3 registers.
func decode(data []byte) []Txn {
	next := func() int64 {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return int64(b)
	}
	var txns []Txn
	written := map[[2]int64]bool{}
	for len(data) > 0 && len(txns) < 16 {
		head := next()
		txn := Txn{ID: int64(len(txns)), Process: int32(head & 3), Invoke: next() & 31, Outcome: outcomes[head>>2&3]}
		txn.Complete = txn.Invoke + head>>4
		for range 1 + next()&3 {
			b := next()
			key, value := b&3, b>>2&7
			op := Op{Key: key, Kind: ReadNothing}
			switch b >> 5 & 3 {
			case 0, 1:
				op.Kind, op.Value = Append, value
				if key >= 2 {
					op.Kind = Write
				}
				if written[[2]int64{key, value}] {
					continue
				}
				written[[2]int64{key, value}] = true
			case 2:
				if op.Kind, op.Value = ReadValue, value; key < 2 {
					op.Kind, op.Value = ReadList, 0
					for range value {
						op.List = append(op.List, next()&7)
					}
				}
			}
			txn.Ops = append(txn.Ops, op)
		}
		txns = append(txns, txn)
	}
	return txns
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		txns []string
		size Size
	}{
		{[]string{"ax1", "! ax2", "ax3", "rx123"}, Size{Transactions: 4, Committed: 3, Operations: 4, Keys: 1, Dependencies: 2}},
		{[]string{"! ax1", "rx1"}, Size{Transactions: 2, Committed: 1, Operations: 2, Keys: 1}},
		{[]string{"ax1", "! ax2", "? ax3", "rx1"}, Size{Transactions: 4, Committed: 2, Unknown: 1, Operations: 4, Keys: 1, Dependencies: 3}},
		{[]string{"ax1 ry_", "ay1 rx_ rx_", "rx1 ry1"}, Size{Transactions: 3, Committed: 3, Operations: 7, Keys: 2, Dependencies: 4, Components: 1}},
		{[]string{"! wx1", "wx2", "rx=2", "rx_"}, Size{Transactions: 4, Committed: 3, Operations: 4, Keys: 1, Dependencies: 2}},
	} {
		if r := Check(context.Background(), parse(t, c.txns...), Serializable, Options{}); r.Size != c.size {
			t.Errorf("%v: %+v, want %+v", c.txns, r.Size, c.size)
		}
	}
}
