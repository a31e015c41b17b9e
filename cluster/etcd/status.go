package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
)

// answerBound is how long a member may take to say how it is; a paused one never does. askPause
// is how long members are left alone that have answered.
const (
	answerBound = time.Second
	askPause    = 50 * time.Millisecond
)

// number is one of 64 bits in JSON, which has it as a string (Protocol Buffers, "ProtoJSON
// Format").
type number uint64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
	*n = number(value)
	return err
}

// status is what a member says of itself by its JSON gateway (manual 3.4, "Why gRPC gateway";
// rpc.proto, StatusResponse). What is 0 is left out.
type status struct {
	Header struct {
		Member number `json:"member_id"`
	} `json:"header"`
	Leader  number `json:"leader"` // 0 if it knows none
	Term    number `json:"raftTerm"`
	Index   number `json:"raftIndex"`
	Applied number `json:"raftAppliedIndex"`
}

// ask asks a member for its status.
func ask(ctx context.Context, node *server.Node) (s status, err error) {
	err = send(ctx, http.MethodPost, "http://"+node.Address()+"/v3/maintenance/status", "{}", &s)
	return s, err
}

// get gets what is under a URL; into is nil if it does not matter.
func get(ctx context.Context, url string, into any) error {
	return send(ctx, http.MethodGet, url, "", into)
}

// send makes one request over a connection of its own: one that is kept would be silent after
// a fault.
func send(ctx context.Context, method, url, body string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	const most = 1 << 20 // far above any answer
	text, err := io.ReadAll(io.LimitReader(answer.Body, most))
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("it answers %s: %s", answer.Status, strings.TrimSpace(string(text)))
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

// awaitPart waits until a member that was started serves and knows a leader.
func awaitPart(ctx context.Context, node *server.Node) error {
	return node.Await(ctx, func(ctx context.Context) error {
		s, err := ask(ctx, node)
		if err == nil && s.Leader == 0 {
			err = errors.New("it knows no leader")
		}
		return err
	})
}

// answer is what a member has said, or why it said nothing.
type answer struct {
	number int
	status status
	err    error
}

// askAll asks all members that run at once. The answers come as they are given; there are so
// many.
func (c *Cluster) askAll(ctx context.Context) (answers <-chan answer, asked int) {
	all := make(chan answer, len(c.nodes))
	for i, node := range c.nodes {
		if node.Running() {
			asked++
			go func() {
				s, err := ask(ctx, node)
				all <- answer{i, s, err}
			}()
		}
	}
	return all, asked
}

// Primary returns the number of the raft leader as soon as there is one that says so itself
// and that a majority of all members takes for it, in one term. A member that is silent is
// not waited for then.
func (c *Cluster) Primary(ctx context.Context) (leader int, err error) {
	err = server.Until(ctx, askPause, "a leader of etcd", func(ctx context.Context) error {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		answers, asked := c.askAll(asking)
		var heard []answer
		for range asked {
			heard = append(heard, <-answers)
			if n, found := elected(heard, len(c.nodes)); found {
				leader = n
				return nil
			}
		}
		return fmt.Errorf("%d of %d members run, and no majority agrees on one that answers", asked, len(c.nodes))
	})
	return leader, err
}

// elected is the leader of the latest term that says so itself, if a majority of all members
// has it as that.
func elected(heard []answer, members int) (leader int, found bool) {
	for _, a := range heard {
		if a.err != nil || a.status.Leader == 0 || a.status.Leader != a.status.Header.Member {
			continue
		}
		agree := 0
		for _, b := range heard {
			if b.err == nil && b.status.Leader == a.status.Leader && b.status.Term == a.status.Term {
				agree++
			}
		}
		if 2*agree > members {
			return a.number, true
		}
	}
	return 0, false
}

// Settled returns when there is a leader and every member that runs has applied what the
// leader's log held when it was called.
func (c *Cluster) Settled(ctx context.Context) error {
	var goal number
	return server.Until(ctx, askPause, "the members of etcd", func(ctx context.Context) error {
		leader, err := c.Primary(ctx)
		if err != nil {
			return err
		}
		if goal == 0 {
			s, err := ask(ctx, c.nodes[leader])
			if err != nil {
				return err
			}
			goal = s.Index
		}
		answers, asked := c.askAll(ctx)
		var late []string
		for range asked {
			switch a := <-answers; {
			case a.err != nil:
				late = append(late, fmt.Sprintf("%s: %v", c.nodes[a.number].Name, a.err))
			case a.status.Leader == 0 || a.status.Applied < goal:
				late = append(late, fmt.Sprintf("%s has applied %d of %d", c.nodes[a.number].Name, a.status.Applied, goal))
			}
		}
		if len(late) > 0 {
			slices.Sort(late)
			return errors.New(strings.Join(late, ", "))
		}
		return nil
	})
}

// CheckSwitchOver implements cluster's switching.
func (c *Cluster) CheckSwitchOver() error { return nil }

// SwitchOver has the leader, which is member i, hand over to another, as `etcdctl move-leader`
// does (rpc.proto, MoveLeader).
func (c *Cluster) SwitchOver(ctx context.Context, i int) error {
	for number, node := range c.nodes {
		if number == i || !node.Running() {
			continue
		}
		s, err := ask(ctx, node)
		if err != nil {
			continue // it may be silent under another fault
		}
		body := fmt.Sprintf(`{"targetID": "%d"}`, s.Header.Member)
		return send(ctx, http.MethodPost, "http://"+c.nodes[i].Address()+"/v3/maintenance/transfer-leadership", body, nil)
	}
	return errors.New("no other member answers")
}
