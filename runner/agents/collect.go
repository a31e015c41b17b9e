package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"assay/load"
)

// deliveryTimeout is how long an agent whose clients have ended may deliver nothing.
const deliveryTimeout = 15 * time.Second

// Collect takes the agents' histories until ctx ends or, after over, all present agents have
// delivered everything. An agent that cannot deliver is lost, and lost is told. Run it beside
// Follow.
func (k *Coordinator) Collect(ctx context.Context, over <-chan struct{}, lost func(text string)) error {
	collectors := make([]*collector, len(k.members))
	for i := range k.members {
		collectors[i] = &collector{store: k.store, folder: k.folder(), share: i}
	}
	since := make([]time.Time, len(k.members)) // when taking from each began to fail
	for {
		left := 0
		for i, m := range k.members {
			if since[i].IsZero() {
				since[i] = time.Now() // time spent on other agents does not count
			}
			done, err := k.collectOne(ctx, m, collectors[i])
			failing := time.Since(since[i])
			if err == nil {
				since[i] = time.Time{}
			}
			if !k.over(m, done, err, failing, lost) {
				left++
			}
		}
		select {
		case <-over:
			if left == 0 {
				return k.writeMembers()
			}
		default:
		}
		if !sleep(ctx, beatEvery) {
			return ctx.Err()
		}
	}
}

// over reports whether to stop waiting for an agent. It loses an agent that ended and delivered
// nothing for too long, whose delivery is not in the store, or whose delivery has failed with err
// for this long. A lost agent that is heard again is waited for as long.
func (k *Coordinator) over(m *member, done bool, err error, failing time.Duration, lost func(text string)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	limit := max(deliveryTimeout, k.config.Plan.Timeout)
	var why string
	switch {
	case err != nil && failing <= limit:
		return false
	case err != nil:
		why = "what it delivered cannot be taken: " + err.Error()
	case done || m.State == stateEnded && m.Lost != "" || m.Lost != "" && time.Since(m.lost) > limit:
		return true
	case m.State == stateEnded && time.Since(m.delivering) > limit:
		why = "what it recorded could not be delivered: " + cmp.Or(m.Problem, "nothing came")
	case m.State == stateDelivered && time.Since(m.delivering) > limit:
		why = "what it delivered is not in the engine's store"
	default:
		return false
	}
	if m.Lost == "" {
		k.lose(m, why, lost)
	}
	return true
}

// collectOne takes what one agent has delivered; done means that no more will come.
func (k *Coordinator) collectOne(ctx context.Context, m *member, c *collector) (done bool, err error) {
	k.mu.Lock()
	now, taken, silent := m.status, m.taken, time.Since(m.heard) > k.config.Plan.Timeout
	k.mu.Unlock()
	if taken {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*deliveryTimeout)
	defer cancel()
	if now.State != stateDelivered {
		if now.Delivered > c.size {
			err = c.collect(ctx)
		}
		return silent || now.State == stateFailed, err
	}
	whole, err := c.finish(ctx)
	if err != nil || !whole {
		return false, err
	}
	k.mu.Lock()
	m.taken = true
	k.mu.Unlock()
	return true, nil
}

// Ends are the ends that agents have delivered.
func (k *Coordinator) Ends() (all []End, err error) {
	for i := range k.members {
		e, err := readEnd(k.folder(), i)
		if err != nil {
			return nil, err
		}
		if e != nil {
			all = append(all, *e)
		}
	}
	return all, nil
}

// StatsOf joins the stats of all ends.
func StatsOf(all []End) (s load.Stats, problems string) {
	var texts []string
	for _, e := range all {
		s = Joined(s, e.Stats)
		if e.Problem != "" {
			texts = append(texts, e.Problem)
		}
	}
	return s, strings.Join(texts, "; ")
}

// Fetch takes into a run's folder what agents have delivered since the run ended. It removes the
// run from the engine when everything is there.
func Fetch(ctx context.Context, e *Engine, folder, run string) error {
	in := filepath.Join(folder, Folder)
	members, err := readMembers(in)
	if err != nil {
		return err
	}
	store, err := openBucket(ctx, e.conn, run, 0)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("the engine has nothing of run %s: it was taken already, or has expired", run)
	}
	if err != nil {
		return &EngineError{Address: Redact(e.address), Err: err}
	}
	whole := true
	for _, m := range members {
		end, err := readEnd(in, m.Number)
		if err == nil && end == nil {
			var taken bool
			taken, err = (&collector{store: store, folder: in, share: m.Number}).finish(ctx)
			whole = whole && taken
		}
		if err != nil {
			return err
		}
	}
	if !whole {
		return nil
	}
	js, err := jetstream.New(e.conn)
	if err != nil {
		return err
	}
	return js.DeleteObjectStore(ctx, bucket(run))
}
