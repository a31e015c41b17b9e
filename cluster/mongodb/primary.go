package mongodb

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"assay/cluster/server"
	"assay/internal/wait"
)

// askPause is how long a member is left alone that has answered.
const askPause = 50 * time.Millisecond

// answer is the latest that a member has said, or that it said nothing.
type answer struct {
	number int
	host   string
	reply  helloReply
	err    error
}

// Primary returns the number of the primary as soon as there is one. While
// a deposed primary has not noticed yet, two members say that they are it; the
// one elected later is returned. A member that is silent is not waited for if a
// majority of the others names the primary.
func (m *ReplicaSet) Primary(ctx context.Context) (int, error) {
	asking, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	answers := make(chan answer)
	members := 0
	for _, node := range m.nodes.All() {
		if node.Left.Load() {
			continue
		}
		members++
		wait.Go(func() { keepAsking(asking, node, answers) })
	}
	latest := map[int]answer{}
	for {
		select {
		case a := <-answers:
			latest[a.number] = a
			if number, found := elected(latest, members); found {
				return number, nil
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for a primary of %s: %w", m.options.ReplicaSet, ctx.Err())
		}
	}
}

// keepAsking asks the member who it is again and again, until ctx ends.
func keepAsking(ctx context.Context, node *server.Node, to chan<- answer) {
	for {
		a := answer{number: node.Number, host: node.Address(), err: os.ErrProcessDone}
		if node.Running() {
			a.reply, a.err = hello(ctx, node)
		}
		select {
		case to <- a:
		case <-ctx.Done():
			return
		}
		if wait.Pause(ctx, askPause) != nil {
			return
		}
	}
}

// elected returns the member that says it is the primary, of several the one
// elected last, if a majority of all members says the same or none is left to
// be heard. The election's id grows with the term (MongoDB manual, "hello").
func elected(latest map[int]answer, members int) (number int, found bool) {
	var newest answer
	for _, a := range latest {
		if a.err == nil && a.reply.Primary && (!found || bytes.Compare(a.reply.ElectionID[:], newest.reply.ElectionID[:]) > 0) {
			newest, found = a, true
		}
	}
	if !found {
		return 0, false
	}
	agree := 0
	for _, a := range latest {
		if a.err == nil && (a.number == newest.number || a.reply.Leader == newest.host) {
			agree++
		}
	}
	return newest.number, agree > members/2 || len(latest) >= members
}
