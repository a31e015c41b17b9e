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

// A Redis Cluster keeps each key in a slot. WATCH, MULTI and scripts work within one slot ("Redis
// cluster specification", "Implemented subset"). So with transactions all keys have one hash tag;
// otherwise rows are spread (see spread.go). The driver connects to the slots' servers and asks for
// them each time. A server that has lost a slot answers MOVED.

const slots = 16384

var errNoOwner = errors.New("no server of the Redis Cluster that can be reached knows one for the slot of these keys")

type owners []part

// part is the slots from first to last and their server since an epoch.
type part struct {
	first, last int
	owner       string
	epoch       int64
}

// ownerOf is the address of the slot's server by the newest epoch, or empty.
func (o owners) ownerOf(slot int) (owner string) {
	epoch := int64(-1)
	for _, p := range o {
		if p.first <= slot && slot <= p.last && p.epoch > epoch {
			owner, epoch = p.owner, p.epoch
		}
	}
	return owner
}

// all are the servers with slots, each once; errNoOwner if a slot has none.
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

// owners asks the address's servers. A server that takes the cluster for failed is ignored.
func (d *database) owners(ctx context.Context) (all owners, err error) {
	views, failures := replicas.AskPrompt(ctx, promptness, d.hosts, d.viewOf)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if all = slices.Concat(views...); len(all) == 0 {
		return nil, errors.Join(append(failures, errNoOwner)...)
	}
	return all, nil
}

// owner is the address of the server with the slot of mark and lease.
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

// slotOf is a key's slot: CRC16 (polynomial 1021) of the part in the first braces, unless that is
// empty ("Redis cluster specification", "Key distribution model", "Hash tags").
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

// viewOf asks one server (manual, "CLUSTER INFO", "CLUSTER NODES").
func (d *database) viewOf(ctx context.Context, host string) (v owners, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*d.timeout)
	defer cancel()
	l, err := d.dial(ctx, host)
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

// partsIn are the slots in a line of CLUSTER NODES: id, host:port@bus, flags, primary, two times,
// epoch, state, then slots as N or FIRST-LAST. Slots in brackets are migrating.
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
