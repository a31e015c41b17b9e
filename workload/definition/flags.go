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
	// Values are those of a text, and a shell's completions. Open permits others, which begin like
	// them; Empty permits an empty text.
	Values      []string
	Open, Empty bool
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

// CheckFlags returns a *store.OptionError for the first number out of bounds, or text that is none of
// its flag's Values.
func CheckFlags(flags []Flag) error {
	for _, f := range flags {
		n, value := f.number()
		// The negated comparison refuses NaN too.
		if f.Max != 0 && !(n >= f.Min && n <= f.Max) {
			bounds := strconv.FormatFloat(f.Min, 'f', -1, 64) + " to " + strconv.FormatFloat(f.Max, 'f', -1, 64)
			return &store.OptionError{Option: "--" + f.Name, Value: value, Want: cmp.Or(f.Range, bounds)}
		}
		free := f.Values == nil || f.Open || f.Empty && value == ""
		if _, text := f.Value.(*string); text && !free && !slices.Contains(f.Values, value) {
			return &store.OptionError{Option: "--" + f.Name, Value: value, Want: strings.Join(f.Values, ", ")}
		}
	}
	return nil
}

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
