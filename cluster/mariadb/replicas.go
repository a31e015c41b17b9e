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

// StartSet starts a primary with replicas.
func StartSet(ctx context.Context, o Options) (*binlog.Set, error) {
	if o.Replication == Galera {
		return nil, errors.New("start MariaDB with replicas: the nodes of a Galera cluster are none")
	}
	m, err := prepare(o)
	if err != nil {
		return nil, err
	}
	set, err := binlog.Start(ctx, binlog.Options{
		Nodes: m.Nodes(), Dialect: binlog.MariaDB(), Login: m.login, Start: m.startMember, Dir: m.options.Dir,
	})
	if err != nil {
		return nil, fmt.Errorf("start MariaDB with replicas: %w", err)
	}
	return set, nil
}

// startMember starts a node of a set and first makes a missing database, outside the binary log.
func (m *Cluster) startMember(ctx context.Context, i int, env []string) (err error) {
	node := m.nodes.At(i)
	o := startOptions{args: m.replicaArguments(node), env: env}
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

// replicaArguments are for the primary, which is the first node, or for a replica.
//
// A primary must not also be a semi-synchronous replica: before MariaDB 10.11.9 a killed primary
// then took back what its replicas already had when it was started again (MDEV-33465).
func (m *Cluster) replicaArguments(node *member) []string {
	args, part := []string{"--server-id=" + strconv.Itoa(node.Number+1), "--log-bin=binlog", "--log-slave-updates=ON", "--gtid-strict-mode=ON",
		"--slave-net-timeout=" + strconv.Itoa(int(binlog.Silence.Seconds()))}, "master"
	if node.Number > 0 {
		args, part = append(args, "--read-only=ON"), "slave"
	}
	if m.options.Replication == Semisync {
		args = append(args, "--rpl-semi-sync-"+part+"-enabled=ON")
	}
	return args
}

func (n *member) forget() error {
	_, _, err := server.Clear(n.data())
	return err
}
