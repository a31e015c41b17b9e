package agents

import (
	"context"
	"strings"
	"time"

	"assay/load"
)

// Collect takes what agents have delivered, until ctx ends or, when the work is over,
// all of those that are there have delivered everything. It is to run beside Follow.
func (k *Coordinator) Collect(ctx context.Context, over <-chan struct{}) error {
	collectors := make([]*collector, len(k.members))
	for i := range k.members {
		collectors[i] = &collector{store: k.store, folder: k.folder(), share: i}
	}
	for {
		left := 0
		for i, m := range k.members {
			done, err := k.collectOne(ctx, m, collectors[i])
			if err != nil {
				return err
			}
			if !done {
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

// collectOne takes what one agent has delivered; done is true if nothing more is
// waited for.
func (k *Coordinator) collectOne(ctx context.Context, m *member, c *collector) (done bool, err error) {
	k.mu.Lock()
	state, taken, delivered, silent := m.state, m.taken, m.delivered, time.Since(m.heard) > k.config.Plan.Timeout
	k.mu.Unlock()
	if taken {
		return true, nil
	}
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
