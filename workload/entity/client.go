package entity

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"assay/history"
	"assay/load"
	"assay/workload"
)

// The kinds of operations in the history.
const (
	// KindPut wrote an entity. It has no Values: the key follows from the
	// client and the operation, the entity from the key.
	KindPut uint8 = 1
	// KindGet read an entity that had been acknowledged before. Its Values are
	// the key and how many nanoseconds before the read it was acknowledged (-1
	// if it was there before the run), and if one was found its Sum.
	KindGet uint8 = 2
)

// maxRecent bounds how many acknowledged keys are remembered to be read.
const maxRecent = 4096

// recent knows the keys that were acknowledged last, whoever wrote them. It is
// safe for concurrent use.
type recent struct {
	mu    sync.Mutex
	acked [maxRecent]acked
	count uint64
}

// acked is a key and when it was acknowledged, after the answer had come.
type acked struct {
	key int64
	at  time.Time
}

func (r *recent) add(key int64) {
	at := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acked[r.count%maxRecent] = acked{key, at}
	r.count++
}

// choose returns one of them; ok is false if there is none.
func (r *recent) choose(random *rand.Rand) (a acked, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	span := min(r.count, maxRecent)
	if span == 0 {
		return acked{}, false
	}
	return r.acked[(r.count-1-random.Uint64N(span))%maxRecent], true
}

// client is one client: it writes entities of its own and reads those of all.
type client struct {
	store   Store
	session Session
	config  Config
	seed    uint64
	number  int
	recent  *recent
	random  *rand.Rand
	values  [4]int64

	// Of the operation that is going on, for its next attempts.
	put    bool
	target acked
	unsure bool // an attempt to put is unknown
}

var _ load.Client = (*client)(nil)

// Attempt implements load.Client.
func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	if attempt == 1 {
		c.choose(seq)
	}
	if c.put {
		return c.write(ctx, seq, attempt)
	}
	return c.read(ctx)
}

// choose decides what an operation does: whether it writes by the seed and its
// number alone, unless there is nothing to read; what is read also by what was
// acknowledged so far.
func (c *client) choose(seq uint64) {
	c.unsure = false
	draw := float64(workload.Mix(workload.Mix(c.seed^uint64(c.number)<<seqBits)^seq)>>11) / (1 << 53)
	if c.put = draw < c.config.WriteShare; c.put {
		return
	}
	// What was loaded and what was written since are read alike often, so that
	// a run does not end reading from the cache alone.
	if c.config.Entities > 0 && c.random.Uint64()&1 == 0 {
		key, _ := Key(loader, c.random.Uint64N(uint64(c.config.Entities)))
		c.target = acked{key: key}
		return
	}
	target, ok := c.recent.choose(c.random)
	if !ok && c.config.Entities > 0 {
		key, _ := Key(loader, c.random.Uint64N(uint64(c.config.Entities)))
		target, ok = acked{key: key}, true
	}
	c.target, c.put = target, !ok
}

func (c *client) write(ctx context.Context, seq uint64, attempt int) load.Answer {
	key, ok := Key(c.number, seq)
	if !ok || c.number >= loader {
		return load.Answer{Kind: KindPut, Outcome: history.Failed, Class: workload.ClassBeyond}
	}
	entity := Make(c.seed, key)
	reply, ok := c.open(ctx)
	if ok {
		reply = c.session.Put(ctx, entity)
	}
	answer := reply.Answer(KindPut)
	switch {
	case reply.Outcome == history.Rejected:
		// No driver may say so: there is no rule that could refuse an entity.
		answer.Outcome = history.Unknown
	case reply.Duplicate && c.unsure:
		answer.Done = true
	case reply.Duplicate && attempt == 1:
		// Nobody else has this id, so something between here and the database
		// has sent it twice, and it is there.
		answer.Outcome = history.Unknown
	}
	// What is left is a duplicate after attempts that all failed: it stays
	// failed, and the judge will find the entity.
	c.unsure = c.unsure || answer.Outcome == history.Unknown
	if answer.Outcome == history.Committed || answer.Done {
		c.recent.add(key)
	}
	c.after(reply.Broken || answer.Outcome == history.Unknown)
	return answer
}

func (c *client) read(ctx context.Context) load.Answer {
	age := int64(-1)
	if !c.target.at.IsZero() {
		age = int64(time.Since(c.target.at))
	}
	reply, ok := c.open(ctx)
	if ok {
		reply = c.session.Get(ctx, IDOf(c.seed, c.target.key))
	}
	c.after(reply.Broken)
	answer := reply.Answer(KindGet)
	if reply.Outcome != history.Committed {
		answer.Outcome = history.Failed // it has no effect
		return answer
	}
	c.values = [4]int64{c.target.key, age}
	answer.Values = c.values[:2]
	if reply.Found {
		sum := SumOf(reply.Entity)
		c.values[2], c.values[3] = sum.All, sum.Parts
		answer.Values = c.values[:]
	}
	return answer
}

// open makes sure that there is a session.
func (c *client) open(ctx context.Context) (failed Reply, ok bool) {
	if c.session != nil {
		return Reply{}, true
	}
	session, err := c.store.Session(ctx)
	if err != nil { // nothing was sent
		return Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Err: err, Broken: true}}, false
	}
	c.session = session
	return Reply{}, true
}

// after gives a session up that cannot be trusted any more.
func (c *client) after(distrusted bool) {
	if distrusted {
		c.Close()
	}
}

// Close implements load.Client.
func (c *client) Close() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}
