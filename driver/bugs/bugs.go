// Package bugs breaks a database on purpose, so that the checks can be shown to
// notice: a checker is believed only if it convicts. It wraps a store.Database (Over) and
// sees statements and rows; which bugs a workload has, and which check must find each, the
// workload says (store/bug). What a bug does to rows is done to the rows of the database.
// The Stores of workloads that are not yet judged so are wrapped each (Wrap).
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

	"assay/store/bug"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
	"assay/workload/ycsb"
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

// seedable is a workload that has bugs, and how its Store is wrapped.
type seedable struct {
	name string
	bugs []Bug
	wrap func(store workload.Store, seeded []Seeded, seed uint64) (workload.Store, error)
}

// with is a workload whose Stores S are wrapped as W.
func with[A any, S, W workload.Store](name string, bugs []bugOf[A], wrap func(S, []Seeded, uint64) W) seedable {
	return seedable{name, described(bugs), func(store workload.Store, seeded []Seeded, seed uint64) (workload.Store, error) {
		inner, is := store.(S)
		if !is {
			return nil, noBug(name, seeded)
		}
		return wrap(inner, seeded, seed), nil
	}}
}

func seedables() []seedable {
	return []seedable{
		with(availability.Name, keyValueBugs(availability.Name), newAvailability),
		with(entity.Name, keyValueBugs(entity.Name), newEntity),
		with(bulkupdate.Name, bulkUpdateBugs(), newBulkUpdate),
		with(candles.Name, candleBugs(), newCandles),
		with(ycsb.Name, ycsbBugs(), newMutable),
		with(tpcc.Name, tpccBugs(), newTPCC),
		with(script.Name, scriptBugs(), newScript),
	}
}

// For returns all bugs of a workload, by the workload's name; none of a workload
// that has none.
func For(name string) []Bug {
	switch name {
	case bank.Name:
		return bank.Bugs()
	case smallbank.Name:
		return smallbank.Bugs()
	case tpcb.Name:
		return tpcb.Bugs()
	case availability.Name:
		return availability.Bugs()
	case entity.Name:
		return entity.Bugs()
	case ycsb.Name:
		return ycsb.Bugs()
	case churn.Name:
		return churn.Bugs()
	case isolation.Name:
		return isolation.Bugs()
	case bulkupdate.Name:
		return bulkupdate.Bugs()
	case candles.Name:
		return candles.Bugs()
	}
	for _, w := range seedables() {
		if w.name == name {
			return w.bugs
		}
	}
	return nil
}

// OfStatements reports whether the bugs of a workload are those of Over.
func OfStatements(name string) bool {
	return !slices.ContainsFunc(For(name), func(b Bug) bool { return b.Act.Does == "" })
}

// Take takes the parameter bug (NAME:PROBABILITY, several separated by commas or
// by repeating the parameter) off a database's address, for a workload by its
// name. The rest of the address is as it was. It returns *workload.OptionError
// for a bug that the workload does not have and for a probability that is none.
func Take(address, name string) (rest string, seeded []Seeded, err error) {
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
			return "", nil, &workload.OptionError{Option: "bug", Value: parameter, Want: wanted(name)}
		}
		for _, item := range strings.Split(value, ",") {
			one, err := parse(item, name)
			if err != nil {
				return "", nil, err
			}
			if slices.ContainsFunc(seeded, func(s Seeded) bool { return s.Name == one.Name }) {
				return "", nil, &workload.OptionError{Option: "bug", Value: one.Name, Want: "each bug once"}
			}
			seeded = append(seeded, one)
		}
	}
	if len(kept) > 0 {
		base += "?" + strings.Join(kept, "&")
	}
	return base, seeded, nil
}

func parse(item, name string) (Seeded, error) {
	bug, chance, _ := strings.Cut(item, ":")
	p, err := strconv.ParseFloat(chance, 64)
	switch {
	case !slices.ContainsFunc(For(name), func(b Bug) bool { return b.Name == bug }):
		return Seeded{}, &workload.OptionError{Option: "bug", Value: bug, Want: wanted(name)}
	case err != nil || !(p >= 0 && p <= 1): // NaN is neither
		return Seeded{}, &workload.OptionError{Option: "bug", Value: item, Want: "NAME:PROBABILITY, with a probability from 0 to 1"}
	}
	return Seeded{Name: bug, Probability: p}, nil
}

// wanted lists the bugs of a workload.
func wanted(name string) string {
	var names []string
	for _, b := range For(name) {
		names = append(names, b.Name)
	}
	if len(names) == 0 {
		return "no bug in workload " + name
	}
	return strings.Join(names, ", ")
}

// Wrap returns a Store that does what the given one of a workload does, but for
// the bugs. The given one is closed with it. The chance is drawn from seed: the same
// seed and the same order of calls give the same run. The bugs must be as Take
// returns them for the workload.
func Wrap(store workload.Store, name string, seeded []Seeded, seed uint64) (workload.Store, error) {
	for _, w := range seedables() {
		if w.name == name {
			return w.wrap(store, seeded, seed)
		}
	}
	return nil, noBug(name, seeded)
}

// noBug refuses to wrap a Store of another workload than that of the bugs.
func noBug(name string, seeded []Seeded) error {
	return &workload.OptionError{Option: "bug", Value: seeded[0].Name, Want: wanted(name)}
}
