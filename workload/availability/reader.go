package availability

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"assay/history"
	"assay/load"
)

// maxRecent bounds how many acknowledged keys readers choose from. At the
// default rate they are those of the last half minute.
const maxRecent = 256

// recent knows the keys that were acknowledged last. It is safe for concurrent
// use.
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

// choose returns one of them; ok is false if there is none. Every second time
// it is one of the last few, on which a member that lags shows first.
func (r *recent) choose(random *rand.Rand) (a acked, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	span := min(r.count, maxRecent)
	if span == 0 {
		return acked{}, false
	}
	if random.Uint64()&1 == 0 {
		span = min(span, 4)
	}
	return r.acked[(r.count-1-random.Uint64N(span))%maxRecent], true
}

// impossible is a key that no client can have made.
const impossible = -1

// reader is one client that reads.
type reader struct {
	connection
	recent *recent
	random *rand.Rand
	values [4]int64
}

var _ load.Client = (*reader)(nil)

// Attempt implements load.Client. A read has no effect, so that one without an
// answer has failed.
func (r *reader) Attempt(ctx context.Context, _ uint64, _ int) load.Answer {
	kind, age := KindGet, time.Duration(0)
	key, ok := r.recent.choose(r.random)
	if ok {
		age = time.Since(key.at)
	} else {
		kind, key.key = KindProbe, impossible
	}
	reply, open := r.open(ctx)
	if open {
		reply = r.session.Get(ctx, key.key)
	}
	r.after(reply)
	answer := reply.Answer(kind)
	if reply.Outcome != history.Committed {
		answer.Outcome = history.Failed
		return answer
	}
	r.values = [4]int64{key.key, int64(age), reply.Row.Key, reply.Row.Value}
	answer.Values = r.values[:2]
	if reply.Found {
		answer.Values = r.values[:]
	}
	return answer
}
