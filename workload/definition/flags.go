package definition

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay/report"
	"assay/store"
)

// Flag is a flag of a workload's command.
type Flag struct {
	Name string
	// Short is one letter that stands for it; empty for none. Its Value is then of the
	// workload's own.
	Short string
	// Value points into the configuration: *string, *int, *int64, *float64, *bool, or a
	// value of the workload's own that reads what is given (String, Set, Type; see
	// pflag.Value). What it holds is the default.
	Value any
	Usage string
	// Values are what a shell completes; Open says that the user goes on writing
	// behind them.
	Values []string
	Open   bool
	// Min and Max bound a number, where Max is not 0; Range is the bounds in words,
	// empty for "MIN to MAX".
	Min, Max float64
	Range    string
	// Setting is its name in the report, empty if it has none, and Unit what stands
	// behind the value there.
	Setting, Unit string
}

// Lookup is the flag of this name, and whether the workload has it.
func Lookup(c Config, name string) (Flag, bool) {
	flags := c.Flags()
	i := slices.IndexFunc(flags, func(f Flag) bool { return f.Name == name })
	if i < 0 {
		return Flag{}, false
	}
	return flags[i], true
}

// CheckRanges returns a *store.OptionError for the first number that is out of its
// bounds, or none.
func CheckRanges(flags []Flag) error {
	for _, f := range flags {
		// A NaN is within no bounds.
		if n, text := f.number(); f.Max != 0 && !(n >= f.Min && n <= f.Max) {
			bounds := strconv.FormatFloat(f.Min, 'f', -1, 64) + " to " + strconv.FormatFloat(f.Max, 'f', -1, 64)
			return &store.OptionError{Option: "--" + f.Name, Value: text, Want: cmp.Or(f.Range, bounds)}
		}
	}
	return nil
}

// OneOf returns a *store.OptionError for a value that is none of these.
func OneOf(option, value string, possible ...string) error {
	if slices.Contains(possible, value) {
		return nil
	}
	possible = slices.DeleteFunc(slices.Clone(possible), func(p string) bool { return p == "" })
	return &store.OptionError{Option: option, Value: value, Want: strings.Join(possible, ", ")}
}

// CheckRead returns a *store.OptionError for who cannot answer reads (store.Readers); empty is the
// primary.
func CheckRead(by string) error { return OneOf("--read", by, append(store.Readers(), "")...) }

// Settings are the flags that the report shows.
func Settings(flags []Flag) (all []report.Setting) {
	for _, f := range flags {
		if f.Setting != "" {
			_, text := f.number()
			all = append(all, report.Setting{Name: f.Setting, Value: text + f.Unit})
		}
	}
	return all
}

// number is the value as a number, 0 of what is none, and as a text.
func (f Flag) number() (n float64, text string) {
	switch v := f.Value.(type) {
	case *int:
		return float64(*v), strconv.Itoa(*v)
	case *int64:
		return float64(*v), strconv.FormatInt(*v, 10)
	case *float64:
		return *v, strconv.FormatFloat(*v, 'g', -1, 64)
	case *bool:
		return 0, strconv.FormatBool(*v)
	case *string:
		return 0, *v
	default:
		return 0, ""
	}
}
