package mem

import (
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assay/workload"
)

const (
	// level is what all transactions have; plain "serializable" is understood as
	// well.
	level = "strict serializable"

	parameterNames = "timeout and latency"
)

// open makes an empty database as its address asks for:
// mem://?timeout=PROBABILITY&latency=DURATION.
func open(target workload.Target) (*database, error) {
	rest, found := strings.CutPrefix(target.Address, "mem:")
	host, query, _ := strings.Cut(rest, "?")
	if !found || strings.Trim(host, "/") != "" {
		return nil, &workload.OptionError{Option: "address", Value: workload.Redact(target.Address), Want: "mem://"}
	}
	switch target.Isolation {
	case "", level, "serializable":
	default:
		return nil, &workload.OptionError{Option: "isolation", Value: target.Isolation, Want: level}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, &workload.OptionError{Option: "parameters", Value: query, Want: parameterNames}
	}
	d := &database{chance: rand.New(rand.NewPCG(target.Seed, 0x6173736179)), open: map[int64]int{}}
	for key, given := range values {
		if err := d.set(key, given); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// set takes one parameter of an address.
func (d *database) set(key string, given []string) (err error) {
	if len(given) != 1 {
		return &workload.OptionError{Option: "parameter", Value: key, Want: "each of " + parameterNames + " once"}
	}
	want := ""
	switch key {
	case "timeout":
		d.timeout, err = strconv.ParseFloat(given[0], 64)
		if err != nil || !(d.timeout >= 0 && d.timeout <= 1) { // NaN is neither
			want = "a probability from 0 to 1"
		}
	case "latency":
		if d.latency, err = time.ParseDuration(given[0]); err != nil || d.latency < 0 {
			want = "a duration of 0 or more, such as 2ms"
		}
	default:
		return &workload.OptionError{Option: "parameter", Value: key, Want: parameterNames}
	}
	if want != "" {
		return &workload.OptionError{Option: key, Value: given[0], Want: want}
	}
	return nil
}
