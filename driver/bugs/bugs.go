// Package bugs breaks a database on purpose, to show that the checks notice. It wraps a
// store.Database (Over) and sees statements and rows. The workload says which bugs it has and
// which check must find each (store/bug). Bugs change the rows in the database itself.
//
// With bugs, operations go to the database one at a time, so that the wrapper knows their order.
// Such a run measures nothing and says nothing about the database.
//
// The memory is bounded: by maxDifferences differences from the database, after which no bug acts
// any more; by the last maxLog commits; by operations postponed by at most maxLate calls.
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

// Seeded is a bug switched on.
type Seeded struct {
	// Name is a Bug's.
	Name string
	// Probability is from 0 to 1, for each occasion.
	Probability float64
}

// String is NAME:PROBABILITY, as in an address.
func (s Seeded) String() string {
	return s.Name + ":" + strconv.FormatFloat(s.Probability, 'g', -1, 64)
}

// Take takes the parameter bug off a database's address and leaves the rest as it was. The
// parameter is NAME:PROBABILITY, several separated by commas or repeated. It returns
// *store.OptionError for a bug not in all and for a wrong probability.
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

func wanted(all []bug.Bug) string {
	var names []string
	for _, b := range all {
		names = append(names, b.Name)
	}
	return strings.Join(names, ", ")
}
