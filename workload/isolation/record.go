package isolation

import (
	"errors"

	"assay/history"
)

// The history.Op.Kind of a transaction, by what it is made of.
const (
	KindAppend uint8 = iota + 1
	KindRegister
	KindPredicate
	KindPairs
)

// kindOf returns the history's kind of a transaction, which is never empty.
func kindOf(ops []Op) uint8 {
	switch ops[0].Kind {
	case Append, AppendByRewrite, ReadList:
		return KindAppend
	case Write, ReadValue:
		return KindRegister
	case Insert, Count:
		return KindPredicate
	default:
		return KindPairs
	}
}

// moments is the kind of what stands behind the operations of a transaction that committed: how many
// numbers follow, and these, of each statement when it was sent and when it was answered, and when
// COMMIT was sent, all in microseconds since the number before, the first since the attempt began.
const moments Kind = 100

// unread stands in a record for the result of an operation whose transaction
// was not acknowledged.
const unread = -1

// Encode appends the transaction to dst as it stands in history.Op.Values.
// Each operation is its kind and its key, and then:
//
//	Append, AppendByRewrite, Write, Insert: the element
//	ReadList: how many elements were read, then these
//	ReadValue: 1 and the value, or 0 if there was none
//	Count: the number of rows
//	Withdraw: the side, and what was read of both (Op.Result)
//
// Without results, ReadList, ReadValue, Count and the last number of Withdraw
// are -1. fits is false, and dst is returned as it was, if this is more than
// history.MaxValues.
func Encode(dst []int64, ops []Op, results bool) (values []int64, fits bool) {
	size := 0
	for i := range ops {
		size += 4 + len(ops[i].List)
	}
	if results && size > history.MaxValues {
		return dst, false
	}
	values = dst
	for i := range ops {
		o := &ops[i]
		values = append(values, int64(o.Kind), o.Key)
		switch {
		case o.Kind == Withdraw && results:
			values = append(values, o.Value, o.Result)
		case o.Kind == Withdraw:
			values = append(values, o.Value, unread)
		case !o.Kind.reads():
			values = append(values, o.Value)
		case !results:
			values = append(values, unread)
		case o.Kind == ReadList:
			values = append(values, int64(len(o.List)))
			values = append(values, o.List...)
		case o.Kind == Count:
			values = append(values, o.Value)
		case o.Found:
			values = append(values, 1, o.Value)
		default:
			values = append(values, 0)
		}
	}
	return values, true
}

// reads says that an operation gives nothing but takes a result.
func (k Kind) reads() bool { return k == ReadList || k == ReadValue || k == Count }

var errRecord = errors.New("isolation: the record of a transaction cannot be understood")

// Decode is the inverse of Encode. The ops are put into dst; their lists are
// parts of values. results is false if the record has none. What is not a
// record of a transaction gives an error.
func Decode(values []int64, dst []Op) (ops []Op, results bool, err error) {
	ops, results = dst[:0], true
	d := decoder{values: values}
	for len(d.values) > 0 && !d.bad {
		kind := d.next()
		o := Op{Kind: Kind(kind), Key: d.next()}
		d.bad = d.bad || kind != int64(o.Kind)
		switch o.Kind {
		case Append, AppendByRewrite, Write, Insert:
			o.Value = d.next()
		case ReadList:
			o.List = d.take(d.result(&results))
		case ReadValue:
			if o.Found = d.result(&results) > 0; o.Found {
				o.Value = d.next()
			}
		case Count:
			o.Value = d.result(&results)
		case Withdraw:
			o.Value = d.next()
			o.Result = d.result(&results)
		case moments:
			d.take(o.Key)
			continue
		default:
			d.bad = true
		}
		ops = append(ops, o)
	}
	if d.bad || len(ops) == 0 {
		return nil, false, errRecord
	}
	return ops, results, nil
}

type decoder struct {
	values []int64
	bad    bool
}

func (d *decoder) next() int64 {
	one := d.take(1)
	if d.bad {
		return 0
	}
	return one[0]
}

// result takes the number that begins a result, and returns 0 for one that is
// not there.
func (d *decoder) result(there *bool) int64 {
	n := d.next()
	d.bad = d.bad || n < unread
	*there = *there && n != unread
	return max(n, 0)
}

func (d *decoder) take(n int64) []int64 {
	if n < 0 || n > int64(len(d.values)) {
		d.bad = true
		return nil
	}
	taken := d.values[:n:n]
	d.values = d.values[n:]
	return taken
}
