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
	// Short is a letter, or empty. It needs a Value of the workload's own type.
	Short string
	// Value points into the configuration and holds the default: *string, *int, *int64,
	// *float64, *bool or a pflag.Value.
	Value any
	Usage string
	// Values are a shell's completions. Open permits to write on behind them.
	Values []string
	Open   bool
	// Min and Max bound a number if Max is not 0. Range words them; empty means "MIN to MAX".
	Min, Max float64
	Range    string
	// Setting is the name in the report, empty for none. Unit follows the value there.
	Setting, Unit string
}

// Lookup returns the flag of this name.
func Lookup(c Config, name string) (Flag, bool) {
	flags := c.Flags()
	i := slices.IndexFunc(flags, func(f Flag) bool { return f.Name == name })
	if i < 0 {
		return Flag{}, false
	}
	return flags[i], true
}

// CheckRanges returns a *store.OptionError for the first number out of bounds.
func CheckRanges(flags []Flag) error {
	for _, f := range flags {
		// The negated comparison refuses NaN too.
		if n, text := f.number(); f.Max != 0 && !(n >= f.Min && n <= f.Max) {
			bounds := strconv.FormatFloat(f.Min, 'f', -1, 64) + " to " + strconv.FormatFloat(f.Max, 'f', -1, 64)
			return &store.OptionError{Option: "--" + f.Name, Value: text, Want: cmp.Or(f.Range, bounds)}
		}
	}
	return nil
}

// OneOf returns a *store.OptionError unless value is one of possible.
func OneOf(option, value string, possible ...string) error {
	if slices.Contains(possible, value) {
		return nil
	}
	possible = slices.DeleteFunc(slices.Clone(possible), func(p string) bool { return p == "" })
	return &store.OptionError{Option: option, Value: value, Want: strings.Join(possible, ", ")}
}

// CheckRead returns a *store.OptionError unless by is empty or one of store.Readers.
func CheckRead(by string) error { return OneOf("--read", by, append(store.Readers(), "")...) }

// Settings returns the flags that the report shows.
func Settings(flags []Flag) (all []report.Setting) {
	for _, f := range flags {
		if f.Setting != "" {
			_, text := f.number()
			all = append(all, report.Setting{Name: f.Setting, Value: text + f.Unit})
		}
	}
	return all
}

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
