package isolation

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
)

var everything = []Op{
	{Kind: Append, Key: 2, Value: 21},
	{Kind: AppendByRewrite, Key: 4, Value: 22},
	{Kind: ReadList, Key: 6, List: []int64{1, -5, math.MaxInt64}},
	{Kind: ReadList, Key: 8},
	{Kind: Write, Key: 3, Value: 23},
	{Kind: ReadValue, Key: 5, Value: -7, Found: true},
	{Kind: ReadValue, Key: 7},
	{Kind: Insert, Key: 1, Value: 24},
	{Kind: Count, Key: 1, Value: 12},
	{Kind: Withdraw, Key: 9, Value: 1, Result: 2},
}

// plainOps makes ops comparable: an empty list is a list.
func plainOps(ops []Op) []Op {
	out := append([]Op(nil), ops...)
	for i := range out {
		if len(out[i].List) == 0 {
			out[i].List = nil
		}
	}
	return out
}

func TestRecord(t *testing.T) {
	values, fits := Encode([]int64{99}, everything, true)
	if !fits || values[0] != 99 {
		t.Fatal(values, fits)
	}
	ops, results, err := Decode(values[1:], nil)
	if err != nil || !results || !reflect.DeepEqual(plainOps(ops), plainOps(everything)) {
		t.Errorf("%+v, %v, %v", ops, results, err)
	}

	values, fits = Encode(nil, everything, false)
	ops, results, err = Decode(values, ops)
	if !fits || err != nil || results || len(ops) != len(everything) {
		t.Fatalf("without results: %+v, %v, %v", ops, results, err)
	}
	for i, o := range ops {
		want := everything[i]
		if o.Kind != want.Kind || o.Key != want.Key || !want.Kind.reads() && o.Value != want.Value || len(o.List) > 0 || o.Found {
			t.Errorf("without results: %+v, want %+v", o, want)
		}
	}
}

func TestRecordTooLong(t *testing.T) {
	list := make([]int64, history.MaxValues)
	for name, ops := range map[string][]Op{
		"one list":  {{Kind: ReadList, Key: 2, List: list}},
		"two lists": {{Kind: ReadList, Key: 2, List: list[:history.MaxValues/2]}, {Kind: ReadList, Key: 4, List: list[:history.MaxValues/2]}},
	} {
		if values, fits := Encode([]int64{1}, ops, true); fits || len(values) != 1 {
			t.Errorf("%s: %d values fit", name, len(values))
		}
		if values, fits := Encode(nil, ops, false); !fits || len(values) != 3*len(ops) {
			t.Errorf("%s without results: %d values, %v", name, len(values), fits)
		}
	}
	values, fits := Encode(nil, []Op{{Kind: ReadList, Key: 2, List: list[:history.MaxValues-4]}}, true)
	if !fits || len(values) > history.MaxValues {
		t.Errorf("a long list: %d values, %v", len(values), fits)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, values := range map[string][]int64{
		"nothing": {}, "no key": {1}, "no element": {1, 2}, "kind 0": {0, 1, 2}, "kind 9": {9, 1, 2},
		"a kind that only looks like one": {257, 1, 2}, "a short list": {int64(ReadList), 1, 3, 7, 7},
		"a negative length": {int64(ReadList), 1, -2}, "a length beyond all": {int64(ReadList), 1, math.MaxInt64},
		"no value": {int64(ReadValue), 1, 1}, "no result": {int64(Withdraw), 1, 1}, "a rest": {1, 2, 3, 1},
	} {
		if ops, _, err := Decode(values, nil); err == nil {
			t.Errorf("%s: %+v", name, ops)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{1, 2, 3, 3, 6, 2, 9, 9})
	f.Add([]byte{8, 1, 0, 255, 5, 5, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		values := make([]int64, len(raw))
		for i, b := range raw {
			values[i] = int64(int8(b))
		}
		ops, results, err := Decode(values, nil)
		if err != nil {
			return
		}
		again, fits := Encode(nil, ops, results)
		decoded, _, err := Decode(again, nil)
		if !fits || err != nil || len(decoded) != len(ops) {
			t.Errorf("%v: %+v became %v, then %+v, %v", values, ops, again, decoded, err)
		}
	})
}

// TestMoments: a record with moments is one of the same operations, and gives the statements with
// the times of the history; one without, as earlier versions made it, gives none.
func TestMoments(t *testing.T) {
	ops := []Op{{Kind: ReadList, Key: 2, List: []int64{16, 32}}, {Kind: Append, Key: 2, Value: 48}}
	values, _ := Encode(nil, ops, true)
	op := history.Op{Start: 1_000_000, End: 9_000_000, Values: values}
	if got := statementsOf(&op); got != nil {
		t.Errorf("a record without moments gives %+v", got)
	}
	op.Values = append(slices.Clone(values), int64(moments), 5, 10, 200, 5, 300, 1)
	decoded, results, err := Decode(op.Values, nil)
	if err != nil || !results || len(decoded) != 2 {
		t.Fatalf("decoded %+v, %v, %v", decoded, results, err)
	}
	want := []check.Statement{{Text: "BEGIN", Sent: 1_000_000, Answered: -1}, {Text: "read key 2", Answer: "gives [16 32]", Sent: 1_010_000, Answered: 1_210_000},
		{Text: "append 48 to key 2", Sent: 1_215_000, Answered: 1_515_000}, {Text: "COMMIT", Sent: 1_516_000, Answered: 9_000_000}}
	if got := statementsOf(&op); !slices.Equal(got, want) {
		t.Errorf("the statements are %+v", got)
	}
}
