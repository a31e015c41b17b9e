package visibility

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Monotonic judges rows each of which holds one more than the greatest before it,
// and the time of its transaction (CockroachDB's monotonic): in the order of those
// times, the values of the last read ascend, no row is lost, and none is
// there twice.
type Monotonic struct {
	added map[exchange.Atom]operation.Operation // by value
	last  operation.Operation
	rows  []row
	reads int64
	adds  int64
}

type row struct {
	value int64
	time  *big.Rat
	text  string // the time as it was written
}

// NewMonotonic returns a judge.
func NewMonotonic() *Monotonic { return &Monotonic{added: map[exchange.Atom]operation.Operation{}} }

// Add takes one operation: an :add invoked with nil and answered with a row such as
// {:val 3, :sts 1500.1}, or a :read answered with a list of rows. Any other is an error.
func (m *Monotonic) Add(o *exchange.Operation) error {
	if o.Word != "add" && o.Word != "read" {
		return operation.UnknownFunction(o, "add and read")
	}
	if err := operation.Nothing(o); err != nil {
		return err
	}
	if o.Word == "add" {
		m.adds++
	}
	if o.Outcome != history.Committed {
		return nil
	}
	if o.Word == "add" {
		r, err := rowOf(o, &o.Answer)
		if err == nil {
			m.added[exchange.Int64(r.value)] = operation.Of(o)
		}
		return err
	}
	if o.Answer.Form != exchange.List {
		return operation.Unfit(o, "a list of rows such as {:val 3, :sts 1500.1}")
	}
	var rows []row
	for i := range o.Answer.Items {
		r, err := rowOf(o, &o.Answer.Items[i])
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	m.reads++
	if by := operation.Of(o); m.reads == 1 || by.Invoke > m.last.Invoke {
		m.last, m.rows = by, rows
	}
	return nil
}

func rowOf(o *exchange.Operation, v *exchange.Value) (row, error) {
	value, time := v.Field("val"), v.Field("sts")
	if value == nil || time == nil || value.Form != exchange.Scalar || value.Atom.Kind != exchange.Number {
		return row{}, operation.Unfit(o, "a row such as {:val 3, :sts 1500.1}")
	}
	text := time.Atom.Text
	if time.Atom.Kind == exchange.Number {
		text = fmt.Sprint(time.Atom.Int)
	}
	if n := len(text); n > 0 && text[n-1] == 'M' { // Clojure's decimal
		text = text[:n-1]
	}
	at, ok := decimal(text)
	if !ok {
		return row{}, operation.Unfit(o, "a time :sts that is a number")
	}
	return row{value: value.Atom.Int, time: at, text: text}, nil
}

// decimal reads a number of bounded size: an exponent could make it any.
func decimal(text string) (*big.Rat, bool) {
	if len(text) > 100 {
		return nil, false
	}
	for _, c := range text {
		if c == 'e' || c == 'E' || c == 'p' || c == 'P' || c == 'x' || c == '_' {
			return nil, false
		}
	}
	return new(big.Rat).SetString(text)
}

// Result returns the answer over all operations.
func (m *Monotonic) Result(context.Context) check.Result {
	f := operation.NewFindings(kindLost, kindDuplicate, kindOrder)
	seen := map[int64]bool{}
	for i := range m.rows {
		one := &m.rows[i]
		if seen[one.value] {
			f.Add(kindDuplicate, &m.last, "found the value %d in two rows", one.value)
		}
		seen[one.value] = true
		if i == 0 {
			continue
		}
		before := &m.rows[i-1]
		if late := before.time.Cmp(one.time) > 0; late || before.value > one.value {
			f.Add(kindOrder, &m.last, "found, in the order of time, the value %d of time %s before the value %d of time %s",
				before.value, before.text, one.value, one.text)
		}
	}
	values := slices.Collect(maps.Keys(m.added))
	slices.SortFunc(values, compareAtoms)
	for _, value := range values {
		by := m.added[value]
		if m.reads > 0 && !seen[value.Int] && by.Before(&m.last) {
			f.Add(kindLost, &by, "added the value %d, which was acknowledged, but %s, begun later, did not find it", value.Int, &m.last)
		}
	}
	r := f.Result("monotonic", fmt.Sprintf("%s, %s acknowledged; the last of %s found %s", operation.Plural(m.adds, "addition"),
		check.CountOrNone(len(m.added)), operation.Plural(m.reads, "read"), operation.Plural(len(m.rows), "row")))
	r.Finish("", len(m.rows) == 0, "no read found a row, so nothing can be said")
	return r
}
