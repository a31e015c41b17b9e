package isolation

import (
	"errors"

	"assay/history"
)

// The kinds of transactions in the history.
const (
	KindAppend uint8 = iota + 1
	KindRegister
	KindPredicate
	KindPairs
)

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

// moments follows the operations of a committed transaction: a count, and then for each
// statement when it was sent and answered, and when COMMIT was sent. Each is in microseconds
// since the one before, the first since the attempt's start.
const moments Kind = 100

// unread stands for the result of a read that was not acknowledged.
const unread = -1

// Encode appends a transaction to dst in the form of history.Op.Values: each operation's kind
// and key, and then
//
//	Append, AppendByRewrite, Write, Insert: the element
//	ReadList: the number of elements, and these
//	ReadValue: 1 and the value, or 0 for none
//	Count: the number of rows
//	Withdraw: the side, and Op.Result
//
// Without results, -1 stands for each of them. If the values exceed history.MaxValues, fits is
// false and dst is unchanged.
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

// reads reports whether an operation's only value is its result.
func (k Kind) reads() bool { return k == ReadList || k == ReadValue || k == Count }

var errRecord = errors.New("isolation: the record of a transaction cannot be understood")

// Decode is the inverse of Encode. Lists of ops are parts of values. results is false if the
// record has none. A malformed record gives an error.
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

// result reads the first number of a result; 0 if there is none.
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
