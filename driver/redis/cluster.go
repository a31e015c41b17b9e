package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"assay/driver/replicas"
	"assay/store"
)

// All keys have one hash tag, and so are in one slot: WATCH, MULTI and scripts have what they
// need only of one ("Redis cluster specification", "Implemented subset"). The driver speaks
// with the server that has the slot, and asks who that is whenever it connects; one that has it no
// more refuses with MOVED.

// errNoOwner is the error where nobody has the slot, as far as most servers know.
var errNoOwner = errors.New("no server of the Redis Cluster that can be reached knows one for the slot of these keys")

// owner is where the server listens that has the slot, by the servers of the address that take
// the cluster for working: of several answers the newest.
func (d *database) owner(ctx context.Context) (string, error) {
	views, failures := replicas.AskAll(ctx, d.hosts, d.viewOf)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var newest view
	for _, v := range views {
		if v.owner != "" && (newest.owner == "" || v.epoch > newest.epoch) {
			newest = v
		}
	}
	if newest.owner == "" {
		return "", errors.Join(append(failures, errNoOwner)...)
	}
	return newest.owner, nil
}

// view is who has the slot by one server, and since which epoch; empty if it does not take the
// cluster for working.
type view struct {
	owner string
	epoch int64
}

// viewOf asks a server (manual, "CLUSTER INFO", "CLUSTER KEYSLOT", "CLUSTER NODES"). One that is
// slow to answer is left out.
func (d *database) viewOf(ctx context.Context, host string) (v view, err error) {
	short := *d.settings
	short.timeout = min(short.timeout, sentinelBound)
	ctx, cancel := context.WithTimeout(ctx, 2*short.timeout)
	defer cancel()
	l, err := short.dial(ctx, host)
	if err != nil {
		return v, err
	}
	defer l.close()
	state, slot, nodes := goredis.NewCmd(ctx, "cluster", "info"), goredis.NewCmd(ctx, "cluster", "keyslot", d.mark()), goredis.NewCmd(ctx, "cluster", "nodes")
	if err := l.do(ctx, state, slot, nodes); err != nil {
		return v, err
	}
	if strings.Contains(messageOf(state.Err()), "cluster support disabled") {
		return v, &store.OptionError{Option: "address", Value: d.printable, Want: schemePlain + "://: " + host + " is in no Redis Cluster"}
	}
	if err := errors.Join(state.Err(), slot.Err(), nodes.Err()); err != nil {
		return v, err
	}
	if text, _ := state.Text(); !strings.Contains(text, "cluster_state:ok") {
		return v, fmt.Errorf("%s takes the cluster for down", host)
	}
	number, err := slot.Int()
	if err != nil {
		return v, err
	}
	text, err := nodes.Text()
	for line := range strings.Lines(text) {
		// id, host:port@bus, flags, primary, two times, epoch, state of the connection, slots
		fields := strings.Fields(line)
		for _, part := range fields[min(8, len(fields)):] {
			if holds(part, number) {
				v.owner, _, _ = strings.Cut(fields[1], "@")
				v.epoch, err = strconv.ParseInt(fields[6], 10, 64)
			}
		}
	}
	return v, err
}

// holds reports whether a slot is in a part as CLUSTER NODES writes it: N or FIRST-LAST.
func holds(part string, slot int) bool {
	first, last, several := strings.Cut(part, "-")
	if !several {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	return err == nil && err2 == nil && from <= slot && slot <= to
}
