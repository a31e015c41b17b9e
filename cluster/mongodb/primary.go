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

const askPause = 50 * time.Millisecond

type answer struct {
	number int
	host   string
	reply  helloReply
	err    error
}

// Primary waits for a primary. Until a deposed primary has noticed, two members claim to be it;
// Primary returns the one elected later. It does not wait for silent members if a majority names
// the primary.
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

// elected returns the last elected of the members that claim to be the primary, if a majority of
// all members agrees or all have answered. The election's id grows with the term (MongoDB manual,
// "hello").
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
