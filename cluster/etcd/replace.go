package etcd

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"assay/cluster/server"
)

// CheckReplace is nil: Forget makes an empty member a new one.
func (c *Cluster) CheckReplace() error { return nil }

// Data is the folder of member i's data.
func (c *Cluster) Data(i int) string { return filepath.Join(c.nodes[i].Dir, "data") }

const forgetBound = time.Minute

// Forget removes a member without data, and adds it as a new one at the same address ("Design of
// runtime reconfiguration", manual 3.4; rpc.proto, MemberRemove).
func (c *Cluster) Forget(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, forgetBound)
	defer cancel()
	return server.Until(ctx, 200*time.Millisecond, "the others to take "+nameOf(i)+" for a new member", func(ctx context.Context) error {
		failed := []error{errors.New("no other running member does it")}
		for n, node := range c.nodes {
			if n == i || !node.Running() {
				continue
			}
			done := false
			err := speak(ctx, node, answerBound, func(ctx context.Context, to *grpc.ClientConn) (err error) {
				done, err = renew(ctx, pb.NewClusterClient(to), "http://"+c.peers[i])
				return err
			})
			switch {
			case done:
				return nil
			case err == nil:
				return errors.New("a step is left")
			}
			failed = append(failed, err) // it may be silent under another fault
		}
		return errors.Join(failed...)
	})
}

// renew does the next step, and reports whether none is left. A member that never started has no
// name.
func renew(ctx context.Context, by pb.ClusterClient, peer string) (done bool, err error) {
	list, err := by.MemberList(ctx, &pb.MemberListRequest{})
	if err != nil {
		return false, err
	}
	for _, m := range list.Members {
		if slices.Contains(m.PeerURLs, peer) {
			if m.Name == "" {
				return true, nil
			}
			_, err = by.MemberRemove(ctx, &pb.MemberRemoveRequest{ID: m.ID})
			return false, err
		}
	}
	_, err = by.MemberAdd(ctx, &pb.MemberAddRequest{PeerURLs: []string{peer}})
	return false, err
}
