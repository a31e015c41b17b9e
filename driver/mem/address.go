package mem

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"assay/driver/uri"
	"assay/store"
)

// level is the level of all transactions; plain "serializable" is understood too.
const level = "strict serializable"

// open makes an empty database from mem://?timeout=PROBABILITY&latency=DURATION.
func open(target store.Target) (*database, error) {
	rest, found := strings.CutPrefix(target.Address, "mem:")
	host, query, _ := strings.Cut(rest, "?")
	if !found || strings.Trim(host, "/") != "" {
		return nil, &store.OptionError{Option: "address", Value: store.Redact(target.Address), Want: "mem://"}
	}
	switch target.Isolation {
	case "", level, "serializable":
	default:
		return nil, &store.OptionError{Option: "isolation", Value: target.Isolation, Want: level}
	}
	options, err := uri.ReadOptions(query)
	if err != nil {
		return nil, err
	}
	d := &database{chance: rand.New(rand.NewPCG(target.Seed, 0x6173736179))}
	if value, given := options.Take("timeout"); given {
		d.timeout, err = strconv.ParseFloat(value, 64)
		if err != nil || !(d.timeout >= 0 && d.timeout <= 1) { // NaN is neither
			return nil, &store.OptionError{Option: "timeout", Value: value, Want: "a probability from 0 to 1"}
		}
	}
	if value, given := options.Take("latency"); given {
		if d.latency, err = time.ParseDuration(value); err != nil || d.latency < 0 {
			return nil, &store.OptionError{Option: "latency", Value: value, Want: "a duration of 0 or more, such as 2ms"}
		}
	}
	if err := options.None("timeout, latency"); err != nil {
		return nil, err
	}
	return d, nil
}
