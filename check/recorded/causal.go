package recorded

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

const (
	kindCausal = "causality-violation"
	kindG2     = "G2"
)

// causal judges a causal register (jepsen.tests.causal). It holds 0, and then 1, 2 and so on are
// written. Each operation causally follows the one that its link names, and must see the state
// left by it. Operations take effect in the order of their completions, which is the order of
// their causes. A history has many registers, each with its own key.
type causal struct {
	// values are what the register can hold: one, unless a write's outcome was unknown (unsure).
	values, unsure []int64
	last           exchange.Value // the position of the operation before
	linked         bool           // last is known
	count, reads   int64
	// broken means that an operation contradicted the others: later ones are not judged.
	broken bool
	f      *findings
}

// newCausal judges a :read-init, :read and :write of one register.
func newCausal() *judge {
	c := &causal{values: []int64{0}, f: newFindings(kindCausal)}
	read := asking(func(o *exchange.Operation, by Operation) error { return c.take(o, by, &o.Answer) })
	write := func(o *exchange.Operation, by Operation) error {
		if o.Request.IsNil() {
			return unfit("a whole number")
		}
		return c.take(o, by, &o.Request)
	}
	return &judge{functions: []function{{word: "read-init", take: read}, {word: "read", take: read}, {word: "write", take: write}}, result: c.result}
}

func (c *causal) take(o *exchange.Operation, by Operation, value *exchange.Value) error {
	v, err := number(value, "a whole number")
	if err != nil && !value.IsNil() {
		return err
	}
	c.count++
	switch {
	case c.broken || o.Outcome == history.Failed:
	case by.Acknowledged():
		c.step(o, by, value, v)
	case o.Word == "write":
		c.unsure = append(c.unsure, v)
		c.linked = false
	}
	return nil
}

func (c *causal) step(o *exchange.Operation, by Operation, value *exchange.Value, v int64) {
	if c.linked && !o.Link.IsNil() && o.Link.Word() != "init" && o.Link.String() != c.last.String() {
		c.add(&by, "is linked to the position %s, but the operation before it has the position %s", o.Link.String(), c.last.String())
		return
	}
	c.last, c.linked = o.Position.Clone(), !o.Position.IsNil()
	c.settle()
	switch write := o.Word == "write"; {
	case write && !slices.Contains(c.values, v-1):
		c.add(&by, "wrote %d, which comes after %d, but the register held %s", v, v-1, c.held())
	case write:
		c.values = []int64{v}
	case value.IsNil(): // says nothing
	case !slices.Contains(c.values, v):
		c.add(&by, "read %d, but the register held %s: it had been written before, and this is causally after that", v, c.held())
	default:
		c.reads++
		c.values = []int64{v}
	}
}

func (c *causal) add(by *Operation, format string, args ...any) {
	c.broken = true
	c.f.add(kindCausal, by, format, args...)
}

// settle adds the values that writes of unknown outcome may have left by now.
func (c *causal) settle() {
	for more := true; more; {
		more = false
		for _, v := range c.unsure {
			if slices.Contains(c.values, v-1) && !slices.Contains(c.values, v) {
				c.values, more = append(c.values, v), true
			}
		}
	}
}

func (c *causal) held() string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(c.values), "[]")), " or ")
}

func (c *causal) result(context.Context) check.Result {
	return c.f.result("causal", plural(c.count, "operation")+" of a causal register", "", c.reads == 0, "no read was answered, so nothing can be said")
}

// pairs judges pairs of inserts (jepsen.tests.adya). Each insert may happen only if a predicate
// read finds no row of the other, so at most one of each key may be acknowledged. Two are Adya's
// G2, which serializability forbids.
type pairs struct {
	first   map[exchange.Atom]Operation
	inserts int64
	f       *findings
}

// newAdyaG2 judges an :insert of [key [a nil]] or [key [nil b]].
func newAdyaG2() *judge {
	g := &pairs{first: map[exchange.Atom]Operation{}, f: newFindings(kindG2)}
	return &judge{functions: []function{{word: "insert", take: g.insert}}, result: g.result}
}

func (g *pairs) insert(o *exchange.Operation, by Operation) error {
	key, rows, ok := o.Request.Pair()
	if ok {
		_, _, ok = rows.Pair()
	}
	if !ok || key.Form != exchange.Scalar {
		return unfit("[key [a b]] with the id of one row")
	}
	g.inserts++
	if first, again := g.first[key.Atom]; by.Acknowledged() && again {
		g.f.add(kindG2, &by, "inserted %s, as %s did: each must have missed the other's row", o.Request.String(), &first)
	} else if by.Acknowledged() {
		g.first[key.Atom] = by
	}
	return nil
}

func (g *pairs) result(context.Context) check.Result {
	detail := fmt.Sprintf("%s, acknowledged for %s", plural(g.inserts, "insert"), plural(len(g.first), "key"))
	if n := g.f.Count(kindG2); n > 0 {
		detail += fmt.Sprintf("; %s more than one of a key", check.Count(n))
	}
	return g.f.resultAs("adya-g2", detail, "", len(g.first) == 0, "no insert was acknowledged, so nothing can be said")
}
