package ledger

import (
	"encoding/binary"
	"math"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

// FuzzJudge gives a judge arbitrary input in any order. It must not panic, must answer each check,
// and must count what it lists.
func FuzzJudge(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"))
	f.Add([]byte("\x00\x00\x00\x11\x00\x01\x00\x00\x05\x05\x02\x00\x00\x01\x02\x00\x00\x03\xff\xff"))
	f.Add([]byte("00000000020001000")) // a row that is no entry, and after it more of the history
	f.Fuzz(func(t *testing.T, data []byte) {
		in := input(data)
		b := audited(books(3))
		b.Expect = func(id int64) (int64, int64, int64) { return id & 3, id >> 2 & 3, id }
		j, err := New(b)
		expect.NoError(t, err)
		for range 200 {
			if len(in) == 0 {
				break
			}
			switch in.byte() % 6 {
			case 0:
				op := history.Op{Client: int(in.number()), Seq: uint64(in.number()), Attempt: int(in.byte()),
					Last: in.byte()%4 > 0, Kind: in.byte() % 4, Outcome: history.Outcome(in.byte() % 8), Final: history.Outcome(in.byte() % 8)}
				for range in.byte() % 6 {
					op.Values = append(op.Values, in.number())
				}
				j.Op(&op)
			case 1:
				j.Reserve(history.Reservation{Client: int(in.number()), UpTo: uint64(in.number())})
			case 2:
				j.Row(Row{in.number(), in.number(), in.number(), in.number(), in.number(), in.number()})
			case 3:
				j.Account(in.number(), in.number(), in.number())
			case 4:
				j.Incomplete(Part(in.byte()%4), "torn")
			default:
				j.Results()
			}
		}
		results := j.Results()
		if len(results) != 5 {
			t.Fatalf("%d results", len(results))
		}
		for _, r := range results {
			if (r.Verdict == check.Violated) != (r.Found > 0) || r.Found < int64(len(r.Evidence)) || r.Detail == "" {
				t.Errorf("%s is %v with %d found and %d listed: %q", r.Name, r.Verdict, r.Found, len(r.Evidence), r.Detail)
			}
		}
	})
}

// input makes numbers of bytes, mostly small ones and extreme ones.
type input []byte

func (in *input) byte() byte {
	if len(*in) == 0 {
		return 0
	}
	b := (*in)[0]
	*in = (*in)[1:]
	return b
}

func (in *input) number() int64 {
	switch b := in.byte(); {
	case b < 200:
		return int64(b) % 6
	case b < 210:
		return math.MaxInt64 - int64(b-200)
	case b < 220:
		return math.MinInt64 + int64(b-210)
	case b < 230:
		return int64(b-225)<<40 | 1
	default:
		var raw [8]byte
		for i := range raw {
			raw[i] = in.byte()
		}
		return int64(binary.LittleEndian.Uint64(raw[:]))
	}
}
