package fault

import (
	"slices"
	"strconv"
	"time"

	"assay/cluster/disk"
	"assay/internal/quantity"
)

// Value is what may follow an action, behind "=" or as a word of its own.
type Value struct {
	Form, Default string

	standard any // what Default means
	// begins is how a value begins that is a word of its own; empty for values behind "=".
	begins      string
	want, wrong string
	parse       func(text string) (any, error)
	format      func(value any) string
}

// Written is an action with its value's form.
func (a Action) Written() string {
	if a.Value.Form == "" {
		return a.Name
	}
	return a.Name + a.Value.sign() + a.Value.Form
}

func (v Value) sign() string {
	if v.begins != "" {
		return " "
	}
	return "="
}

// valueOf is the fault's value, or its action's default.
func valueOf[T any](f Fault) T {
	if value, said := f.Value.(T); said {
		return value
	}
	a, _ := Lookup(f.Action)
	standard, _ := a.Value.standard.(T)
	return standard
}

// newValue is a value of one type that fits accepts.
func newValue[T any](form, want string, standard T, parse func(string) (T, error), fits func(T) bool, format func(T) string) Value {
	return Value{Form: form, Default: format(standard), standard: standard, want: want, wrong: "%q cannot be used",
		parse: func(text string) (any, error) {
			value, err := parse(text)
			if err == nil && !fits(value) {
				err = strconv.ErrRange
			}
			return value, err
		},
		format: func(value any) string { return format(value.(T)) }}
}

// oneOf is one of some words. byDefault describes the default, standard.
func oneOf[T ~string](form string, standard T, byDefault, wrong, want string, words ...T) Value {
	v := newValue(form, want, standard, func(text string) (T, error) { return T(text), nil },
		func(word T) bool { return slices.Contains(words, word) }, func(word T) string { return string(word) })
	v.Default, v.wrong = byDefault, wrong
	return v
}

func number(form, want string, standard, least, most float64) Value {
	return newValue(form, want, standard, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) },
		func(n float64) bool { return n >= least && n <= most }, plain)
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func size(form, want string, standard int64) Value {
	const least, most = 1 << 10, 1 << 50
	return newValue(form, want, standard, quantity.Parse, func(n int64) bool { return n >= least && n <= most }, quantity.Format)
}

func wait(standard time.Duration) Value {
	return newValue("TIME", "a duration above 0 and at most an hour, such as 100ms", standard,
		time.ParseDuration, func(d time.Duration) bool { return d > 0 && d <= time.Hour }, quantity.Duration)
}

func files() Value {
	v := newValue("FILES", "a pattern of files, such as *.ibd or base/*/*", "",
		func(text string) (string, error) { return text, disk.CheckPattern(text) },
		func(text string) bool { return text != "" }, func(text string) string { return text })
	v.Default = "all files"
	return v
}

func containers() Value {
	v := newValue("NAMES", "names of containers, such as mongod,agent", "", func(text string) (string, error) { return text, nil },
		containerNames().MatchString, func(text string) string { return text })
	v.Default = "all containers"
	return v
}
