package agents

import (
	"cmp"
	"context"
	"strings"
	"time"

	"assay/load"
)

// deliveryPatience is how long an agent whose clients have gone may deliver nothing.
const deliveryPatience = 15 * time.Second

// Collect takes what agents have delivered, until ctx ends or, when the work is over,
// all of those that are there have delivered everything. One that cannot deliver is lost,
// of which lost is told. It is to run beside Follow.
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
				since[i] = time.Now() // what others were waited for does not count
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

// over reports whether nothing more is waited for of an agent, and gives it up if it has
// ended and could deliver nothing for too long, or what it delivered cannot be taken: err
// is why not, for so long.
func (k *Coordinator) over(m *member, done bool, err error, failing time.Duration, lost func(text string)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	patience := max(deliveryPatience, k.config.Plan.Timeout)
	var why string
	switch {
	case err != nil && failing <= patience:
		return false
	case err != nil:
		why = "what it delivered cannot be taken: " + err.Error()
	case done || m.state == stateEnded && m.Lost != "":
		return true
	case m.state == stateEnded && time.Since(m.delivering) > patience:
		why = "what it recorded could not be delivered: " + cmp.Or(m.problem, "nothing came")
	default:
		return false
	}
	if m.Lost == "" {
		k.lose(m, why, lost)
	}
	return true
}

// collectOne takes what one agent has delivered; done is true if nothing more is
// waited for.
func (k *Coordinator) collectOne(ctx context.Context, m *member, c *collector) (done bool, err error) {
	k.mu.Lock()
	state, taken, delivered, silent := m.state, m.taken, m.delivered, time.Since(m.heard) > k.config.Plan.Timeout
	k.mu.Unlock()
	if taken {
		return true, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*deliveryPatience)
	defer cancel()
	if state != stateDelivered {
		if delivered > c.size {
			err = c.collect(ctx)
		}
		return silent || state == stateFailed, err
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

// Ends are what the agents found at their end, without those that have not delivered
// it.
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
