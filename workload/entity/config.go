package entity

import (
	"strconv"

	"assay/load"
	"assay/workload"
)

// Config is what a user can set of the workload.
type Config struct {
	// WriteShare is the share of operations that write, 0 to 1; the others
	// read.
	WriteShare float64 `yaml:"write_share" json:"write_share"`
	// Entities is how many are there before the run begins, 0 to MaxEntities.
	// Without any, a read that has nothing to read yet becomes a write.
	Entities int64 `yaml:"entities" json:"entities"`
}

// MaxEntities is the largest Config.Entities.
const MaxEntities = 100_000_000

// Defaults returns the configuration of a run without flags.
func Defaults() Config { return Config{WriteShare: 0.5, Entities: 1000} }

// LoadDefaults returns the load of a run without flags, which is short.
func LoadDefaults() load.Plan {
	p := load.Defaults()
	p.Clients = 16
	return p
}

// Validate returns a *workload.OptionError for the first value that cannot be
// used.
func (c Config) Validate() error {
	switch {
	case !(c.WriteShare >= 0 && c.WriteShare <= 1): // also refuses NaN
		return &workload.OptionError{Option: "--write-share", Value: strconv.FormatFloat(c.WriteShare, 'g', -1, 64), Want: "0 (only reads) to 1 (only writes)"}
	case c.Entities < 0 || c.Entities > MaxEntities:
		return &workload.OptionError{Option: "--entities", Value: strconv.FormatInt(c.Entities, 10), Want: "0 to " + strconv.Itoa(MaxEntities)}
	case c.Entities == 0 && c.WriteShare == 0:
		return &workload.OptionError{Option: "--entities", Value: "0", Want: "1 or more where nobody writes: there would be nothing to read"}
	}
	return nil
}
