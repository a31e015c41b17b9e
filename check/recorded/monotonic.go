package recorded

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"assay/check"
	"assay/history/exchange"
)

const kindOrder = "out-of-order"

// monotonic judges rows that hold a transaction's time and a value, one more than the greatest
// before (CockroachDB's monotonic). In the order of the times, the values of the last read must
// ascend. No row may be lost, doubled, or there before it was added.
type monotonic struct {
	added       map[int64]Operation // by value
	last        Operation
	rows        []row
	reads, adds int64
}

type row struct {
	value int64
	time  *big.Rat
	text  string // the time as it was written
}

// newMonotonic judges an :add invoked with nil and answered with a row such as
// {:val 3, :sts 1500.1}, and a :read answered with a list of rows.
func newMonotonic() *judge {
	m := &monotonic{added: map[int64]Operation{}}
	return &judge{functions: []function{{word: "add", take: asking(m.add)}, {word: "read", take: answered(m.read)}}, result: m.result}
}

func (m *monotonic) add(o *exchange.Operation, by Operation) error {
	m.adds++
	if !by.Acknowledged() {
		return nil
	}
	r, err := rowOf(&o.Answer)
	if err == nil {
		m.added[r.value] = by
	}
	return err
}

func (m *monotonic) read(by Operation, answer *exchange.Value) error {
	if answer.Form != exchange.List {
		return unfit("a list of rows such as {:val 3, :sts 1500.1}")
	}
	var rows []row
	for i := range answer.Items {
		r, err := rowOf(&answer.Items[i])
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	m.reads++
	if m.reads == 1 || by.Invoke > m.last.Invoke {
		m.last, m.rows = by, rows
	}
	return nil
}

func rowOf(v *exchange.Value) (row, error) {
	const want unfit = "a row such as {:val 3, :sts 1500.1}"
	value, time := v.Field("val"), v.Field("sts")
	if value == nil || time == nil {
		return row{}, want
	}
	r, err := row{text: time.Atom.Text}, error(nil)
	if r.value, err = number(value, want); err != nil {
		return r, err
	}
	if time.Atom.Kind == exchange.Number {
		r.text = fmt.Sprint(time.Atom.Int)
	}
	r.text = strings.TrimSuffix(r.text, "M") // Clojure's decimal
	// An exponent could give the number any size.
	ok := len(r.text) <= 100 && !strings.ContainsAny(r.text, "eEpPx_")
	if ok {
		r.time, ok = new(big.Rat).SetString(r.text)
	}
	if !ok {
		return r, unfit("a time :sts that is a number")
	}
	return r, nil
}

func (m *monotonic) result(context.Context) check.Result {
	f := newFindings(kindLost, kindDuplicate, kindFuture, kindOrder)
	seen := map[int64]bool{}
	for i := range m.rows {
		one := &m.rows[i]
		if seen[one.value] {
			f.add(kindDuplicate, &m.last, "found the value %d in two rows", one.value)
		}
		seen[one.value] = true
		if by, known := m.added[one.value]; known && m.last.Before(&by) {
			f.add(kindFuture, &m.last, "found the value %d before %s began to add it", one.value, &by)
		}
		if i == 0 {
			continue
		}
		before := &m.rows[i-1]
		if late := before.time.Cmp(one.time) > 0; late || before.value > one.value {
			f.add(kindOrder, &m.last, "found, in the order of time, the value %d of time %s before the value %d of time %s",
				before.value, before.text, one.value, one.text)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(m.added)) {
		if by := m.added[value]; m.reads > 0 && !seen[value] && by.Before(&m.last) {
			f.add(kindLost, &by, "added the value %d, which was acknowledged, but %s, begun later, did not find it", value, &m.last)
		}
	}
	detail := fmt.Sprintf("%s, %s acknowledged; the last of %s found %s", plural(m.adds, "addition"),
		check.CountOrNone(len(m.added)), plural(m.reads, "read"), plural(len(m.rows), "row"))
	return f.result("monotonic", detail, "", len(m.rows) == 0, "no read found a row, so nothing can be said")
}
