package candles

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"assay/check"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// Name names the workload.
const Name = "candles"

// Definition describes the workload.
func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "candles",
		Summary: "a day of trade candles under three more indexes; rate of writing, time of queries, size on disk, every answer checked",
		Short:   "A day of trade candles: rate of writing, time of queries, size on disk, every answer checked",
		Long: `A day of trade candles, to compare storage engines and compressors.

--loaders clients write rows of about 280 bytes into a table with three more
indexes. Then --clients ask for the last candles of a ticker (quick), for a
ticker's candles in an interval, and for all of a day. They ask each question
twice: cold (without --cold as the caches are: first) and warm. assay compares the
row count and the checksum of every answer with what was written.`,
		Example: `  assay run candles --candles 100000
  assay run candles --cluster mongodb:1 --engine zstd --cold
  assay run candles --cluster mongodb:1,memory=512MiB --engine zlib --candles 5000000 --cold`,
		Checks: []definition.Check{
			{Name: CheckIngest, Asserts: "Every candle that was acknowledged is there, once and as it was written, and none that was not.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "failed": promise.Atomicity}},
			{Name: CheckAnswers, Asserts: "Every answer to a query has all rows that were acknowledged and belong to it, as they were written, and no others.",
				Kinds: map[string]promise.Property{string(answerCut): promise.Recency, string(answerOther): promise.Recency}},
		},
		Schema:     definition.Fixed(Schema),
		Needs:      []store.Need{{Capability: store.Indexes}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		Load:       LoadDefaults,
		Unused:     []string{"rate", "arrivals", "duration", "ops", "warmup", "ramp", "retry", "max-attempts"},
		WhyUnused:  "has no meaning in this workload, whose rounds are closed loops of a known length",
		State:      FileState,
		Operations: map[uint8]string{KindInsert: "insert", KindLatest: "latest", KindInterval: "interval", KindDay: "day"},
		// Rounds have few operations, which get faster as caches fill.
		Limit: func(l *measure.Limits) { l.NoSteadyState = true },
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "candles", Value: &c.Candles, Min: 1, Max: MaxCandles, Setting: "candles", Usage: "how many candles are written, 1 to 100000000"},
		{Name: "tickers", Value: &c.Tickers, Min: 1, Max: MaxTickers, Setting: "tickers", Usage: "of how many tickers, 1 to 10000"},
		{Name: "days", Value: &c.Days, Min: 1, Max: 366, Setting: "days", Usage: "over how many days, 1 to 366"},
		{Name: "engine", Value: &c.Engine, Usage: "storage engine or compressor, one that the database has; a wrong one names them"},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 1000, Setting: "loaders", Usage: "clients that write at once"},
		{Name: "batch", Value: &c.Batch, Min: 1, Max: MaxBatch, Setting: "batch", Usage: "candles in one call, 1 to 10000"},
		{Name: "queries", Value: &c.Queries, Max: maxQueries, Usage: "quick queries, each for the last candles of one ticker; 0 for none"},
		{Name: "latest", Value: &c.Latest, Min: 1, Max: 100_000, Usage: "candles that a quick query asks for"},
		{Name: "intervals", Value: &c.Intervals, Max: 10_000, Usage: "intervals of time to ask for; 0 for none"},
		{Name: "repeats", Value: &c.Repeats, Min: 1, Max: 100_000, Usage: "how many times each interval is asked for, of one ticker each time"},
		{Name: "cold", Value: &c.Cold, Usage: "empty the caches before the first round of each kind of query: restart the server of a --cluster, and empty the page cache of THE WHOLE MACHINE"},
	}
}

// Plan implements definition.Config. Rounds of known length know no rate and no retry.
func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	if p.Rate > 0 {
		return p, &store.OptionError{Option: "--rate", Value: strconv.FormatFloat(p.Rate, 'g', -1, 64), Want: "left out: every round is a closed loop of --clients"}
	}
	if p.Retry != load.RetryNone {
		return p, &store.OptionError{Option: "--retry", Value: string(p.Retry), Want: string(load.RetryNone) + ": a batch that is sent again would be written over itself"}
	}
	return p, nil
}

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.Candles, RowBytes: 280, Worked: 3*c.Candles + int64(2*c.Queries*c.Latest) + 2*int64(c.Intervals*c.Repeats)*c.Candles/1000}
}

func (c *Config) Options(definition.Support) []report.Setting {
	settings := []report.Setting{{Name: "engine", Value: cmp.Or(c.Engine, "the database's own choice")}}
	return append(append(settings, definition.Settings(c.Flags())...),
		report.Setting{Name: "quick queries", Value: fmt.Sprintf("%d, each of the last %d of a ticker", c.Queries, c.Latest)},
		report.Setting{Name: "interval queries", Value: check.Counted(c.Intervals, "interval", "intervals") + ", " + check.Counted(c.Repeats, "time", "times") + " each"})
}

