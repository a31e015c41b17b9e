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

// statusBound is how long a member may take to say how it is; a paused one never does.
const statusBound = 3 * time.Second

// status is what the member behind a host of the address says of itself. Any member says it,
// with or without a leader.
func (d *database) status(ctx context.Context, host string) (*pb.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, statusBound)
	defer cancel()
	c, err := connect(ctx, d.options, host)
	if err != nil {
		return nil, err
	}
	answer, _, err := call(ctx, pb.NewMaintenanceClient(c.grpc).Status, &pb.StatusRequest{})
	if err != nil {
		err = c.explain(ctx, "ask "+host+" for its status", err)
	}
	return answer, errors.Join(err, c.close())
}

// statuses asks all hosts of the address at once; failures has why one did not answer.
func (d *database) statuses(ctx context.Context) (all []*pb.StatusResponse, failures []error) {
	return replicas.AskAll(ctx, d.hosts, d.status)
}

// leaderOf is the leader that members name, those of the latest term; 0 if there is none.
func leaderOf(all []*pb.StatusResponse) (leader uint64) {
	term := uint64(0)
	for _, s := range all {
		if s.GetLeader() != 0 && s.RaftTerm >= term {
			leader, term = s.Leader, s.RaftTerm
		}
	}
	return leader
}

// leading is the status of the leader, or of another member if its host is not in the
// address.
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

// Describe implements store.Administration.
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

// settingMembers is how many members vote, by which durability is judged.
const settingMembers = "members"

// Blocked implements store.Administration: members say whether they have a leader and which
// alarms are raised (manual 3.4, "Maintenance", "Space quota").
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

// rowsOf counts the rows of each table, at one revision.
func (d *database) rowsOf(t *transaction) (map[string]int64, error) {
	if _, err := d.ours(t); err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, table := range d.tables() {
		n, err := t.count(d.layout.Rows(table))
		if err != nil {
			return nil, err
		}
		counts[table] = n
	}
	return counts, nil
}

// Size implements store.Administration. etcd tells the size of all that it holds and not that
// of a range.
func (d *database) Size(ctx context.Context) (store.Size, error) {
	return d.size(ctx, "all keys of a member with their older revisions, without what is free in the file", (*pb.StatusResponse).GetDbSizeInUse)
}

// FileSize implements store.Compacting.
func (d *database) FileSize(ctx context.Context) (store.Size, error) {
	return d.size(ctx, "the file of a member's backend, which holds all keys", (*pb.StatusResponse).GetDbSize)
}

func (d *database) size(ctx context.Context, measured string, of func(*pb.StatusResponse) int64) (store.Size, error) {
	counts, err := look(ctx, d, "size", d.rowsOf)
	if err != nil {
		return store.Size{}, err
	}
	s, err := d.leading(ctx)
	if err != nil {
		return store.Size{}, err
	}
	return store.Size{Bytes: of(s), Rows: counts, Measured: measured}, nil
}

// The ways to give back space, by the names of etcdctl's commands (manual 3.4, "Maintenance",
// "History compaction", "Defragmentation").
const (
	compact    = "compact"
	defragment = "defrag"
)

// Compactions implements store.Compacting.
func (d *database) Compactions() ([]string, error) { return []string{compact, defragment}, nil }

// Compact implements store.Compacting. A compaction takes the older revisions of all keys
// away, and a member that is defragmented answers nobody meanwhile; so neither is done where
// there are keys that are not this schema's.
func (d *database) Compact(ctx context.Context, name string) error {
	t := d.conn.reader(ctx)
	own, err := t.count(d.layout.Bounds())
	if err != nil {
		return t.explain(ctx, name, err)
	}
	all, err := t.count([]byte{0}, []byte{0}) // from the first key on: all of them
	switch {
	case err != nil:
		return t.explain(ctx, name, err)
	case all > own:
		return &store.ForeignError{Name: "etcd", Others: []string{fmt.Sprintf("%d keys of others", all-own)},
			Hint: "name an etcd that holds nothing else: " + name + " is of the whole cluster"}
	case name == defragment: // one member after the other, as the manual says
		for _, host := range d.hosts {
			if err := d.defragment(ctx, host); err != nil {
				return err
			}
		}
		return nil
	}
	_, _, err = call(ctx, t.kv.Compact, &pb.CompactionRequest{Revision: t.revision, Physical: true})
	if m := meaningOf(err); err == nil || m != nil && m.class == classCompacted { // it was compacted before
		return nil
	}
	return t.explain(ctx, name, err)
}

func (d *database) defragment(ctx context.Context, host string) error {
	c, err := connect(ctx, d.options, host)
	if err != nil {
		return err
	}
	if _, _, err = call(ctx, pb.NewMaintenanceClient(c.grpc).Defragment, &pb.DefragmentRequest{}); err != nil {
		err = c.explain(ctx, "defragment "+host, err)
	}
	return errors.Join(err, c.close())
}
