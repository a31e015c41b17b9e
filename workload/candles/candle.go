// Package candles is the workload of a storage engine: a day of trade candles is written under
// three more indexes, then read by quick queries of one ticker, by intervals and by whole days.
// It measures writing, each kind of query with cold and warm caches, and the size on disk. It
// compares every answer's row count and checksum with what was written.
//
// It must not know any driver or cluster.
package candles

import (
	"math/bits"
	"time"

	"assay/store"
	"assay/workload"
)

// Candle is one row, decided by the seed and ID. Prices are in ten-thousandths.
type Candle struct {
	// ID is the primary key.
	ID int64
	// Moment is the begin in microseconds since 1970, unique per ticker.
	Moment                      int64
	Opening, High, Low, Closing int64
	Average, Bid, Ask           int64
	Volume, Turnover, Trades    int64
	// Ticker and Market have four letters, Feed and Note at most 32 and 255; all ASCII.
	Ticker, Market, Feed, Note string
}

// numbers counts the columns of eight-byte numbers; columns of text follow.
const numbers = 12

// Columns maps candles to columns.
func Columns() store.Columns[Candle] {
	return store.Columns[Candle]{
		Names: []string{"id", "moment", "opening", "high", "low", "closing", "average", "bid", "ask", "volume", "turnover", "trades",
			"ticker", "market", "feed", "note"},
		Fields: func(c *Candle) []any {
			return []any{&c.ID, &c.Moment, &c.Opening, &c.High, &c.Low, &c.Closing, &c.Average, &c.Bid, &c.Ask, &c.Volume, &c.Turnover, &c.Trades,
				&c.Ticker, &c.Market, &c.Feed, &c.Note}
		},
	}
}

// Bytes is the size of the bare values: eight bytes a number, one a letter; about 270.
func (c *Candle) Bytes() int64 {
	return int64(8*numbers + len(c.Ticker) + len(c.Market) + len(c.Feed) + len(c.Note))
}

// Hash is 64-bit FNV-1a over all fields (G. Fowler, L. C. Noll, K.-P. Vo; RFC 9923), mixed so
// that sums of similar rows differ.
func (c *Candle) Hash() uint64 {
	h := workload.FNVBasis
	for _, n := range [...]int64{c.ID, c.Moment, c.Opening, c.High, c.Low, c.Closing, c.Average, c.Bid, c.Ask, c.Volume, c.Turnover, c.Trades} {
		h = h.Number(uint64(n))
	}
	for _, text := range [...]string{c.Ticker, c.Market, c.Feed, c.Note} {
		h = h.Number(uint64(len(text))).Text(text)
	}
	return workload.Mix(uint64(h))
}

// Tally counts rows. Sum adds their hashes modulo 2^64, whatever their order.
type Tally struct {
	Rows  int64
	Sum   uint64
	Bytes int64
}

// Add counts one row.
func (t *Tally) Add(c *Candle) {
	t.Rows++
	t.Sum += c.Hash()
	t.Bytes += c.Bytes()
}

const dayMicros = int64(24 * time.Hour / time.Microsecond)

func firstDay() int64 { return time.Date(2014, 1, 2, 0, 0, 0, 0, time.UTC).UnixMicro() }

// Generator makes the candles of a configuration and seed. It is safe for concurrent use.
type Generator struct {
	seed             uint64
	candles, tickers int64
	step, start      int64
	days             int64
}

// NewGenerator takes a valid configuration.
func NewGenerator(c Config, seed uint64) *Generator {
	g := &Generator{seed: seed, candles: c.Candles, tickers: int64(c.Tickers), days: int64(c.Days), start: firstDay()}
	g.step = g.days * dayMicros / g.slots()
	return g
}

// slots is the most candles of a ticker. Candle n is in slot n div tickers of ticker n mod
// tickers.
func (g *Generator) slots() int64 { return (g.candles + g.tickers - 1) / g.tickers }

// slotAt is the first slot not before a moment.
func (g *Generator) slotAt(moment int64) int64 {
	past := moment - g.start
	if past <= 0 {
		return 0
	}
	return min((past+g.step-1)/g.step, g.slots())
}

// Ticker is the name of ticker k.
func (g *Generator) Ticker(k int64) string {
	return string([]byte{'A' + byte(k/17576%26), 'A' + byte(k/676%26), 'A' + byte(k/26%26), 'A' + byte(k%26)})
}

// Candle returns candle n, from 0 to Config.Candles-1.
func (g *Generator) Candle(n int64) Candle {
	k, slot := n%g.tickers, n/g.tickers
	random := workload.Mix(g.seed ^ workload.Mix(uint64(n)))
	draw := func(below uint64) int64 {
		random = workload.Mix(random)
		high, _ := bits.Mul64(random, below)
		return int64(high)
	}
	own := workload.Mix(g.seed ^ workload.Mix(uint64(k)) ^ 0x7469636b6572)
	price := int64(50_000 + own%5_000_000)
	swing := uint64(price / 200)
	c := Candle{ID: n, Moment: g.start + slot*g.step, Ticker: g.Ticker(k), Market: markets[own>>32%uint64(len(markets))]}
	c.Opening = price + draw(swing)
	c.Closing = c.Opening + draw(swing/4+1) - int64(swing/8)
	c.High = max(c.Opening, c.Closing) + draw(swing/8+1)
	c.Low = min(c.Opening, c.Closing) - draw(swing/8+1)
	c.Average = (c.High + c.Low + c.Closing) / 3
	c.Bid, c.Ask = c.Closing-1-draw(100), c.Closing+1+draw(100)
	c.Trades = 1 + draw(400)
	c.Volume = c.Trades * (1 + draw(50)) * 100
	c.Turnover = c.Volume * (c.Average / 10_000)
	c.Feed = "consolidated tape " + string(rune('A'+draw(3)))
	note := make([]byte, 0, 255)
	for range 4 {
		note = append(note, conditions[draw(uint64(len(conditions)))]...)
		note = append(note, "; "...)
	}
	note = append(note, "order "...)
	for range 24 {
		note = append(note, "0123456789abcdef"[draw(16)])
	}
	c.Note = string(note)
	return c
}

var markets = [...]string{"NYSE", "NASD", "BATS", "ARCA", "IEXG"}

// conditions are texts that compress as real ones do.
var conditions = [...]string{
	"regular sale, eligible for last price", "intermarket sweep order", "odd lot, not reported to the tape",
	"average price trade", "derivatively priced", "extended hours, sold out of sequence",
	"opening print of the auction", "closing print of the auction", "cross trade at the midpoint",
	"prior reference price", "contingent trade, qualified", "stopped stock, regular",
}
