package pgbench

import (
	"strconv"
	"strings"
)

// Simple is the text of the statement with the values of its variables in it, as pgbench
// sends it with -M simple. A :name that is no variable stays as it is: it may be part of
// an array's slice or of a text.
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

// Extended is the text of the statement with $1 in place of the first :name, and so on, as
// pgbench sends it with -M extended and -M prepared: in quotes too, where the server takes
// it for a text. Parameter n has the value of the variable in References[n-1].
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

// Parameters are the values for Extended, all of them texts whose type the server infers;
// nil is NULL, of a variable that is not set. A variable that an expression has made NULL
// is the text NULL, as in pgbench.
func (s *Statement) Parameters(v *Variables) []*string {
	all := make([]*string, len(s.References))
	for i, r := range s.References {
		if text, known := v.Text(r.Name); known {
			all[i] = &text
		}
	}
	return all
}
