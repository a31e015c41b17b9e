package candles

import (
	"strconv"
	"time"

	"assay/load"
	"assay/workload"
	"assay/workload/definition"
)

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Candles is how many rows are written, 1 to MaxCandles, over Days days
	// from 1 to 366; Tickers is how many instruments they are of, 1 to
	// MaxTickers.
	Candles int64 `yaml:"candles" json:"candles"`
	Tickers int   `yaml:"tickers" json:"tickers"`
	Days    int   `yaml:"days" json:"days"`
	// Engine names the storage engine or compressor, one of Store.Engines;
	// empty means the database's own choice.
	Engine string `yaml:"engine,omitempty" json:"engine,omitempty"`
	// Loaders is how many clients write at once, Batch how many candles each
	// sends in one call, 1 to MaxBatch.
	Loaders int `yaml:"loaders" json:"loaders"`
	Batch   int `yaml:"batch" json:"batch"`
	// Queries is how many quick queries are made, each for the last Latest
	// candles of one ticker; 0 leaves them out.
	Queries int `yaml:"queries" json:"queries"`
	Latest  int `yaml:"latest" json:"latest"`
	// Intervals is how many intervals are drawn, each asked for Repeats times,
	// of one ticker each time; 0 leaves them out.
	Intervals int `yaml:"intervals" json:"intervals"`
	Repeats   int `yaml:"repeats" json:"repeats"`
	// Cold empties the caches before the first round of each kind of query.
	// The operating system's is that of the whole machine.
	Cold bool `yaml:"cold,omitempty" json:"cold,omitempty"`
}

// The largest values of Config.
const (
	MaxCandles = 100_000_000
	MaxTickers = 10_000
	MaxBatch   = 10_000
	maxQueries = 10_000_000
)

// Defaults returns the configuration of a run without flags: that of the
// published experiment, a day of 1.4 million candles, 200 tickers, 10,000
// quick queries and 10 intervals.
func Defaults() Config {
	return Config{Candles: 1_400_000, Tickers: 200, Days: 1, Loaders: 4, Batch: 1000,
		Queries: 10_000, Latest: 100, Intervals: 10, Repeats: 20}
}

// LoadDefaults returns the load of a run without flags: one client asks, so
// that queries come in one order. An attempt has a long time, since one of
// them reads a whole day.
func LoadDefaults() load.Plan {
	p := load.Defaults()
	p.Clients, p.Warmup, p.Timeout = 1, 0, 10*time.Minute
	return p
}

// Validate returns a *workload.OptionError for the first value that cannot be
// used.
func (c Config) Validate() error {
	if err := definition.CheckRanges(c.Flags()); err != nil {
		return err
	}
	if c.Intervals*c.Repeats > maxQueries {
		return &workload.OptionError{Option: "--repeats", Value: strconv.Itoa(c.Repeats), Want: "at most 10000000 queries by interval in all"}
	}
	return nil
}

// batches is how many calls the writing takes.
func (c Config) batches() int64 { return (c.Candles + int64(c.Batch) - 1) / int64(c.Batch) }

// batch is the candles of one of them: from first to below end.
func (c Config) batch(number int64) (first, end int64) {
	first = number * int64(c.Batch)
	return first, min(first+int64(c.Batch), c.Candles)
}
