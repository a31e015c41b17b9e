// Package yamlfile reads users' small YAML files, and reports problems by line and column. It
// must not know their meaning.
package yamlfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"assay/internal/spelling"
)

// Position is a place in a file; lines and columns count from 1.
type Position struct{ Line, Column int }

// PositionOf is the zero Position if unknown.
func PositionOf(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{}
	}
	return Position{t.Position.Line, t.Position.Column}
}

// Error is an unusable file. Without a Position it is about the whole file.
type Error struct {
	Path string
	Position
	Problem string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Problem)
}

// Decode reads text into a struct that must have all of its keys. The error is an *Error.
func Decode(path string, text []byte, into any) error {
	if err := yaml.UnmarshalWithOptions(text, into, yaml.DisallowUnknownField()); err != nil {
		return Locate(path, err, into)
	}
	return nil
}

// Locate is the *Error for what the YAML library says about a file that was to fill these structs.
func Locate(path string, err error, into ...any) *Error {
	if broken, is := errors.AsType[yaml.Error](err); is {
		return at(path, broken.GetToken(), 0, problem(broken, into))
	}
	return at(path, nil, 0, err.Error())
}

// problem says in place of Go's types what a value was to be.
func problem(err yaml.Error, into []any) string {
	switch wrong := err.(type) {
	case *yaml.UnknownFieldError:
		var known []string
		for _, all := range into {
			known = append(known, keys(reflect.TypeOf(all))...)
		}
		return fmt.Sprintf("there is no key %q%s", wrong.Token.Value, spelling.Hint(wrong.Token.Value, "", known))
	case *yaml.TypeError:
		return wanted(wrong.DstType) + " is wanted here"
	case *yaml.UnexpectedNodeTypeError:
		switch wrong.Expected {
		case ast.SequenceType:
			return "a list is wanted here, such as [a, b]"
		case ast.MappingType:
			return "keys with values are wanted here, such as {a: b}"
		}
	}
	return err.GetMessage()
}

// keys are those of a struct and of all structs within it.
func keys(of reflect.Type) (all []string) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return keys(of.Elem())
	case reflect.Struct:
		for i := range of.NumField() {
			field := of.Field(i)
			if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "" && name != "-" {
				all = append(all, name)
			}
			if field.Type != of {
				all = append(all, keys(field.Type)...)
			}
		}
	}
	return all
}

func wanted(of reflect.Type) string {
	switch kind := of.Kind(); {
	case of == reflect.TypeFor[time.Duration]():
		return "a time such as 10s"
	case of == reflect.TypeFor[bool]():
		return "true or false"
	case reflect.Int <= kind && kind <= reflect.Uint64:
		return "a whole number"
	case kind == reflect.Float64:
		return "a number"
	}
	return "a text"
}

// Refuse is the *Error of a key's value, such as of faults[0], or of the file's beginning if the
// key is missing. The problem starts within bytes into the value.
func Refuse(path string, text []byte, key string, within int, problem string) *Error {
	t := tokenOf(text, key)
	if t != nil && within > 0 && (t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType) {
		within++
	}
	return at(path, t, within, key+": "+problem)
}

func at(path string, t *token.Token, within int, problem string) *Error {
	e := &Error{Path: filepath.ToSlash(path), Position: PositionOf(t), Problem: problem}
	if e.Column += within; e.Line == 0 {
		e.Position = Position{1, 1}
	}
	return e
}

// tokenOf is the value of a key; nil if missing.
func tokenOf(text []byte, key string) *token.Token {
	path, err := yaml.PathString("$." + key)
	if err != nil {
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil
	}
	n, err := path.FilterFile(file)
	if err != nil || n == nil {
		return nil
	}
	return n.GetToken()
}
