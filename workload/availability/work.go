// Package availability is the workload of failover: writers insert rows and
// readers read back what was acknowledged, at a set rate, under a policy of the
// client (no timeout; timeout; timeout and retry; the same with an id made by
// the client), while nodes die or go silent. It measures how long calls hang,
// how long writes and reads are away, and accounts for every acknowledged
// write: lost, doubled, read too late.
//
// It is a preset of package keyvalue. What is kept to judge a run is about five
// bytes for each row that may be there: one of what became of it, four of when
// its insert began. An operation that needed several attempts under several keys
// takes sixteen more. A run of a million operations so takes five megabytes, ten
// while the slices grow.
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

// FileState is the name of the saved rows in a run's folder.
const FileState = "availability.bin"

// Schema is what the workload keeps. A row's value is a pure function of the
// seed and the key, so that it can be judged without storing what was sent.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Space: "assay", Reads: true, Tables: []store.Table{{Name: "row", Columns: store.Integers("key", "value")}}}
}

// Row is the row of a key under a seed.
func Row(seed uint64, key int64) []store.Value { return store.OfInts(key, Value(seed, key)) }

// Value is what the row of a key holds: the finalizer of SplitMix64 (G.
// Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators",
// 2014), a bijection, over the key and the seed.
func Value(seed uint64, key int64) int64 {
	return int64(workload.Mix(uint64(key) ^ workload.Mix(seed)))
}

// preset is the workload of this configuration and seed.
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

// maxRecent bounds how many acknowledged keys readers choose from. At the
// default rate they are those of the last half minute.
const maxRecent = 256

// work is the workload opened on one database: what a run does with it, phase
// by phase. There is nothing to load, since a run begins with nothing.
type work struct {
	*keyvalue.Work
	config Config
	seed   uint64
}

// Client opens a session for client number n, which inserts.
func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
	c := w.NewClient(n)
	if _, err := c.Session(ctx); err != nil {
		return nil, err
	}
	return &writer{c}, nil
}

// Observers are the clients that read while the others insert, and how many
// times a second they do so together. They connect with their first read. In
// the history they may have any numbers that no writer has.
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

// writer is a client that inserts.
type writer struct{ *keyvalue.Client }

func (w *writer) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	return w.Insert(ctx, seq, attempt)
}

// reader is a client that reads.
type reader struct {
	*keyvalue.Client
	recent *keyvalue.Recent
	random *rand.Rand
}

// Attempt implements load.Client. Every second time the key is one of the last
// few that were acknowledged, on which a member that lags shows first.
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

// A row's key carries who wrote it: the client in the upper bits, the client's
// operation number, and in the lower ones the attempt, which is 0 where all
// attempts of an operation write the same row.
const (
	seqBits     = 33
	attemptBits = 16
	// MaxClient is the highest client number, MaxSeq the highest operation
	// number of a client, MaxAttempt the highest attempt.
	MaxClient  = 1<<(63-seqBits-attemptBits) - 1
	MaxSeq     = 1<<seqBits - 1
	MaxAttempt = 1<<attemptBits - 1
)

// Key returns the key of an attempt, 0 for all attempts, of operation seq of a
// client. ok is false if one of them is out of range.
func Key(client int, seq uint64, attempt int) (key int64, ok bool) {
	if client < 0 || client > MaxClient || seq > MaxSeq || attempt < 0 || attempt > MaxAttempt {
		return 0, false
	}
	return int64(client)<<(seqBits+attemptBits) | int64(seq)<<attemptBits | int64(attempt), true
}

// SplitKey is the inverse of Key. ok is false if no client can have made the
// key.
func SplitKey(key int64) (client int, seq uint64, attempt int, ok bool) {
	if key < 0 {
		return 0, 0, 0, false
	}
	return int(key >> (seqBits + attemptBits)), uint64(key) >> attemptBits & MaxSeq, int(key & MaxAttempt), true
}
