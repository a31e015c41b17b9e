package cluster

import (
	"fmt"
	"slices"
	"strings"
)

const mostAlternatives = 64

// ParseAlternatives reads a spec in which a value may be several with | between them, and returns
// the specs of all combinations: "redis:3,appendfsync=always|no" asks for two. Within single quotes
// a | is a character like others. The specs have the same servers, networks and disks, and differ
// in how these work. The error is a *SpecError.
func ParseAlternatives(text string) (all []Spec, err error) {
	head, rest, more := strings.Cut(text, ",")
	items, open := splitOptions(rest)
	if !more || open != "" {
		one, err := ParseSpec(text)
		return []Spec{one}, err
	}
	texts := []string{head}
	for _, item := range items {
		name, value, _ := strings.Cut(item, "=")
		values := []string{item}
		if strings.Contains(value, "|") && !strings.HasPrefix(value, "'") {
			values = nil
			for one := range strings.SplitSeq(value, "|") {
				values = append(values, name+"="+strings.TrimSpace(one))
			}
		}
		var next []string
		for _, before := range texts {
			for _, one := range values {
				next = append(next, before+","+one)
			}
		}
		if texts = next; len(texts) > mostAlternatives {
			return nil, &SpecError{Spec: text, Part: "too many combinations of values", Want: fmt.Sprintf("at most %d", mostAlternatives)}
		}
	}
	for _, one := range texts {
		s, err := ParseSpec(one)
		if err != nil {
			return nil, err
		}
		if all = append(all, s); !s.alike(all[0]) {
			return nil, &SpecError{Spec: text, Part: fmt.Sprintf("%s and %s have other servers, limits, networks or disks", all[0], s), Want: "alternatives of options that leave these as they are"}
		}
	}
	return all, nil
}

// alike reports whether two specs of one product differ at most in options and parameters that
// change no server's place.
func (s Spec) alike(other Spec) bool {
	return s.Limits == other.Limits && s.Disk == other.Disk && s.FS == other.FS && s.Network == other.Network && s.Bandwidth == other.Bandwidth && slices.Equal(s.Members(), other.Members())
}
