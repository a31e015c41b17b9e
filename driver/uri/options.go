package uri

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// Options are the options of an address, each with one value. A driver takes out what it
// knows and refuses the rest (None).
type Options map[string]string

// The words of errors about options.
const (
	anOption   = "the address's option"
	allOptions = "the address's options"
)

// ReadOptions reads OPTION=VALUE&..., percent-decoded. Errors are
// *store.OptionError, as of all methods.
func ReadOptions(query string) (Options, error) {
	values, err := url.ParseQuery(query)
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

// Take takes an option out.
func (o Options) Take(name string) (value string, given bool) {
	value, given = o[name]
	delete(o, name)
	return value, given
}

// Choose takes an option out that has one of these values; it is empty where there is
// none.
func (o Options) Choose(name string, possible ...string) (string, error) {
	value, given := o.Take(name)
	if given && !slices.Contains(possible, value) {
		return "", &store.OptionError{Option: name, Value: value, Want: strings.Join(possible, ", ")}
	}
	return value, nil
}

// Integer takes an option out that is a number from least to most, and is absent where
// there is none. want says it in words.
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

// None refuses what has not been taken out; known names what could have been.
func (o Options) None(known string) error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		return &store.OptionError{Option: anOption, Value: name, Want: known}
	}
	return nil
}
