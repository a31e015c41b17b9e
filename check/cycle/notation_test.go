package cycle_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	. "assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
)

// write parses one transaction, in words separated by blanks:
//
//	!, ?      it failed, or its end is unknown
//	p1        its process is 1 (by default a number of its own)
//	@10-20    it was invoked at 10 and completed at 20 (by default 0 and 1000)
//	ax1       append 1 to x       rx12  read [1 2] from x    rx_  read nothing
//	wx1       write 1 to x        rx=1  read 1 from the register x
func write(t testing.TB, id int, text string) Txn {
	t.Helper()
	txn := Txn{ID: int64(id), Process: int32(1000 + id), Complete: 1000, Outcome: history.Committed}
	for _, w := range strings.Fields(text) {
		switch {
		case w == "!":
			txn.Outcome = history.Failed
		case w == "?":
			txn.Outcome = history.Unknown
		case w[0] == 'p':
			n, err := strconv.Atoi(w[1:])
			expect.NoError(t, err)
			txn.Process = int32(n)
		case w[0] == '@':
			if _, err := fmt.Sscanf(w, "@%d-%d", &txn.Invoke, &txn.Complete); err != nil {
				t.Fatal(err)
			}
		default:
			txn.Ops = append(txn.Ops, writeOp(w))
		}
	}
	return txn
}

func writeOp(w string) Op {
	o := Op{Key: int64(w[1])}
	digit := func(i int) int64 { return int64(w[i] - '0') }
	switch {
	case w[0] == 'a':
		o.Kind, o.Value = Append, digit(2)
	case w[0] == 'w':
		o.Kind, o.Value = Write, digit(2)
	case w[2:] == "_":
		o.Kind = ReadNothing
	case w[2] == '=':
		o.Kind, o.Value = ReadValue, digit(3)
	default:
		o.Kind = ReadList
		for i := 2; i < len(w); i++ {
			o.List = append(o.List, digit(i))
		}
	}
	return o
}

func build(t testing.TB, txns []Txn) *History {
	t.Helper()
	var b Builder
	for _, txn := range txns {
		expect.NoError(t, b.Add(txn))
	}
	return b.History()
}

func parse(t testing.TB, lines ...string) *History {
	t.Helper()
	var txns []Txn
	for i, line := range lines {
		txns = append(txns, write(t, i+1, line))
	}
	return build(t, txns)
}

func show(txns []Txn) string {
	var b strings.Builder
	for _, t := range txns {
		fmt.Fprintf(&b, "\n  T%d p%d @%d-%d %v:", t.ID, t.Process, t.Invoke, t.Complete, t.Outcome)
		for _, o := range t.Ops {
			switch o.Kind {
			case Append:
				fmt.Fprintf(&b, " a%d:%d", o.Key, o.Value)
			case Write:
				fmt.Fprintf(&b, " w%d:%d", o.Key, o.Value)
			case ReadValue:
				fmt.Fprintf(&b, " r%d=%d", o.Key, o.Value)
			default:
				fmt.Fprintf(&b, " r%d:%v", o.Key, o.List)
			}
		}
	}
	return b.String()
}
