package main

import (
	"github.com/spf13/cobra"

	"assay/workload/candles"
)

func addCandles(cmd *cobra.Command, c *candles.Config) {
	flags := cmd.Flags()
	flags.Int64Var(&c.Candles, "candles", c.Candles, "how many candles are written, 1 to 100000000")
	flags.IntVar(&c.Tickers, "tickers", c.Tickers, "of how many tickers, 1 to 10000")
	flags.IntVar(&c.Days, "days", c.Days, "over how many days, 1 to 366")
	flags.StringVar(&c.Engine, "engine", c.Engine, "storage engine or compressor, one that the database has; a wrong one names them")
	flags.IntVar(&c.Loaders, "loaders", c.Loaders, "clients that write at once")
	flags.IntVar(&c.Batch, "batch", c.Batch, "candles in one call, 1 to 10000")
	flags.IntVar(&c.Queries, "queries", c.Queries, "quick queries, each for the last candles of one ticker; 0 for none")
	flags.IntVar(&c.Latest, "latest", c.Latest, "candles that a quick query asks for")
	flags.IntVar(&c.Intervals, "intervals", c.Intervals, "intervals of time to ask for; 0 for none")
	flags.IntVar(&c.Repeats, "repeats", c.Repeats, "how many times each interval is asked for, of one ticker each time")
	flags.BoolVar(&c.Cold, "cold", c.Cold, "empty the caches before the first round of each kind of query: restart the server of a --cluster, and empty the page cache of THE WHOLE MACHINE")
}

// notOfRounds are flags that mean nothing in a run of rounds.
var notOfRounds = [...]string{"rate", "arrivals", "duration", "ops", "warmup", "ramp", "retry", "max-attempts"}

func newRunCandles(version string) *cobra.Command {
	f := newRunFlags(candles.Name)
	f.scenario.Load = candles.LoadDefaults()
	cmd := &cobra.Command{
		Use:   candles.Name,
		Short: "A day of trade candles: rate of writing, time of queries, size on disk, every answer checked",
		Long: `A day of trade candles, to compare storage engines and compressors.

Rows of about 280 bytes are written by --loaders clients into a table with three
more indexes. Then --clients ask, in the same order whatever the database is:
for the last candles of a ticker (quick), for those of a ticker in an interval,
for all of a day. Each kind is asked twice, cold (or as the caches are: first)
and warm. The row count and the checksum of every single answer are held
against what was written, so that an answer that was cut short is a violation.
With --cluster ...,memory=256MiB the data need not fit into memory.`,
		Example: `  assay run candles --candles 100000
  assay run candles --cluster mongodb:1 --engine zstd --cold
  assay run candles --cluster mongodb:1,memory=512MiB --engine zlib --candles 5000000 --cold`,
	}
	return f.complete(cmd, version, useless{
		flags: notOfRounds[:],
		why:   "has no meaning in this workload, whose rounds are closed loops of a known length",
	}, nil)
}
