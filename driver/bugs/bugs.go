// Package bugs breaks a database on purpose, so that the checks can be shown to
// notice: a checker is believed only if it convicts. It wraps a store.Database (Over) and
// sees statements and rows; which bugs a workload has, and which check must find each, the
// workload says (store/bug). What a bug does to rows is done to the rows of the database.
//
// While a bug is switched on, operations go to the database one at a time, whatever
// the number of clients, so that the wrapper knows their order. A run with a bug
// measures nothing and says nothing of the database.
//
// What is remembered is bounded: maxDifferences differences from the database,
// after which no bug takes effect any more; the last maxLog commits or transfers;
// maxLate operations that are to be done later.
//
// It must not know the load engine, the checks or any driver.
package bugs

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assay/store"
	"assay/store/bug"
)

// Bug is one way of breaking a promise, in one workload.
type Bug = bug.Bug

// Seeded is one bug switched on.
type Seeded struct {
	// Name is a Bug's.
	Name string
	// Probability is from 0 to 1, for each occasion.
	Probability float64
}

// String is as in an address.
func (s Seeded) String() string {
	return s.Name + ":" + strconv.FormatFloat(s.Probability, 'g', -1, 64)
}

// Take takes the parameter bug (NAME:PROBABILITY, several separated by commas or
// by repeating the parameter) off a database's address, for a workload that has these. The
// rest of the address is as it was. It returns *store.OptionError
// for a bug that the workload does not have and for a probability that is none.
func Take(address string, all []bug.Bug) (rest string, seeded []Seeded, err error) {
	base, query, found := strings.Cut(address, "?")
	if !found {
		return address, nil, nil
	}
	var kept []string
	for _, parameter := range strings.Split(query, "&") {
		value, isBug := strings.CutPrefix(parameter, "bug=")
		if !isBug {
			kept = append(kept, parameter)
			continue
		}
		if value, err = url.QueryUnescape(value); err != nil {
			return "", nil, &store.OptionError{Option: "bug", Value: parameter, Want: wanted(all)}
		}
		for _, item := range strings.Split(value, ",") {
			one, err := parse(item, all)
			if err != nil {
				return "", nil, err
			}
			if slices.ContainsFunc(seeded, func(s Seeded) bool { return s.Name == one.Name }) {
				return "", nil, &store.OptionError{Option: "bug", Value: one.Name, Want: "each bug once"}
			}
			seeded = append(seeded, one)
		}
	}
	if len(kept) > 0 {
		base += "?" + strings.Join(kept, "&")
	}
	return base, seeded, nil
}

func parse(item string, all []bug.Bug) (Seeded, error) {
	name, chance, _ := strings.Cut(item, ":")
	p, err := strconv.ParseFloat(chance, 64)
	switch {
	case !slices.ContainsFunc(all, func(b Bug) bool { return b.Name == name }):
		return Seeded{}, &store.OptionError{Option: "bug", Value: name, Want: wanted(all)}
	case err != nil || !(p >= 0 && p <= 1): // NaN is neither
		return Seeded{}, &store.OptionError{Option: "bug", Value: item, Want: "NAME:PROBABILITY, with a probability from 0 to 1"}
	}
	return Seeded{Name: name, Probability: p}, nil
}

// wanted lists bugs.
func wanted(all []bug.Bug) string {
	var names []string
	for _, b := range all {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}
