package visibility

import (
	"context"
	"fmt"

	"assay/check"
	"assay/check/operation"
	"assay/history/exchange"
)

// AdyaG2 judges pairs of inserts, each of which is to happen only if a predicate
// read finds no row of the other (jepsen.tests.adya): of each key, at most one is
// acknowledged. Two are Adya's G2: serializability forbids them.
type AdyaG2 struct {
	first   map[exchange.Atom]operation.Operation
	inserts int64
	f       *operation.Findings
}

// NewAdyaG2 returns a judge.
func NewAdyaG2() *AdyaG2 {
	return &AdyaG2{first: map[exchange.Atom]operation.Operation{}, f: operation.NewFindings(kindG2)}
}

// Add takes one operation, an :insert of [key [a nil]] or [key [nil b]]. Any
// other is an error.
func (g *AdyaG2) Add(o *exchange.Operation) error {
	if o.Word != "insert" {
		return operation.UnknownFunction(o, "insert")
	}
	key, rows, ok := o.Request.Pair()
	if ok {
		_, _, ok = rows.Pair()
	}
	if !ok || key.Form != exchange.Scalar {
		return operation.Unfit(o, "[key [a b]] with the id of one row")
	}
	g.inserts++
	by := operation.Of(o)
	if !by.Acknowledged() {
		return nil
	}
	first, again := g.first[key.Atom]
	if !again {
		g.first[key.Atom] = by
		return nil
	}
	g.f.Add(kindG2, &by, "inserted %s, as %s did: each must have missed the other's row", o.Request.String(), &first)
	return nil
}

// Result returns the answer over all operations.
func (g *AdyaG2) Result(context.Context) check.Result {
	r := check.Result{Name: "adya-g2", Detail: fmt.Sprintf("%s, acknowledged for %s", operation.Plural(g.inserts, "insert"), operation.Plural(len(g.first), "key"))}
	g.f.Into(&r)
	if n := g.f.Count(kindG2); n > 0 {
		r.Detail += fmt.Sprintf("; %s more than one of a key", check.Count(n))
	}
	r.Finish("", len(g.first) == 0, "no insert was acknowledged, so nothing can be said")
	return r
}
