package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"assay/driver/encryption"
	"assay/driver/replicas"
	"assay/store"
)

// statusBound bounds a member's answer; a paused member never answers.
const statusBound = 3 * time.Second

// status asks the member behind a host, which answers with or without a leader.
func (d *database) status(ctx context.Context, host string) (*pb.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, statusBound)
	defer cancel()
	c, err := dial(ctx, d.options, []string{host})
	if err != nil {
		return nil, err
	}
	answer, _, err := call(ctx, pb.NewMaintenanceClient(c.grpc).Status, &pb.StatusRequest{})
	if err != nil {
		err = c.explain(ctx, "ask "+host+" for its status", err)
	}
	return answer, errors.Join(err, c.close())
}

// statuses asks all hosts at once; failures has the errors of those without an answer.
func (d *database) statuses(ctx context.Context) (all []*pb.StatusResponse, failures []error) {
	return replicas.AskAll(ctx, d.hosts, d.status)
}

func leaderOf(all []*pb.StatusResponse) (leader uint64) {
	term := uint64(0)
	for _, s := range all {
		if s.GetLeader() != 0 && s.RaftTerm >= term {
			leader, term = s.Leader, s.RaftTerm
		}
	}
	return leader
}

// leading is the leader's status, or another member's if the address lacks the leader's host.
func (d *database) leading(ctx context.Context) (*pb.StatusResponse, error) {
	all, failures := d.statuses(ctx)
	leader := leaderOf(all)
	i := slices.IndexFunc(all, func(s *pb.StatusResponse) bool { return s != nil && s.Header.MemberId == leader })
	if i < 0 {
		i = slices.IndexFunc(all, func(s *pb.StatusResponse) bool { return s != nil })
	}
	if i < 0 {
		return nil, errors.Join(failures...)
	}
	return all[i], nil
}

func (d *database) Describe(ctx context.Context) (store.Product, error) {
	all, failures := d.statuses(ctx)
	var versions []string
	quota := int64(0)
	for _, s := range all {
		if s != nil && !slices.Contains(versions, s.Version) {
			versions = append(versions, s.Version)
		}
		quota = max(quota, s.GetDbSizeQuota())
	}
	if len(versions) == 0 {
		return store.Product{}, errors.Join(failures...)
	}
	slices.Sort(versions)
	var members *pb.MemberListResponse
	err := d.conn.insist(ctx, "list the members", func(ctx context.Context) (err error) {
		members, _, err = call(ctx, pb.NewClusterClient(d.conn.grpc).MemberList, &pb.MemberListRequest{})
		return err
	})
	if err != nil {
		return store.Product{}, err
	}
	voters := 0
	for _, m := range members.Members {
		if !m.IsLearner {
			voters++
		}
	}
	reads := linearizable
	if d.stale {
		reads = serializable
	}
	settings := []store.Setting{{Name: "isolation", Value: d.level()}, {Name: settingReads, Value: reads},
		{Name: settingMembers, Value: strconv.Itoa(voters)}, {Name: encryption.Setting, Value: encryption.State(d.encryption)},
		{Name: "client_balancing", Value: "round_robin"}, {Name: "client_retries", Value: "none"}}
	if learners := len(members.Members) - voters; learners > 0 {
		settings = append(settings, store.Setting{Name: "learners", Value: strconv.Itoa(learners)})
	}
	if quota > 0 { // servers before 3.6 do not tell it
		settings = append(settings, store.Setting{Name: "quota-backend-bytes", Value: strconv.FormatInt(quota, 10)})
	}
	return store.Product{Name: "etcd", Version: strings.Join(versions, ", "), Settings: settings,
		Topology: store.Topology{Nodes: len(members.Members), Replicas: len(members.Members)}}, nil
}

const settingMembers = "members"

// Blocked implements store.Administration by the members' leader and alarms (manual 3.4,
// "Maintenance", "Space quota").
func (d *database) Blocked(ctx context.Context) (string, error) {
	all, failures := d.statuses(ctx)
	var said []string
	silent := 0
	for i, s := range all {
		if failures[i] != nil {
			silent++
			continue
		}
		for _, text := range s.Errors {
			if !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	switch {
	case slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, pb.AlarmType_NOSPACE.String()) }):
		return "etcd's space quota is used up (alarm NOSPACE); compact and defragment it, and disarm the alarm with etcdctl", nil
	case len(said) > 0:
		return fmt.Sprintf("members of etcd say: %s (%d of %d do not answer); see that a majority of them runs", strings.Join(said, "; "), silent, len(all)), nil
	case 2*silent > len(all):
		return fmt.Sprintf("%d of %d members of etcd do not answer; see that a majority of them runs", silent, len(all)), nil
	}
	return "", nil
}

func (d *database) rowsOf(ctx context.Context, t *transaction) (map[string]int64, error) {
	if _, err := d.MustMark(ctx, t); err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, table := range d.Tables {
		n, err := t.Count(d.Layout.Rows(table))
		if err != nil {
			return nil, err
		}
		counts[table] = n
	}
	return counts, nil
}

// Size implements store.Administration. etcd only tells the size of everything it holds.
func (d *database) Size(ctx context.Context) (store.Size, error) {
	var counts map[string]int64
	err := d.Look(ctx, "size", func(t *transaction) (err error) {
		counts, err = d.rowsOf(ctx, t)
		return err
	})
	if err != nil {
		return store.Size{}, err
	}
	s, err := d.leading(ctx)
	if err != nil {
		return store.Size{}, err
	}
	return store.Size{Bytes: s.GetDbSizeInUse(), Rows: counts,
		Measured: "all keys of a member with their older revisions, without what is free in the file"}, nil
}
