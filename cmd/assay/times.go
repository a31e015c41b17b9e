package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// seconds is a flag value such as 10s, or a bare number of seconds.
type seconds struct{ value *time.Duration }

func (s seconds) String() string {
	if s.value == nil || *s.value == 0 {
		return "0" // which the help leaves out, as it does of other flags
	}
	return s.value.String()
}

func (s seconds) Set(text string) error {
	v, err := time.ParseDuration(text)
	if n, plain := strconv.ParseFloat(text, 64); plain == nil && n == n && math.Abs(n) < 1e9 {
		v, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil {
		return fmt.Errorf("%q is no time such as 10s, 500ms or 5m; a number alone is of seconds", text)
	}
	*s.value = v
	return nil
}

func (s seconds) Type() string { return "duration" }

func addTime(flags *pflag.FlagSet, value *time.Duration, name string, standard time.Duration, usage string) {
	*value = standard
	flags.Var(seconds{value}, name, usage)
}