func (c *Config) Open(ctx context.Context, db store.Database, seed uint64, clients int) (definition.Work, error) {
	return newWork(ctx, db, *c, seed, clients)
}

func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	j, err := Judge(*c, seed, e)
	if err != nil {
		return definition.Judgement{}, err
	}
	out := definition.Judgement{Results: j.Results, Notes: c.notes(j.Figures), Counts: j.Figures.Outcomes,
		Facts: map[string][]report.Setting{}, Rates: map[string]float64{}}
	for name, r := range j.Figures.Rounds {
		out.Facts[name] = r.facts()
		if r.Nanos > 0 {
			out.Rates[name] = float64(r.Rows) * 1e9 / float64(r.Nanos)
		}
	}
	return out, nil
}

func (r RoundFigures) facts() []report.Setting {
	facts := []report.Setting{{Name: "rows", Value: strconv.FormatInt(r.Rows, 10)}}
	if r.Nanos > 0 {
		facts = append(facts, report.Setting{Name: "rows/s", Value: strconv.FormatFloat(float64(r.Rows)*1e9/float64(r.Nanos), 'f', 0, 64)})
	}
	if r.Bytes > 0 {
		facts = append(facts, report.Setting{Name: "bytes", Value: strconv.FormatInt(r.Bytes, 10)})
	}
	if r.Answers > 0 {
		facts = append(facts, report.Setting{Name: "mean µs", Value: strconv.FormatFloat(float64(r.Busy)/1e3/float64(r.Answers), 'f', 0, 64)})
	}
	return facts
}

func (c *Config) notes(f Figures) (all []string) {
	if raw := float64(f.RawBytes); raw > 0 && f.Size.Bytes > 0 {
		note := fmt.Sprintf("%s of %s of bare values (%.0f each) take %s", check.Counted(f.Rows, "candle", "candles"),
			check.Counted(f.RawBytes, "byte", "bytes"), raw/float64(f.Rows), check.Counted(f.Size.Bytes, "byte", "bytes"))
		if f.Size.Indexes > 0 {
			note += fmt.Sprintf(": %s of data (raw / data %.2f) and %s of indexes", check.Count(f.Size.Tables), raw/float64(max(f.Size.Tables, 1)), check.Count(f.Size.Indexes))
		}
		all = append(all, note+fmt.Sprintf("; raw / all %.2f", raw/float64(f.Size.Bytes)))
	}
	if c.Cold && !f.Cold {
		all = append(all, "--cold could not be done, so that the first rounds of queries are called first and not cold: it takes the right to write "+
			"/proc/sys/vm/drop_caches, and a database in this process or one server that --cluster has started")
	}
	return all
}

// Config is a definition.Config.
type Config struct {
	Candles   int64  `yaml:"candles" json:"candles"`
	Tickers   int    `yaml:"tickers" json:"tickers"`
	Days      int    `yaml:"days" json:"days"`
	Engine    string `yaml:"engine,omitempty" json:"engine,omitempty"`
	Loaders   int    `yaml:"loaders" json:"loaders"`
	Batch     int    `yaml:"batch" json:"batch"`
	Queries   int    `yaml:"queries" json:"queries"`
	Latest    int    `yaml:"latest" json:"latest"`
	Intervals int    `yaml:"intervals" json:"intervals"`
	Repeats   int    `yaml:"repeats" json:"repeats"`
	Cold      bool   `yaml:"cold,omitempty" json:"cold,omitempty"`
}

// Limits of a Config.
const (
	MaxCandles = 100_000_000
	MaxTickers = 10_000
	MaxBatch   = 10_000
	maxQueries = 10_000_000
)

// Defaults returns the published experiment: a day of 1.4 million candles, 200 tickers, 10,000
// quick queries and 10 intervals.
func Defaults() Config {
	return Config{Candles: 1_400_000, Tickers: 200, Days: 1, Loaders: 4, Batch: 1000,
		Queries: 10_000, Latest: 100, Intervals: 10, Repeats: 20}
}

// LoadDefaults returns a load of one client, so that queries have one order. The timeout is
// long, because a query can read a whole day.
func LoadDefaults() load.Plan {
	p := load.Defaults()
	p.Clients, p.Warmup, p.Timeout = 1, 0, 10*time.Minute
	return p
}

func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	if c.Intervals*c.Repeats > maxQueries {
		return &store.OptionError{Option: "--repeats", Value: strconv.Itoa(c.Repeats), Want: "at most 10000000 queries by interval in all"}
	}
	return nil
}

func (c Config) batches() int64 { return (c.Candles + int64(c.Batch) - 1) / int64(c.Batch) }

// batch is the range of a batch's candles, from first to below end.
func (c Config) batch(number int64) (first, end int64) {
	first = number * int64(c.Batch)
	return first, min(first+int64(c.Batch), c.Candles)
}
