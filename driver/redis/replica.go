package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"assay/driver/replicas"
	"assay/store"
)

// Replicas implements store.Replicated: the primary, and the replicas that it or a Sentinel knows.
// If rows are spread, no server has them all, and none can be compared.
func (d *database) Replicas(ctx context.Context) (members []store.Replica, unreachable map[string]error, err error) {
	if d.spread {
		return nil, nil, nil
	}
	var primary string
	var addresses []string
	err = d.Change(ctx, "look for replicas", func(l *link) error {
		told, err := l.info(ctx, "everything")
		if err == nil {
			primary, addresses = told["run_id"], append([]string{l.address}, replicasOf(told)...)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	known, err := d.knownToSentinels(ctx)
	if err != nil {
		return nil, nil, failed("look for replicas", err)
	}
	for _, address := range known {
		if !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	identities, failures := replicas.AskAll(ctx, addresses, func(ctx context.Context, address string) (id string, err error) {
		l, err := d.dial(ctx, address)
		if err != nil {
			return "", err
		}
		defer l.close()
		told, err := l.info(ctx, "server")
		return told["run_id"], err
	})
	all := make([]replicas.Member, len(addresses))
	for i, address := range addresses {
		all[i] = replicas.Member{Name: address, Identity: identities[i], Err: failures[i]}
	}
	members, unreachable = replicas.Of(primary, all)
	return members, unreachable, nil
}

// replicasOf reads slaveN:ip=HOST,port=PORT,... (manual, "INFO", "replication").
func replicasOf(told map[string]string) (addresses []string) {
	for i := 0; ; i++ {
		text, is := told["slave"+strconv.Itoa(i)]
		if !is {
			return addresses
		}
		of := map[string]string{}
		for part := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(part, "=")
			of[name] = value
		}
		addresses = append(addresses, net.JoinHostPort(of["ip"], of["port"]))
	}
}

// knownToSentinels are the replicas that Sentinels know, even silent ones.
func (d *database) knownToSentinels(ctx context.Context) ([]string, error) {
	if d.service == "" {
		return nil, nil
	}
	return askSentinels(ctx, d, func(ctx context.Context, l *link) (addresses []string, err error) {
		known := newCommand("sentinel", "replicas", d.service)
		if err := l.one(ctx, known); err != nil {
			return nil, err
		}
		all, err := answerOf[[]any](known)
		for _, one := range all {
			// Each is a list of names and values.
			fields, _ := one.([]any)
			of := map[any]any{}
			for i := 0; i+1 < len(fields); i += 2 {
				of[fields[i]] = fields[i+1]
			}
			addresses = append(addresses, net.JoinHostPort(fmt.Sprint(of["ip"]), fmt.Sprint(of["port"])))
		}
		return addresses, err
	})
}

// position is a history of writes and a server's progress in it in bytes (manual, "Redis
// replication", "How Redis replication works").
type position struct {
	history string
	offset  int64
}

func (d *database) CatchUp(ctx context.Context, member store.Replica) error {
	if member.Primary {
		return nil
	}
	var goal position
	err := d.Change(ctx, "ask how far the primary is", func(l *link) error {
		told, err := l.info(ctx, "replication")
		if err == nil {
			goal.history = told["master_replid"]
			goal.offset, err = strconv.ParseInt(told["master_repl_offset"], 10, 64)
		}
		return err
	})
	if err != nil {
		return err
	}
	return replicas.CatchUp(ctx, "redis: wait for replica "+member.Name, func(ctx context.Context) (final bool, err error) {
		l, err := d.dial(ctx, member.Name)
		if err != nil {
			return false, err
		}
		defer l.close()
		told, err := l.info(ctx, "replication")
		if err != nil {
			return false, err
		}
		return false, goal.missing(told)
	})
}

// missing says why a replica has not reached p, nil if it has.
func (p position) missing(told map[string]string) error {
	offset, err := strconv.ParseInt(told["slave_repl_offset"], 10, 64)
	switch {
	case told["role"] == roleOfPrimary:
		return errors.New("it takes itself for the primary")
	case told["master_link_status"] != "up":
		return errors.New("it has no connection to its primary")
	case told["master_replid"] != p.history:
		return errors.New("it follows another primary")
	case err != nil:
		return err
	case offset < p.offset:
		return fmt.Errorf("it lacks %d bytes of the primary's writes", p.offset-offset)
	}
	return nil
}

func (d *database) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	l, err := d.dial(ctx, member.Name)
	if err != nil {
		return d.unreached(ctx, "read "+member.Name, err)
	}
	defer l.close()
	if d.sharded { // a replica sends clients to its primary unless they say this (manual, "READONLY")
		if err := l.one(ctx, newCommand("readonly")); err != nil {
			return failed("read "+member.Name, err)
		}
	}
	if _, err := d.MustMark(ctx, l); err != nil {
		return withDoing("read "+member.Name, err)
	}
	return withDoing("read "+member.Name, read(reader{d, l}))
}
