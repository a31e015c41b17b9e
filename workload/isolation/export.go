package isolation

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/history/exchange"
	"assay/workload/definition"
)

type exported struct {
	kind  uint8
	steps []Op
}

// Export exports lists of a run of all tests, unless test is "register".
func (c *Config) Export(_ uint64, test string) (definition.Exported, error) {
	if test != "" && c.Test != "all" && c.Test != test {
		return nil, fmt.Errorf("holds no transactions of test %s", test)
	}
	switch cmp.Or(test, c.Test) {
	case "register":
		return &exported{kind: KindRegister}, nil
	case "predicate", "pairs":
		return nil, fmt.Errorf("holds a run of test %s, for which other tools have no form", c.Test)
	}
	return &exported{kind: KindAppend}, nil
}

func (e *exported) Has(kind uint8) (is bool, other string) {
	return kind == e.kind, map[uint8]string{
		KindAppend:    "transactions over lists, which --test append writes",
		KindRegister:  "transactions over registers, which --test register writes",
		KindPredicate: "transactions over counted groups, for which other tools have no form",
		KindPairs:     "transactions over pairs of rows, for which other tools have no form",
	}[kind]
}

func (e *exported) Rows() int64 { return 0 }

func (e *exported) Opening(*exchange.Operation) bool { return false }

func (e *exported) Attempt(op *history.Op, to *exchange.Operation) error {
	steps, results, err := Decode(op.Values, e.steps)
	if err != nil {
		return err
	}
	e.steps = steps
	to.Function = exchange.Transaction
	for i := range steps {
		to.Txn = append(to.Txn, microOp(&steps[i], results))
	}
	return nil
}

func microOp(o *Op, results bool) exchange.MicroOp {
	m := exchange.MicroOp{Key: exchange.Int64(o.Key), Value: exchange.Int64(o.Value)}
	switch {
	case o.Kind == Append || o.Kind == AppendByRewrite:
		m.Kind = exchange.Append
	case o.Kind == Write:
		m.Kind = exchange.Put
	case o.Kind == ReadList && results && len(o.List) > 0:
		m.Kind, m.Value, m.List = exchange.GetList, exchange.Atom{}, atoms(o.List)
	case o.Kind == ReadValue && results && o.Found:
		m.Kind = exchange.GetValue
	default:
		m.Kind, m.Value = exchange.GetNothing, exchange.Atom{}
	}
	return m
}

func atoms(values []int64) []exchange.Atom {
	out := make([]exchange.Atom, len(values))
	for i, v := range values {
		out[i] = exchange.Int64(v)
	}
	return out
}

func (e *exported) Last(state string, to *exchange.Operation) error {
	to.Function = exchange.Transaction
	return Replay(state, func(key int64, elements []int64) error {
		if e.kind == KindAppend {
			to.Txn = append(to.Txn, exchange.MicroOp{Kind: exchange.GetList, Key: exchange.Int64(key), List: atoms(elements)})
		}
		return nil
	}, func(key, value int64) error {
		if e.kind == KindRegister {
			to.Txn = append(to.Txn, exchange.MicroOp{Kind: exchange.GetValue, Key: exchange.Int64(key), Value: exchange.Int64(value)})
		}
		return nil
	})
}

// Reduce judges losses that the model permits against strict serializability.
func (c *Config) Reduce(ctx context.Context, seed uint64, e definition.Evidence, model string) (definition.Reduced, error) {
	config := *c
	config.Model = cmp.Or(model, c.Model)
	judged, err := Judge(ctx, config, seed, e)
	if err != nil {
		return definition.Reduced{}, err
	}
	results := judged.Results
	violated := func(durability bool) bool {
		return slices.ContainsFunc(results, func(r check.Result) bool {
			return r.Verdict == check.Violated && (r.Name == "durability") == durability
		})
	}
	if violated(true) && !violated(false) && model == "" && !config.Rewrite {
		config.Model = string(cycle.StrictSerializable)
		judged, err = Judge(ctx, config, seed, e)
	}
	return definition.Reduced{Smallest: judged.Smallest, Model: judged.Model, Results: results}, err
}
