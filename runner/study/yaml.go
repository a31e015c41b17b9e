package study

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"assay/internal/yamlfile"
)

// maxBytes bounds a file, maxDepth the nesting of mappings and lists.
const (
	maxBytes = 1 << 20
	maxDepth = 16
)

// node is a value of the file: a mapping, a list, or a word.
type node struct {
	at      yamlfile.Position
	mapping bool
	pairs   []pair // of a mapping, in the order of the file
	list    bool
	items   []node
	text    string // of a word, without quotation marks
}

type pair struct {
	key   string
	at    yamlfile.Position
	value node
}

// problem is an Error without the path.
func problem(at yamlfile.Position, format string, a ...any) *yamlfile.Error {
	return &yamlfile.Error{Position: at, Problem: fmt.Sprintf(format, a...)}
}

// parse reads the file's only document. The error is a *yamlfile.Error without path.
func parse(text []byte) (node, error) {
	if len(text) > maxBytes {
		return node{}, problem(yamlfile.Position{}, "the file is larger than %d bytes", maxBytes)
	}
	if err := tooDeep(text); err != nil {
		return node{}, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		if broken, is := errors.AsType[yaml.Error](err); is {
			return node{}, problem(yamlfile.PositionOf(broken.GetToken()), "%s", broken.GetMessage())
		}
		return node{}, problem(yamlfile.Position{}, "%s", err.Error())
	}
	var body ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil || d.Body.Type() == ast.CommentType:
		case body != nil:
			return node{}, problem(yamlfile.PositionOf(d.Body.GetToken()), "the file has a second document; a study is one")
		default:
			body = d.Body
		}
	}
	if body == nil {
		return node{}, problem(yamlfile.Position{Line: 1, Column: 1}, "the file is empty")
	}
	return convert(body, 0)
}

// tooDeep refuses deeply nested brackets, for which the recursive parser would take too long.
func tooDeep(text []byte) error {
	depth, at := 0, yamlfile.Position{Line: 1}
	for _, c := range text {
		at.Column++
		switch c {
		case '\n':
			at = yamlfile.Position{Line: at.Line + 1}
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > 4*maxDepth {
			return problem(at, "brackets are nested too deep")
		}
	}
	return nil
}

func convert(n ast.Node, depth int) (node, error) {
	at := yamlfile.PositionOf(n.GetToken())
	if depth > maxDepth {
		return node{}, problem(at, "values are nested too deep")
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return convertMapping(n.Values, depth)
	case *ast.MappingValueNode:
		return convertMapping([]*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := node{at: at, list: true}
		for _, value := range n.Values {
			item, err := convert(value, depth+1)
			if err != nil {
				return node{}, err
			}
			out.items = append(out.items, item)
		}
		return out, nil
	case *ast.LiteralNode:
		return node{at: at, text: strings.TrimSpace(n.Value.Value)}, nil
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node{at: at, text: n.GetToken().Value}, nil
	case *ast.NullNode:
		return node{}, problem(at, "a value is missing")
	}
	return node{}, problem(at, "%s are not read in a study", strings.ToLower(n.Type().String())+"s")
}

func convertMapping(values []*ast.MappingValueNode, depth int) (node, error) {
	out := node{mapping: true}
	seen := map[string]bool{}
	for i, v := range values {
		at := yamlfile.PositionOf(v.Key.GetToken())
		if i == 0 {
			out.at = at
		}
		key, err := convert(v.Key, depth)
		if err != nil {
			return node{}, err
		}
		if key.mapping || key.list || seen[key.text] {
			return node{}, problem(at, "the key %q stands here twice", key.text)
		}
		seen[key.text] = true
		value, err := convert(v.Value, depth+1)
		if err != nil {
			return node{}, err
		}
		out.pairs = append(out.pairs, pair{key.text, at, value})
	}
	return out, nil
}
