package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"assay/cluster/server"
)

// A paused member never answers.
const (
	answerBound = time.Second
	askPause    = 50 * time.Millisecond
)

// handOverBound is for a leader that hands over. It answers only once another leads, for which the
// disks of most members must sync.
const handOverBound = 30 * time.Second

func ask(ctx context.Context, node *server.Node) (status *pb.StatusResponse, err error) {
	err = speak(ctx, node, answerBound, func(ctx context.Context, to *grpc.ClientConn) (err error) {
		status, err = pb.NewMaintenanceClient(to).Status(ctx, &pb.StatusRequest{})
		return err
	})
	return status, err
}

// speak connects to a member for one request: a kept connection would be silent after a fault.
func speak(ctx context.Context, node *server.Node, bound time.Duration, request func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	to, err := grpc.NewClient("passthrough:///"+node.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy(), grpc.WithDisableRetry())
	if err != nil {
		return err
	}
	defer to.Close()
	return request(ctx, to)
}

// heard is nil if a member answers at its address for other members.
func heard(ctx context.Context, peer string) error {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+peer+"/version", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", answer.Status)
	}
	return nil
}

func awaitPart(ctx context.Context, node *server.Node) error {
	return node.Await(ctx, func(ctx context.Context) error {
		s, err := ask(ctx, node)
		if err == nil && s.Leader == 0 {
			err = errors.New("it knows no leader")
		}
		return err
	})
}

// Primary waits for a raft leader that says so itself and whom a majority of all members accepts in
// the same term. It then does not wait for silent members.
func (c *Cluster) Primary(ctx context.Context) (leader int, err error) {
	err = server.Until(ctx, askPause, "a leader of etcd", func(ctx context.Context) error {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		found := false
		answers, failures := server.AskMost(asking, c.nodes, c.status, func(answers map[int]*pb.StatusResponse, _ map[int]error) bool {
			if leader, found = elected(answers, len(c.nodes)); found {
				stop()
			}
			return found
		})
		if !found {
			return fmt.Errorf("%d of %d members run, and no majority agrees on one that answers", len(answers)+len(failures), len(c.nodes))
		}
		return nil
	})
	return leader, err
}

func (c *Cluster) status(ctx context.Context, i int) (*pb.StatusResponse, error) {
	return ask(ctx, c.nodes[i])
}

// elected needs a leader that says so itself and a majority of all members in its term.
func elected(heard map[int]*pb.StatusResponse, members int) (leader int, found bool) {
	for i, a := range heard {
		agree := 0
		for _, b := range heard {
			if b.Leader == a.Header.MemberId && b.RaftTerm == a.RaftTerm {
				agree++
			}
		}
		if a.Leader == a.Header.MemberId && 2*agree > members {
			return i, true
		}
	}
	return 0, false
}

// Settled returns when there is a leader and every running member has applied the leader's log up
// to its end at the first look.
func (c *Cluster) Settled(ctx context.Context) error {
	var goal uint64
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
			goal = s.RaftIndex
		}
		all, failures := server.AskAll(c.nodes, func(i int) (*pb.StatusResponse, error) { return c.status(ctx, i) })
		var late []string
		for i, err := range failures {
			late = append(late, fmt.Sprintf("%s: %v", c.nodes[i].Name, err))
		}
		for i, s := range all {
			if s.Leader == 0 || s.RaftAppliedIndex < goal {
				late = append(late, fmt.Sprintf("%s has applied %d of %d", c.nodes[i].Name, s.RaftAppliedIndex, goal))
			}
		}
		if len(late) > 0 {
			slices.Sort(late)
			return errors.New(strings.Join(late, ", "))
		}
		return nil
	})
}

// CheckSwitchOver is nil: the leader can always hand over.
func (c *Cluster) CheckSwitchOver() error { return nil }

// SwitchOver makes the leader, member i, hand over to another, as `etcdctl move-leader` does
// (rpc.proto, MoveLeader): to the one that has applied most, which has the least to catch up with.
// Members that are silent, as under another fault, are left out.
func (c *Cluster) SwitchOver(ctx context.Context, i int) error {
	answers, _ := server.AskAll(c.nodes, func(i int) (*pb.StatusResponse, error) { return c.status(ctx, i) })
	delete(answers, i)
	var next *pb.StatusResponse
	for _, s := range answers {
		if next == nil || s.RaftAppliedIndex > next.RaftAppliedIndex {
			next = s
		}
	}
	if next == nil {
		return errors.New("no other member answers")
	}
	return speak(ctx, c.nodes[i], handOverBound, func(ctx context.Context, to *grpc.ClientConn) error {
		_, err := pb.NewMaintenanceClient(to).MoveLeader(ctx, &pb.MoveLeaderRequest{TargetID: next.Header.MemberId})
		return err
	})
}
