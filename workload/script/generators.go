package script

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/brianvoe/gofakeit/v7"
	"go.starlark.net/starlark"
)

// generators is r: what is drawn by chance, a function of the seed and the operation, so
// that each attempt draws the same.
type generators struct {
	object
	*call
}

var _ starlark.HasAttrs = (*generators)(nil)

func (*generators) AttrNames() []string {
	return []string{"chance", "choice", "client", "distinct", "exponential", "float", "gaussian", "id", "name", "number", "range", "text", "zipf"}
}

func (g *generators) Attr(name string) (starlark.Value, error) {
	var f builtin
	switch name {
	case "client":
		return starlark.MakeInt(g.client), nil
	case "number":
		return starlark.MakeUint64(g.seq), nil
	case "range":
		f = g.uniform
	case "zipf", "gaussian", "exponential":
		f = g.skewed
	case "distinct":
		f = g.distinct
	case "float":
		f = g.float
	case "chance":
		f = g.chance
	case "choice":
		f = g.choice
	case "text":
		f = g.text
	case "name":
		f = g.person
	case "id":
		f = g.identifier
	default:
		return nil, nil
	}
	return starlark.NewBuiltin(name, f), nil
}

func (g *generators) uniform(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var low, high int64
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "low", &low, "high", &high); err != nil {
		return nil, err
	}
	v, err := uniform(&g.random, low, high)
	return starlark.MakeInt64(v), err
}

func (g *generators) skewed(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	of := map[string]struct {
		draw      distribution
		parameter float64
	}{"zipf": {zipfian, 0.99}, "gaussian": {gaussian, 2.5}, "exponential": {exponential, 5}}[b.Name()]
	var low, high int64
	var given starlark.Value = starlark.Float(of.parameter)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "low", &low, "high", &high, "parameter?", &given); err != nil {
		return nil, err
	}
	parameter, is := starlark.AsFloat(given)
	if !is {
		return nil, fmt.Errorf("the parameter of %s is a number, not a %s", b.Name(), given.Type())
	}
	v, err := of.draw(&g.random, low, high, parameter)
	return starlark.MakeInt64(v), err
}

func (g *generators) distinct(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var n, low, high int64
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "n", &n, "low", &low, "high", &high); err != nil {
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

func (g *generators) float(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackArgs(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return starlark.Float(g.random.Float()), nil
}

func (g *generators) chance(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var of starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "probability", &of); err != nil {
		return nil, err
	}
	p, is := starlark.AsFloat(of)
	if !is || !(p >= 0 && p <= 1) {
		return nil, fmt.Errorf("a probability is 0 to 1, not %v", of)
	}
	return starlark.Bool(g.random.Float() < p), nil
}

func (g *generators) choice(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var of starlark.Indexable
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "of", &of); err != nil {
		return nil, err
	}
	if of.Len() == 0 {
		return nil, errors.New("there is nothing to choose from")
	}
	return of.Index(int(g.random.Below(uint64(of.Len())))), nil
}

func (g *generators) text(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var length int64
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "length", &length); err != nil {
		return nil, err
	}
	text, err := letters(&g.random, length)
	return starlark.String(text), err
}

// person draws a name such as people have.
func (g *generators) person(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackArgs(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	f := gofakeit.NewFaker(rand.NewPCG(g.random.Next(), g.random.Next()), false)
	return starlark.String(f.FirstName() + " " + f.LastName()), nil
}

func (g *generators) identifier(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackArgs(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	id, err := g.id()
	return starlark.MakeInt64(id), err
}
