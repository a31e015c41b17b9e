package chaosmesh

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"assay/internal/spelling"
)

// Error is a file that is malformed, or a field that no fault stands for.
type Error struct {
	// Path is the file, Line where it goes wrong, from 1; 0 if unknown.
	Path string
	Line int
	// Field is the path of the field within its document; empty for the whole document.
	Field string
	// Problem is what is wrong, Want what to write instead; it may be empty.
	Problem, Want string
}

func (e *Error) Error() string {
	text := e.Path
	if e.Line > 0 {
		text += fmt.Sprintf(":%d", e.Line)
	}
	if e.Field != "" {
		text += ": " + e.Field
	}
	text += ": " + e.Problem
	if e.Want != "" {
		text += "; " + e.Want
	}
	return text
}

// documents are the texts of a file's documents, each behind as many empty lines as come before it in
// the file: the parser stops silently after an empty document.
func documents(text string) (all []string) {
	begin := 0
	for _, mark := range append(regexp.MustCompile(`(?m)^(---|\.\.\.)(\s|$)`).FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if one := text[begin:mark[0]]; !blank(one) {
			all = append(all, strings.Repeat("\n", strings.Count(text[:begin], "\n"))+one)
		}
		begin = mark[1]
	}
	return all
}

func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// parse reads one document; nil after an error.
func (r *reader) parse(text string) ast.Node {
	first := 1 + len(text) - len(strings.TrimLeft(text, "\n"))
	file, err := parser.ParseBytes([]byte(text), 0)
	if broken, is := errors.AsType[yaml.Error](err); is {
		r.refuse(max(lineOf(broken.GetToken()), first), "", "", "it is no YAML: %s", broken.GetMessage())
		return nil
	}
	if err != nil {
		r.refuse(first, "", "", "it is no YAML: %s", err.Error())
		return nil
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		r.refuse(first, "", wantKind, "it is no object")
		return nil
	}
	return file.Docs[0].Body
}

// lineOf is a token's line in the file; 0 if unknown.
func lineOf(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}

// refuse keeps the first error.
func (r *reader) refuse(line int, field, want, problem string, a ...any) {
	if r.err == nil {
		r.err = &Error{Path: r.path, Line: line, Field: field, Problem: fmt.Sprintf(problem, a...), Want: want}
	}
}

// mapping is a mapping whose fields are taken one by one. Fields that were not taken are refused.
// The zero mapping stands for a missing one.
type mapping struct {
	r      *reader
	path   string
	line   int
	fields []*field
	asked  []string // the names of fields that were looked for
}

type field struct {
	key   string
	line  int
	value ast.Node
	taken bool
}

func (r *reader) mapping(n ast.Node, path string) *mapping {
	m := &mapping{r: r, path: path}
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.refuse(lineOf(n.GetToken()), path, "", "it is no mapping of names to values")
		return m
	}
	for i, v := range values {
		line := lineOf(v.Key.GetToken())
		if i == 0 {
			m.line = line
		}
		key := v.Key.GetToken().Value
		if m.has(key) {
			r.refuse(line, m.name(key), "", "it stands here twice")
		}
		m.fields = append(m.fields, &field{key: key, line: line, value: v.Value})
	}
	return m
}

// name is the path of a field or, for an empty key, of the whole mapping.
func (m *mapping) name(key string) string {
	switch {
	case key == "":
		return m.path
	case m.path == "":
		return key
	}
	return m.path + "." + key
}

func (m *mapping) find(key string) *field {
	for _, f := range m.fields {
		if f.key == key {
			return f
		}
	}
	return nil
}

func (m *mapping) has(key string) bool {
	f := m.find(key)
	return f != nil && f.value != nil && f.value.Type() != ast.NullType
}

func (m *mapping) take(key string) *field {
	m.asked = append(m.asked, key)
	f := m.find(key)
	if f != nil {
		f.taken = true
	}
	if !m.has(key) {
		return nil
	}
	return f
}

// refuse is about a field or, if the mapping lacks it, about the whole mapping.
func (m *mapping) refuse(key, want, problem string, a ...any) {
	line := m.line
	if f := m.find(key); f != nil {
		line = f.line
	}
	m.r.refuse(line, m.name(key), want, problem, a...)
}

func (m *mapping) text(key string) string {
	f := m.take(key)
	if f == nil {
		return ""
	}
	return m.word(key, f.value)
}

func (m *mapping) word(key string, n ast.Node) string {
	switch n := n.(type) {
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	m.refuse(key, "", "it is no single word or number")
	return ""
}

// needed is a field's word, which must be there.
func (m *mapping) needed(key, want string) string {
	text := m.text(key)
	if text == "" {
		m.refuse(key, want, "it is missing")
	}
	return text
}

func (m *mapping) list(key string) (all []string) {
	for _, n := range m.items(key) {
		all = append(all, m.word(key, n))
	}
	return all
}

func (m *mapping) items(key string) []ast.Node {
	f := m.take(key)
	if f == nil {
		return nil
	}
	list, is := f.value.(*ast.SequenceNode)
	if !is {
		m.refuse(key, "", "it is no list")
		return nil
	}
	return list.Values
}

func (m *mapping) sub(key string) *mapping {
	f := m.take(key)
	if f == nil {
		return &mapping{r: m.r, path: m.name(key), line: m.line}
	}
	return m.r.mapping(f.value, m.name(key))
}

// none refuses fields that no fault stands for, unless they say nothing.
func (m *mapping) none(want string, keys ...string) {
	for _, key := range keys {
		f := m.take(key)
		if f == nil {
			continue
		}
		switch n := f.value.(type) {
		case *ast.MappingNode:
			if len(n.Values) == 0 {
				continue
			}
		case *ast.SequenceNode:
			if len(n.Values) == 0 {
				continue
			}
		case *ast.StringNode:
			if n.Value == "" {
				continue
			}
		}
		m.refuse(key, want, "no fault of assay stands for it")
	}
}

func (m *mapping) done() {
	for _, f := range m.fields {
		if !f.taken {
			m.refuse(f.key, "take it out, if the fault is what you mean without it"+spelling.Hint(f.key, "", m.asked), "assay does not know this field here")
		}
	}
}
