package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ParseParameters reads set.NAME=VALUE,set.NAME=VALUE... with quotes as in ParseSpec. The error is
// a *SpecError.
func ParseParameters(text string) (all []Parameter, err error) {
	const want = parameterPrefix + "NAME=VALUE, such as " + parameterPrefix + "work_mem=8MB, and more of them behind commas"
	items, open := splitOptions(text)
	if open != "" {
		return nil, &SpecError{Spec: text, Part: fmt.Sprintf("parameter %q", open), Want: "a value in single quotes that ends with one"}
	}
	for _, item := range items {
		name, value, valued := strings.Cut(item, "=")
		name, prefixed := strings.CutPrefix(name, parameterPrefix)
		if !valued || !prefixed || name == "" {
			return nil, &SpecError{Spec: text, Part: fmt.Sprintf("parameter %q", item), Want: want}
		}
		all = append(all, Parameter{name, unquoted(value)})
	}
	return all, nil
}

// WithParameters returns the spec with parameters replaced, for servers that restart while the
// database works. It refuses with a *SpecError what no spec may set, and parameters by which the
// database's earlier work is judged.
func (s Spec) WithParameters(set []Parameter) (Spec, error) {
	t, _ := topologyOf(s.Product)
	refuse := func(part, want string) (Spec, error) {
		return Spec{}, &SpecError{Spec: s.String(), Part: part, Want: want}
	}
	added := Spec{Product: s.Product}
	for _, p := range set {
		want := added.setParameter(t, p.Name, p.Value)
		if want == "" && products()[s.Product].settings == nil {
			want = "no parameters here, since assay knows no way to start servers of " + s.Product + " with others than they had"
		}
		if want == "" && slices.ContainsFunc(t.parameters.judged, func(pattern string) bool { return meant(pattern, p.Name) }) {
			want = "another parameter, since what was acknowledged is judged by what " + p.Name + " was then"
		}
		if want != "" {
			return refuse(parameterPrefix+p.Name+"="+quoted(p.Value), want)
		}
	}
	kept := slices.DeleteFunc(slices.Clone(s.Parameters), func(old Parameter) bool {
		return slices.ContainsFunc(set, func(p Parameter) bool { return plainName(p.Name) == plainName(old.Name) })
	})
	s.Parameters = append(kept, added.Parameters...)
	if part, want := s.clash(t); part != "" {
		return refuse(part, want)
	}
	return s, nil
}

// Adjust replaces the parameters of the node's server from its next start on; takeBack undoes it.
func (n *Node) Adjust(s Spec) (takeBack func()) {
	before := n.server.Settings(nil)
	n.server.Adjust(products()[s.Product].settings(s))
	return func() { n.server.Adjust(before) }
}

// telling is a product whose servers report their parameters.
type telling interface {
	Parameter(ctx context.Context, i int, name string) (string, error)
}

// Parameter asks the node's server for the value in effect, in the server's own words.
func (n *Node) Parameter(ctx context.Context, name string) (string, error) {
	value, err := parameterOf(ctx, n.cluster.product, n.number, name)
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", n.Name(), name, err)
	}
	return value, nil
}

func parameterOf(ctx context.Context, p product, i int, name string) (string, error) {
	teller, is := p.(telling)
	if !is {
		return "", errors.New("assay knows no way to do it")
	}
	return teller.Parameter(ctx, i, name)
}

// yielding is a product whose manual advises a primary to step down before it is stopped.
type yielding interface {
	// HandOver waits for another primary if node i is the primary and another can be.
	HandOver(ctx context.Context, i int) error
}

// HandOver makes another node the primary before this primary is stopped. It does nothing if the
// node is no primary, no other can be, or the product's manual does not advise it.
func (n *Node) HandOver(ctx context.Context) error {
	if err := handOver(ctx, n.cluster.product, n.number); err != nil {
		return fmt.Errorf("have another node take over from %s: %w", n.Name(), err)
	}
	return nil
}

func handOver(ctx context.Context, p product, i int) error {
	if yields, is := p.(yielding); is {
		return yields.HandOver(ctx, i)
	}
	return nil
}
