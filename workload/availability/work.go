// Package availability is the workload of failover. While nodes die or go silent, writers insert
// rows and readers read acknowledged ones, at a set rate and under a client's policy. It
// measures how long calls hang and how long writes and reads are away, and accounts for every
// acknowledged write: lost, doubled or read too late.
//
// It is a preset of package keyvalue. The judge takes about five bytes per possible row, sixteen
// more for an operation with several keys, and up to twice that while slices grow.
//
// It must not know any driver, cluster or fault.
package availability

import (
	"context"
	"fmt"
	"math/rand/v2"

	"assay/load"
	"assay/store"
	"assay/workload"
	"assay/workload/keyvalue"
)

// FileState is the saved state's name in a run's folder.
const FileState = "availability.bin"

// Schema returns the table. Seed and key decide a row's value, so that it can be judged without
// a record of what was sent.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Space: "assay", Reads: true, Tables: []store.Table{{Name: "row", Columns: store.Integers("key", "value")}}}
}

// Row returns a key's row.
func Row(seed uint64, key int64) []store.Value { return store.OfInts(key, Value(seed, key)) }

// Value returns a key's value: the finalizer of SplitMix64, a bijection (G. Steele, D. Lea, C.
// Flood, "Fast splittable pseudorandom number generators", 2014).
func Value(seed uint64, key int64) int64 {
	return int64(workload.Mix(uint64(key) ^ workload.Mix(seed)))
}

func preset(c Config, seed uint64) *keyvalue.Preset {
	return &keyvalue.Preset{
		Schema: Schema(), Number: Key, Split: SplitKey, MaxClient: MaxClient, Loader: -1,
		PerAttempt: c.Policy != PolicyIdempotent, Repeats: c.Policy == PolicyRetry,
		ReadersApart: true, Starts: true, Linearizable: c.primary(),
		Key:    store.OfInt,
		Record: func(number int64) []store.Value { return Row(seed, number) },
		Digest: func(number int64) keyvalue.Digest { return keyvalue.Digest{Value(seed, number)} },
		Observe: func(row store.Row) (got keyvalue.Observed, err error) {
			err = row.Scan(&got.Number, &got.Digest[0])
			return got, err
		},
		Magic: "ASSAYA02",
		Words: keyvalue.Words{One: "row", Many: "rows", Digest: "value"},
		Difference: func(got, want keyvalue.Digest) string {
			return fmt.Sprintf("with value %d, and %d was written", got[0], want[0])
		},
	}
}

// maxRecent bounds the keys that readers choose from: half a minute at the default rate.
const maxRecent = 256

// work begins with an empty table.
type work struct {
	*keyvalue.Work
	config Config
	seed   uint64
}

func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	c := w.NewClient(n)
	if _, err := c.Session(ctx); err != nil {
		return nil, err
	}
	return &writer{c}, nil
}

// Observers are the readers. They connect with their first read, and in the history have numbers
// that no writer has.
func (w *work) Observers() (clients []load.Client, perSecond float64) {
	if !w.config.reads() {
		return nil, 0
	}
	for n := range w.config.Readers {
		clients = append(clients, &reader{
			Client: w.NewClient(n),
			recent: w.Recent, random: rand.New(rand.NewPCG(w.seed, uint64(n))),
		})
	}
	return clients, w.config.ReadRate
}

type writer struct{ *keyvalue.Client }

func (w *writer) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	return w.Insert(ctx, seq, attempt)
}

type reader struct {
	*keyvalue.Client
	recent *keyvalue.Recent
	random *rand.Rand
}

// Every second read is of the last few acknowledged keys, where a lagging member shows first.
func (r *reader) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	last := maxRecent
	if r.random.Uint64()&1 == 0 {
		last = 4
	}
	if target, ok := r.recent.Choose(r.random, last); ok {
		return r.Get(ctx, keyvalue.KindGet, target)
	}
	return r.Get(ctx, keyvalue.KindProbe, keyvalue.Acknowledged{Number: keyvalue.Impossible})
}

// A key has the client in the upper bits, the operation number, and the attempt in the lowest; 0
// if all attempts write the same row.
const (
	seqBits     = 33
	attemptBits = 16
	// MaxClient, MaxSeq and MaxAttempt are the highest numbers that a key can hold.
	MaxClient  = 1<<(63-seqBits-attemptBits) - 1
	MaxSeq     = 1<<seqBits - 1
	MaxAttempt = 1<<attemptBits - 1
)

// Key returns the key of an attempt; attempt 0 means all of them. ok is false out of range.
func Key(client int, seq uint64, attempt int) (key int64, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq || attempt < 0 || attempt > MaxAttempt {
		return 0, false
	}
	return int64(client)<<(seqBits+attemptBits) | int64(seq)<<attemptBits | int64(attempt), true
}

// SplitKey is the inverse of Key. ok is false for a negative key.
func SplitKey(key int64) (client int, seq uint64, attempt int, ok bool) {
	if key < 0 {
		return 0, 0, 0, false
	}
	return int(key >> (seqBits + attemptBits)), uint64(key) >> attemptBits & MaxSeq, int(key & MaxAttempt), true
}
