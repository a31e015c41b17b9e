package pgbench

import (
	"strconv"
	"strings"
)

// Simple is the text with variables' values, as pgbench -M simple sends it. A :name that is no
// variable stays: it may be part of an array slice or a text.
func (s *Statement) Simple(v *Variables) string {
	if len(s.References) == 0 {
		return s.Text
	}
	var text strings.Builder
	copied := 0
	for _, r := range s.References {
		if value, known := v.Text(r.Name); known {
			text.WriteString(s.Text[copied:r.Start])
			text.WriteString(value)
			copied = r.End
		}
	}
	text.WriteString(s.Text[copied:])
	return text.String()
}

// Extended is the text with $1 and so on for each :name, as pgbench -M extended and prepared
// send it, in quotes too. Parameter n is the variable of References[n-1].
func (s *Statement) Extended() string {
	var text strings.Builder
	copied := 0
	for i, r := range s.References {
		text.WriteString(s.Text[copied:r.Start])
		text.WriteString("$" + strconv.Itoa(i+1))
		copied = r.End
	}
	text.WriteString(s.Text[copied:])
	return text.String()
}

// Parameters are the values for Extended, as texts: the server infers their types. nil is
// NULL, for an unset variable. A variable with the value NULL is the text NULL, as in pgbench.
func (s *Statement) Parameters(v *Variables) []*string {
	all := make([]*string, len(s.References))
	for i, r := range s.References {
		if text, known := v.Text(r.Name); known {
			all[i] = &text
		}
	}
	return all
}
