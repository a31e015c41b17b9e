package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// parameterPrefix begins options that set the server's own parameters (set.max_connections=500),
// so that assay's options cannot clash with them.
const parameterPrefix = "set."

type parameters struct {
	// example is NAME=VALUE.
	example string
	// ours are parameters that assay sets itself, so no spec can. A name that ends in a star
	// stands for all names with that beginning.
	ours []ourParameters
	// judged are parameters that decide the worth of an acknowledgement or the isolation of
	// transactions. A spec can set them, but nothing changes them while the database works.
	// Names as in ours.
	judged []string
	// check says why the spec's parameters do not go together; empty if they do. Nil allows all.
	check func(s Spec) (want string)
}

type ourParameters struct {
	names  []string
	reason string
}

// Parameter is a server parameter that a spec sets.
type Parameter struct{ Name, Value string }

var parameterForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`) })

// plainName makes names comparable: PostgreSQL and MariaDB also accept capitals and hyphens.
func plainName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// refuses says what to use instead of a refused parameter; empty if it is allowed.
func (p parameters) refuses(product, name string) (want string) {
	switch {
	case p.example == "":
		return "no " + parameterPrefix + "NAME=VALUE, since " + product + " has no parameters of a server"
	case !parameterForm().MatchString(name):
		return parameterPrefix + "NAME=VALUE, such as " + parameterPrefix + p.example
	}
	for _, o := range p.ours {
		for _, ours := range o.names {
			if meant(ours, name) {
				return "another parameter, since assay itself sets " + name + ": " + o.reason
			}
		}
	}
	return ""
}

// meant compares a name with an entry of a list, which may end in a star.
func meant(ours, name string) bool {
	beginning, all := strings.CutSuffix(ours, "*")
	return all && strings.HasPrefix(plainName(name), plainName(beginning)) || plainName(name) == plainName(ours)
}

func (s *Spec) setParameter(t topology, name, value string) (want string) {
	if want := t.parameters.refuses(t.name, name); want != "" {
		return want
	}
	if strings.ContainsAny(value, "\x00\r\n") {
		return "a value of one line"
	}
	same := func(p Parameter) bool { return plainName(p.Name) == plainName(name) }
	if slices.ContainsFunc(s.Parameters, same) {
		return parameterPrefix + name + " once"
	}
	s.Parameters = append(s.Parameters, Parameter{name, value})
	return ""
}

// clash finds options that do not go together: an option and a parameter that set the same thing,
// or what the cluster cannot have. It returns the wrong part and what to use instead.
func (s Spec) clash(t topology) (part, want string) {
	if s.Bandwidth > 0 && s.Network == NetworkLoopback {
		return "bandwidth and network=loopback", "network=own, whose links can be limited"
	}
	if s.FS != "" && s.Disk != DiskImage {
		return "fs=" + s.FS + " and another disk than disk=" + DiskImage, "disk=" + DiskImage + ", which alone has such a file system"
	}
	for _, o := range t.options {
		if o.needs != "" && s.Options[o.name] != "" && s.Options[o.needs] == "" {
			return fmt.Sprintf("option %q without %s", o.name, o.needs), o.want
		}
		for _, p := range s.Parameters {
			if s.Options[o.name] != "" && slices.Contains(o.parameters, plainName(p.Name)) {
				return fmt.Sprintf("%s=%s and %s%s", o.name, s.Options[o.name], parameterPrefix, p.Name), "one of them, since both set the same"
			}
		}
	}
	if t.parameters.check != nil {
		if want := t.parameters.check(s); want != "" {
			return "the parameters", want
		}
	}
	return "", ""
}

func (s Spec) settings(sign string) (all []string) {
	for _, p := range s.Parameters {
		all = append(all, p.Name+sign+p.Value)
	}
	return all
}

// splitOptions cuts NAME=VALUE,NAME=VALUE... at the commas outside single quotes. bad is an item
// whose quote does not end.
func splitOptions(text string) (items []string, bad string) {
	for {
		end := strings.IndexByte(text, ',')
		if equals := strings.Index(text, "='"); equals >= 0 && (end < 0 || equals < end) && !strings.Contains(text[:equals], "=") {
			closing := closingQuote(text[equals+2:])
			if closing < 0 {
				return nil, text
			}
			end = equals + 2 + closing + 1
			if end < len(text) && text[end] != ',' {
				return nil, text
			}
			if end == len(text) {
				end = -1
			}
		}
		if end < 0 {
			return append(items, text), ""
		}
		items, text = append(items, text[:end]), text[end+1:]
	}
}

// closingQuote returns the index of the quote that ends a quoted text, or -1. inside begins behind
// the opening quote; two quotes stand for one.
func closingQuote(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' {
			continue
		}
		if i+1 == len(text) || text[i+1] != '\'' {
			return i
		}
		i++
	}
	return -1
}

func unquoted(value string) string {
	if len(value) < 2 || value[0] != '\'' {
		return value
	}
	return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
}

// quoted adds quotes if ParseSpec would misread the bare value.
func quoted(value string) string {
	if value != "" && !strings.Contains(value, ",") && value[0] != '\'' {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}
