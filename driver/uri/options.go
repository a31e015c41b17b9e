package uri

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// Options are the options of an address. A driver takes its own out and refuses the rest (None).
type Options map[string]string

const (
	anOption   = "the address's option"
	allOptions = "the address's options"
)

// Query writes values as the query of an address. A space is %20: the tools of databases take a plus
// for a plus.
func Query(values url.Values) string { return strings.ReplaceAll(values.Encode(), "+", "%20") }

// KeepPlus writes the pluses of an address's query so that package url reads them as pluses and not
// as the spaces of an HTML form. The tools of databases take a plus for a plus.
func KeepPlus(address string) string {
	before, query, found := strings.Cut(address, "?")
	if !found {
		return address
	}
	return before + "?" + strings.ReplaceAll(query, "+", "%2B")
}

// ReadOptions reads OPTION=VALUE&..., percent-decoded. All errors of Options are
// *store.OptionError.
func ReadOptions(query string) (Options, error) {
	values, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
	if err != nil {
		return nil, &store.OptionError{Option: allOptions, Value: "(unreadable)", Want: "OPTION=VALUE&OPTION=VALUE, special characters percent-encoded"}
	}
	options := make(Options, len(values))
	for name, given := range values {
		if len(given) > 1 {
			return nil, &store.OptionError{Option: anOption, Value: name, Want: "each option once"}
		}
		options[name] = given[0]
	}
	return options, nil
}

// Take removes an option and returns its value.
func (o Options) Take(name string) (value string, given bool) {
	value, given = o[name]
	delete(o, name)
	return value, given
}

// Choose takes an option that has one of the possible values; a missing option is empty.
func (o Options) Choose(name string, possible ...string) (string, error) {
	value, given := o.Take(name)
	if given && !slices.Contains(possible, value) {
		return "", &store.OptionError{Option: name, Value: value, Want: strings.Join(possible, ", ")}
	}
	return value, nil
}

// Integer takes an option that is a number from least to most. A missing option is absent. want
// is for the error.
func (o Options) Integer(name, want string, absent, least, most int) (int, error) {
	value, given := o.Take(name)
	if !given {
		return absent, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, &store.OptionError{Option: name, Value: value, Want: want}
	}
	return n, nil
}

// None refuses an option that was not taken; known lists the possible options.
func (o Options) None(known string) error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		return &store.OptionError{Option: anOption, Value: name, Want: known}
	}
	return nil
}
