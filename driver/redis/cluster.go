package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/driver/replicas"
	"assay/store"
)

// A Redis Cluster keeps each key in one of its slots. WATCH, MULTI and scripts have what they need
// only of one ("Redis cluster specification", "Implemented subset"): so where a workload has
// transactions all keys have one hash tag, and else rows are spread over the slots (see spread.go).
// The driver speaks with the servers that have the slots, and asks who that is whenever it connects;
// one that has a slot no more refuses with MOVED.

// slots is how many there are.
const slots = 16384

// errNoOwner is the error where nobody has a slot, as far as most servers know.
var errNoOwner = errors.New("no server of the Redis Cluster that can be reached knows one for the slot of these keys")

// owners are who has which slots, by the servers that were asked.
type owners []part

// part is slots from first to last, which a server has since an epoch, by one that was asked.
type part struct {
	first, last int
	owner       string
	epoch       int64
}

// ownerOf is where the server listens that has a slot: of several answers the newest. Empty if there is
// none.
func (o owners) ownerOf(slot int) (owner string) {
	epoch := int64(-1)
	for _, p := range o {
		if p.first <= slot && slot <= p.last && p.epoch > epoch {
			owner, epoch = p.owner, p.epoch
		}
	}
	return owner
}

// all are those that have slots, each once; errNoOwner if a slot has none.
func (o owners) all() (all []string, err error) {
	for slot := range slots {
		owner := o.ownerOf(slot)
		switch {
		case owner == "":
			return nil, errNoOwner
		case !slices.Contains(all, owner):
			all = append(all, owner)
		}
	}
	return all, nil
}

// owners asks the servers of the address. Those that do not take the cluster for working have no
// say.
func (d *database) owners(ctx context.Context) (all owners, err error) {
	views, failures := replicas.AskAll(ctx, d.hosts, d.viewOf)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if all = slices.Concat(views...); len(all) == 0 {
		return nil, errors.Join(append(failures, errNoOwner)...)
	}
	return all, nil
}

// owner is where the server listens that has the slot of the mark and of the lease.
func (d *database) owner(ctx context.Context) (string, error) {
	all, err := d.owners(ctx)
	if err != nil {
		return "", err
	}
	owner := all.ownerOf(slotOf(d.mark()))
	if owner == "" {
		return "", errNoOwner
	}
	return owner, nil
}

// slotOf is the slot of a key ("Redis cluster specification", "Key distribution model", "Hash
// tags"): of what is between its first braces, unless that is nothing, the CRC of 16 bits with the
// polynomial 1021.
func slotOf(key string) int {
	if _, behind, opened := strings.Cut(key, "{"); opened {
		if tag, _, closed := strings.Cut(behind, "}"); closed && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			high := crc&0x8000 != 0
			if crc <<= 1; high {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slots
}

// viewOf asks a server (manual, "CLUSTER INFO", "CLUSTER NODES"). One that is slow to answer is left
// out.
func (d *database) viewOf(ctx context.Context, host string) (v owners, err error) {
	short := *d.settings
	short.timeout = min(short.timeout, sentinelBound)
	ctx, cancel := context.WithTimeout(ctx, 2*short.timeout)
	defer cancel()
	l, err := short.dial(ctx, host)
	if err != nil {
		return v, err
	}
	defer l.close()
	state, nodes := newCommand("cluster", "info"), newCommand("cluster", "nodes")
	if err := l.do(ctx, state, nodes); err != nil {
		return v, err
	}
	if strings.Contains(messageOf(state.err), "cluster support disabled") {
		return v, &store.OptionError{Option: "address", Value: d.printable, Want: schemePlain + "://: " + host + " is in no Redis Cluster"}
	}
	if err := errors.Join(state.err, nodes.err); err != nil {
		return v, err
	}
	if text, _ := answerOf[string](state); !strings.Contains(text, "cluster_state:ok") {
		return v, fmt.Errorf("%s takes the cluster for down", host)
	}
	text, err := answerOf[string](nodes)
	if err != nil {
		return v, err
	}
	for line := range strings.Lines(text) {
		parts, err := partsIn(line)
		if err != nil {
			return nil, err
		}
		v = append(v, parts...)
	}
	return v, nil
}

// partsIn are the slots that a line of CLUSTER NODES names: id, host:port@bus, flags, primary, two
// times, epoch, state of the connection, slots, each as N or FIRST-LAST. What is in brackets is on
// its way.
func partsIn(line string) (all owners, err error) {
	fields := strings.Fields(line)
	for _, text := range fields[min(8, len(fields)):] {
		if strings.HasPrefix(text, "[") {
			continue
		}
		p := part{}
		p.owner, _, _ = strings.Cut(fields[1], "@")
		first, last, several := strings.Cut(text, "-")
		if !several {
			last = first
		}
		var wrong [3]error
		p.first, wrong[0] = strconv.Atoi(first)
		p.last, wrong[1] = strconv.Atoi(last)
		p.epoch, wrong[2] = strconv.ParseInt(fields[6], 10, 64)
		if err := errors.Join(wrong[:]...); err != nil {
			return nil, fmt.Errorf("CLUSTER NODES: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}
