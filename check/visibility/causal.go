package visibility

import (
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Causal judges a causal register (jepsen.tests.causal): it holds 0, then 1, 2
// and so on are written, and each operation is causally after the one that its
// link names, so that it must see what that one left. Histories have many of
// them, each of a key of its own. Operations take effect in the order in which they
// completed, which is that of their causes.
type Causal struct {
	// values are what the register can hold, one unless a write was of unknown
	// outcome; unsure are those writes.
	values []int64
	unsure []int64
	last   exchange.Value // the position of the operation before
	linked bool           // last is known
	count  int64
	reads  int64
	// broken means that an operation has contradicted the others: what follows is
	// not judged.
	broken bool
	f      *operation.Findings
}

// NewCausal returns a judge of one register.
func NewCausal() *Causal {
	return &Causal{values: []int64{0}, f: operation.NewFindings(kindCausal)}
}

// Add takes one operation, a :read-init, :read or :write. Any other is an error.
func (c *Causal) Add(o *exchange.Operation) error {
	var value exchange.Value
	switch o.Word {
	case "read-init", "read":
		if err := operation.Nothing(o); err != nil {
			return err
		}
		value = o.Answer
	case "write":
		value = o.Request
		if value.IsNil() {
			return operation.Unfit(o, "a whole number")
		}
	default:
		return operation.UnknownFunction(o, "read-init, read and write")
	}
	if !value.IsNil() && (value.Form != exchange.Scalar || value.Atom.Kind != exchange.Number) {
		return operation.Unfit(o, "a whole number")
	}
	c.count++
	if c.broken || o.Outcome == history.Failed {
		return nil
	}
	if o.Outcome != history.Committed {
		if o.Word == "write" {
			c.unsure = append(c.unsure, value.Atom.Int)
			c.linked = false
		}
		return nil
	}
	c.step(o, &value)
	return nil
}

func (c *Causal) step(o *exchange.Operation, value *exchange.Value) {
	by := operation.Of(o)
	if c.linked && !o.Link.IsNil() && o.Link.Word() != "init" && o.Link.String() != c.last.String() {
		c.add(&by, "is linked to the position %s, but the operation before it has the position %s", o.Link.String(), c.last.String())
		return
	}
	c.last, c.linked = o.Position, !o.Position.IsNil()
	c.settle()
	v := value.Atom.Int
	switch {
	case o.Word == "write":
		if !slices.Contains(c.values, v-1) {
			c.add(&by, "wrote %d, which comes after %d, but the register held %s", v, v-1, c.held())
			return
		}
		c.values = []int64{v}
	case value.IsNil(): // says nothing
	case !slices.Contains(c.values, v):
		c.add(&by, "read %d, but the register held %s: it had been written before, and this is causally after that", v, c.held())
	default:
		c.reads++
		c.values = []int64{v}
	}
}

func (c *Causal) add(by *operation.Operation, format string, args ...any) {
	c.broken = true
	c.f.Add(kindCausal, by, format, args...)
}

// settle adds what writes of unknown outcome may have left by now.
func (c *Causal) settle() {
	for more := true; more; {
		more = false
		for _, v := range c.unsure {
			if slices.Contains(c.values, v-1) && !slices.Contains(c.values, v) {
				c.values, more = append(c.values, v), true
			}
		}
	}
}

func (c *Causal) held() string {
	text := ""
	for i, v := range c.values {
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprint(v)
	}
	return text
}

// Result returns the answer over all operations.
func (c *Causal) Result(context.Context) check.Result {
	r := c.f.Result("causal", operation.Plural(c.count, "operation")+" of a causal register")
	r.Finish("", c.reads == 0, "no read was answered, so nothing can be said")
	return r
}
