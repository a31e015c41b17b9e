package bulkupdate

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"assay/check"
	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Users is how many there are, numbered from 1.
	Users int64 `yaml:"users" json:"users"`
	// Documents is how many each user has, numbered from 1.
	Documents int64 `yaml:"documents" json:"documents"`
	// Workers are the worker counts to measure, one round each, in this order:
	// numbers and ranges, such as "1..30" or "1,5,15,30".
	Workers string `yaml:"workers" json:"workers"`
	// Field is what the boolean says before the first round: FieldOff,
	// FieldAlternate or FieldRandom.
	Field string `yaml:"field" json:"field"`
	// Loaders is how many batches are loaded at the same time.
	Loaders int `yaml:"loaders" json:"loaders"`
}

// What the boolean of a document says at first. Each round sets it to the same
// in all documents, so that from the second on it flips everywhere.
const (
	// FieldOff: false in all.
	FieldOff = "off"
	// FieldAlternate: true in every second document.
	FieldAlternate = "alternate"
	// FieldRandom: true in half of them, by the seed.
	FieldRandom = "random"
)

func fields() []string { return []string{FieldOff, FieldAlternate, FieldRandom} }

const (
	// maxRounds is one less than there are bits in the masks of state.go.
	maxRounds = 63
	// maxDocuments bounds what is kept to judge a run to some 13 MB of bits.
	maxDocuments = 100_000_000
)

// Defaults returns the configuration of a run without flags, which takes some
// seconds.
func Defaults() Config {
	return Config{Users: 200, Documents: 500, Workers: "1,4,8", Field: FieldOff, Loaders: 4}
}

// Validate returns a *workload.OptionError for the first value that cannot be
// used.
func (c Config) Validate() error {
	if err := cmp.Or(definition.CheckRanges(c.Flags()), definition.OneOf("--field", c.Field, fields()...)); err != nil {
		return err
	}
	if most := maxDocuments / c.Users; c.Documents > most {
		return &workload.OptionError{Option: "--documents", Value: strconv.FormatInt(c.Documents, 10),
			Want: fmt.Sprintf("1 to %d for so many users: at most %d documents in all", most, maxDocuments)}
	}
	_, err := c.workers()
	return err
}

// workers are the worker counts of the rounds.
func (c Config) workers() ([]int, error) {
	refuse := func(why string) error {
		return &workload.OptionError{Option: "--workers", Value: c.Workers,
			Want: fmt.Sprintf("numbers and ranges from 1 to %d, each number once and at most %d of them, such as 1..30 or 1,5,15,30 (%s)", load.MaxClients, maxRounds, why)}
	}
	var all []int
	seen := map[int]bool{}
	for _, item := range strings.Split(c.Workers, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(item), "..")
		if !isRange {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || first < 1 || last > load.MaxClients || last < first {
			return nil, refuse(fmt.Sprintf("not %q", item))
		}
		for n := first; n <= last; n++ {
			if seen[n] {
				return nil, refuse(fmt.Sprintf("%d is there twice", n))
			}
			if len(all) == maxRounds {
				return nil, refuse("these are more")
			}
			seen[n] = true
			all = append(all, n)
		}
	}
	return all, nil
}

// roundName is the name of the round of so many workers.
func roundName(workers int) string {
	return check.Counted(workers, "worker", "workers")
}
