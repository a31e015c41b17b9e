package keyvalue

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"assay/history"
	"assay/load"
	"assay/store"
)

const (
	// KindInsert inserts a record. It has no Values: client, operation and attempt name it.
	KindInsert uint8 = 1
	// KindGet reads an acknowledged record. Its Values are the record's number and how many
	// nanoseconds before the read it was acknowledged (-1 if before the run). If a record was
	// found, its digest follows: as number and digest, or as two words (Preset.Hashed).
	KindGet uint8 = 2
	// KindProbe reads a key that cannot exist, while nothing is acknowledged. Its Values are
	// those of KindGet with 0 nanoseconds.
	KindProbe uint8 = 3
)

// Operations names the kinds.
func Operations() map[uint8]string {
	return map[uint8]string{KindInsert: "insert", KindGet: "get", KindProbe: "probe"}
}

// Impossible is a number that no client inserts.
const Impossible = -1

// Acknowledged is a record and when its acknowledgement came; zero if before the run.
type Acknowledged struct {
	Number int64
	At     time.Time
}

// Recent has the last acknowledged records of all clients. It is safe for concurrent use.
type Recent struct {
	mu    sync.Mutex
	ring  []Acknowledged
	count uint64
}

// NewRecent returns a Recent for size records.
func NewRecent(size int) *Recent { return &Recent{ring: make([]Acknowledged, size)} }

func (r *Recent) add(number int64) {
	at := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring[r.count%uint64(len(r.ring))] = Acknowledged{number, at}
	r.count++
}

// Choose returns one of the last records; ok is false if there is none.
func (r *Recent) Choose(random *rand.Rand, last int) (a Acknowledged, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := uint64(len(r.ring))
	span := min(r.count, size, uint64(last))
	if span == 0 {
		return Acknowledged{}, false
	}
	return r.ring[(r.count-1-random.Uint64N(span))%size], true
}

// Client is the common part of all clients: a session, replaced when it cannot be trusted. It is
// not safe for concurrent use.
type Client struct {
	store.Connection[store.Session]
	preset *Preset
	number int
	recent *Recent
	// unsure is true if an earlier attempt to insert the same record ended unknown.
	unsure bool
	values [4]int64
}

// Insert makes one attempt of an insert.
func (c *Client) Insert(ctx context.Context, seq uint64, attempt int) load.Answer {
	number, ok := c.preset.number(c.number, seq, attempt)
	if !ok || c.number > c.preset.MaxClient {
		return load.Answer{Kind: KindInsert, Outcome: history.Failed, Class: store.ClassBeyond}
	}
	if c.preset.PerAttempt {
		attempt = 1 // each is the first of its record
	}
	if attempt == 1 {
		c.unsure = false
	}
	record := c.preset.Record(number)
	session, err := c.Session(ctx)
	reply := store.Unsent(err)
	if err == nil {
		reply = session.Run(ctx, store.Call{Statement: Insert, Parameters: record}).Inserted()
	}
	reply.Outcome = reply.Unrefused()
	answer := reply.Answer(KindInsert)
	c.unsure = reply.Repeated(&answer, attempt, c.unsure)
	if answer.Outcome == history.Committed || answer.Confirmed {
		c.recent.add(number)
	}
	c.After(answer.Outcome, reply.Broken)
	return answer
}

// Get makes one attempt to read. A read without an answer has failed, since it has no effect.
// The next call overwrites the answer's values.
func (c *Client) Get(ctx context.Context, kind uint8, target Acknowledged) load.Answer {
	age := int64(-1)
	switch {
	case kind == KindProbe:
		age = 0
	case !target.At.IsZero():
		age = int64(time.Since(target.At))
	}
	found := new([]Observed) // of this call alone: one that was given up may go on
	session, err := c.Session(ctx)
	reply := store.Unsent(err)
	if err == nil {
		reply = session.Run(ctx, store.Call{Statement: Get, Parameters: []store.Value{c.preset.Key(target.Number)}, Row: func(row store.Row) error {
			one, err := c.preset.Observe(row)
			*found = append(*found, one)
			return err
		}})
	}
	c.After(reply.Outcome, reply.Broken)
	answer := reply.Answer(kind)
	if reply.Outcome != history.Committed {
		answer.Outcome = history.Failed
		return answer
	}
	c.values = [4]int64{target.Number, age}
	answer.Values = c.values[:2]
	if len(*found) > 0 {
		got := (*found)[0]
		c.values[2], c.values[3] = got.Digest[0], got.Digest[1]
		if !c.preset.Hashed {
			c.values[2], c.values[3] = got.Number, got.Digest[0]
		}
		answer.Values = c.values[:]
	}
	return answer
}
