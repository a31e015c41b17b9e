package mariadb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"assay/cluster/binlog"
	"assay/cluster/server"
)

// StartSet starts a primary with replicas, which are led by what it returns.
func StartSet(ctx context.Context, o Options) (*binlog.Set, error) {
	if o.Replication == Galera {
		return nil, errors.New("start MariaDB with replicas: the nodes of a Galera cluster are none")
	}
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	set, err := binlog.Start(ctx, binlog.Options{
		Nodes: m.Nodes(), Dialect: binlog.MariaDB(), Login: m.login,
		Semisync: o.Replication == Semisync, FailoverAfter: o.FailoverAfter, Dir: m.options.Dir, Announce: o.Announce,
		Start: m.startMember, Empty: func(i int) error { return m.nodes.At(i).forget() },
	})
	if err != nil {
		return nil, fmt.Errorf("start MariaDB with replicas: %w", err)
	}
	return set, nil
}

// startMember starts a node of a set, with a new database if it has none. Nothing of how that is
// made is in the binary log.
func (m *Cluster) startMember(ctx context.Context, i int, b binlog.Beginning) (err error) {
	node := m.nodes.At(i)
	o := startOptions{args: m.replicaArguments(b), env: b.Env}
	if server.Exists(filepath.Join(node.data(), "mysql")) {
		if err := m.start(ctx, node, o); err != nil {
			return err
		}
		return node.tookAdjusted()
	}
	users := ""
	err = m.install(ctx, node)
	if err == nil {
		users, err = m.writeUsers(node)
	}
	if err == nil {
		o.args = append(o.args, "--init-file="+users)
		err = errors.Join(m.start(ctx, node, o), os.Remove(users))
	}
	if err == nil {
		err = node.Adjusted(m.options.Settings)
	}
	if err != nil { // else the next start would take what is there for a database
		if p := node.Process(); p != nil {
			err = errors.Join(err, p.Kill())
		}
		err = errors.Join(err, node.forget())
	}
	return err
}

// replicaArguments are those of a node that package binlog leads: it takes no writes before it is
// told to. A connection on which the primary is silent is given up, which TCP alone would take
// minutes for.
//
// A primary is no semi-synchronous replica at the same time: before MariaDB 10.11.9 one that was
// killed and started again so took back what its replicas already had (MariaDB's issue MDEV-33465).
func (m *Cluster) replicaArguments(b binlog.Beginning) []string {
	silence := max(int(m.options.FailoverAfter.Seconds()), 3)
	args := []string{"--server-id=" + strconv.Itoa(b.ID), "--log-bin=binlog", "--log-slave-updates=ON", "--gtid-strict-mode=ON",
		"--read-only=ON", "--skip-slave-start", "--slave-net-timeout=" + strconv.Itoa(silence)}
	if m.options.Replication == Semisync {
		is := map[bool]string{false: "OFF", true: "ON"}
		args = append(args, "--rpl-semi-sync-master-enabled="+is[b.Primary], "--rpl-semi-sync-slave-enabled="+is[!b.Primary])
	}
	return args
}

// forget takes all data of a node that has stopped.
func (n *member) forget() error {
	entries, err := os.ReadDir(n.data())
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(n.data(), entry.Name())))
	}
	return err
}
