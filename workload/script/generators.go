package script

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/brianvoe/gofakeit/v7/data"
	"go.starlark.net/starlark"

	"assay/workload"
)

// generators is the script's r. Seed and operation decide its draws: each attempt draws the
// same.
type generators struct{ *call }

func generatorMembers() map[string]member[generators] {
	return map[string]member[generators]{
		"client": func(g generators, _ string) starlark.Value { return starlark.MakeInt(g.client) },
		"number": func(g generators, _ string) starlark.Value { return starlark.MakeUint64(g.seq) },
		"range":  method(generators.uniform), "distinct": method(generators.distinct), "float": method(generators.float),
		"zipf":        method(skewed(zipfian, 0.99)),
		"gaussian":    method(skewed(gaussian, 2.5)),
		"exponential": method(skewed(exponential, 5)),
		"chance":      method(generators.chance), "choice": method(generators.choice), "text": method(generators.text),
		"name": method(generators.person), "id": method(generators.identifier),
	}
}

func (g generators) uniform(a arguments) (starlark.Value, error) {
	var low, high int64
	if err := a.unpack("low", &low, "high", &high); err != nil {
		return nil, err
	}
	v, err := uniform(&g.random, low, high)
	return starlark.MakeInt64(v), err
}

// skewed draws by a distribution; usual is the default of its parameter.
func skewed(draw distribution, usual float64) func(generators, arguments) (starlark.Value, error) {
	return func(g generators, a arguments) (starlark.Value, error) {
		var low, high int64
		var given starlark.Value = starlark.Float(usual)
		if err := a.unpack("low", &low, "high", &high, "parameter?", &given); err != nil {
			return nil, err
		}
		parameter, is := starlark.AsFloat(given)
		if !is {
			return nil, fmt.Errorf("the parameter of %s is a number, not a %s", a.name, given.Type())
		}
		v, err := draw(&g.random, low, high, parameter)
		return starlark.MakeInt64(v), err
	}
}

func (g generators) distinct(a arguments) (starlark.Value, error) {
	var n, low, high int64
	if err := a.unpack("n", &n, "low", &low, "high", &high); err != nil {
		return nil, err
	}
	drawn, err := distinct(&g.random, n, low, high)
	if err != nil {
		return nil, err
	}
	all := make([]starlark.Value, len(drawn))
	for i, v := range drawn {
		all[i] = starlark.MakeInt64(v)
	}
	return starlark.NewList(all), nil
}

func (g generators) float(a arguments) (starlark.Value, error) {
	if err := a.unpack(); err != nil {
		return nil, err
	}
	return starlark.Float(g.random.Float()), nil
}

func (g generators) chance(a arguments) (starlark.Value, error) {
	var of starlark.Value
	if err := a.unpack("probability", &of); err != nil {
		return nil, err
	}
	p, is := starlark.AsFloat(of)
	if !is || !(p >= 0 && p <= 1) {
		return nil, fmt.Errorf("a probability is 0 to 1, not %v", of)
	}
	return starlark.Bool(g.random.Float() < p), nil
}

func (g generators) choice(a arguments) (starlark.Value, error) {
	var of starlark.Indexable
	if err := a.unpack("of", &of); err != nil {
		return nil, err
	}
	if of.Len() == 0 {
		return nil, errors.New("there is nothing to choose from")
	}
	return of.Index(int(g.random.Below(uint64(of.Len())))), nil
}

func (g generators) text(a arguments) (starlark.Value, error) {
	var length int64
	if err := a.unpack("length", &length); err != nil {
		return nil, err
	}
	text, err := letters(&g.random, length)
	return starlark.String(text), err
}

// person draws a first and last name.
func (g generators) person(a arguments) (starlark.Value, error) {
	if err := a.unpack(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(g.random.Next(), g.random.Next()))
	return starlark.String(workload.One(random, data.Person["first"]) + " " + workload.One(random, data.Person["last"])), nil
}

func (g generators) identifier(a arguments) (starlark.Value, error) {
	if err := a.unpack(); err != nil {
		return nil, err
	}
	id, err := g.id()
	return starlark.MakeInt64(id), err
}
