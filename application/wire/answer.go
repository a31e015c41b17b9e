package wire

import (
	"fmt"
	"strings"
)

// Answer are the rows that a statement gave, value by value as Text and the like have them.
type Answer struct {
	Rows int64 `json:"rows"`
	// Ordered tells rows apart in their order, and Bag in any.
	Ordered uint64 `json:"ordered"`
	Bag     uint64 `json:"bag"`
	// First are the first rows, and Cut is true if some were not looked at: too long, or behind a cursor.
	First []string `json:"first,omitempty"`
	Cut   bool     `json:"cut,omitempty"`

	hidden bool // whether the rows are not shown, which may have a password
}

// maxFirst is how many rows are kept.
const maxFirst = 3

// Row takes a row, given by its values.
func (a *Answer) Row(values func() (value string, more bool)) {
	h := NewSum()
	var shown []string
	for {
		value, more := values()
		if !more {
			break
		}
		fmt.Fprintf(h, "%d %s", len(value), value) // a hash does not fail
		if len(a.First) < maxFirst && !a.hidden {
			shown = append(shown, value)
		}
	}
	if row := "(" + strings.Join(shown, ", ") + ")"; len(a.First) < maxFirst && !a.hidden {
		if len(row) > maxValue {
			row = shortly(row)
		}
		a.First = append(a.First, row)
	}
	a.Rows++
	a.Ordered = a.Ordered*1099511628211 ^ h.Sum64()
	a.Bag += h.Sum64()
}

// Keeps is the answer to be taken of a statement; nil where nobody wants it.
func (s *Statement) Keeps() *Answer {
	if s == nil {
		return nil
	}
	return s.Answer
}

// KeepAnswers has the rows of answers be looked at from now on.
func (r *Recorder) KeepAnswers() { r.answers.Store(true) }

func (r *Recorder) answer() *Answer {
	if r.answers.Load() {
		return &Answer{}
	}
	return nil
}
