package redis

import (
	"context"
	"errors"
	"slices"

	"assay/driver/replicas"
	"assay/driver/rows"
	"assay/store"
)

// Without transactions, rows are spread over the slots of a Redis Cluster. A session connects to
// each server with slots, and each statement goes to its row's server. Mark and lease are in one
// slot.

type spreading struct {
	has    owners
	links  map[string]*link
	called string
}

func (s *spreading) close() {
	for _, l := range s.links {
		l.close()
	}
}

var errApart = errors.New("its rows are in several slots of the Redis Cluster, and one command reaches one slot")

// reach connects to all servers with slots. A slow or absent one is left to the first statement
// that needs it, so that statements on other slots go on.
func (n *session) reach(ctx context.Context) error {
	all, err := n.database.owners(ctx)
	if err != nil {
		return err
	}
	run, err := n.runBy(ctx, all)
	if err != nil {
		return err
	}
	n.spreading = &spreading{has: all, links: map[string]*link{}, called: n.clientName(run)}
	var addresses []string
	for _, p := range all {
		if all.ownerOf(p.first) == p.owner && !slices.Contains(addresses, p.owner) {
			addresses = append(addresses, p.owner)
		}
	}
	made, failures := replicas.AskPrompt(ctx, promptness, addresses, func(ctx context.Context, address string) (*link, error) {
		return n.connectAs(ctx, n.settings, address)
	})
	for i, l := range made {
		if l != nil {
			n.links[addresses[i]], n.link = l, l
		}
	}
	if n.link == nil {
		return errors.Join(failures...)
	}
	return nil
}

// runBy is the run in the mark, or the last known one if the mark's server is away.
func (n *session) runBy(ctx context.Context, all owners) (string, error) {
	var mark *store.Marker
	l, err := n.openAt(ctx, all.ownerOf(slotOf(n.mark())))
	if err == nil {
		defer l.close()
		mark, err = n.MustMark(ctx, l)
	}
	var missing *store.NoSchemaError
	var foreign *store.ForeignError
	last := n.run.Load()
	switch {
	case err == nil:
		n.run.Store(&mark.Run)
		return mark.Run, nil
	case last == nil, ctx.Err() != nil, errors.As(err, &missing), errors.As(err, &foreign):
		return "", err
	}
	return *last, nil
}

func (n *session) connectAs(ctx context.Context, s *settings, address string) (*link, error) {
	l, err := s.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if l.role != roleOfPrimary {
		err = &notPrimaryError{address, l.role, n.leaders()}
	} else {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		err = l.name(ctx, n.called)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// turn chooses the connection to the server with these keys, which must be in one slot.
func (n *session) turn(ctx context.Context, keys []string) error {
	if n.spreading == nil || len(keys) == 0 {
		return nil
	}
	slot := slotOf(keys[0])
	for _, key := range keys[1:] {
		if slotOf(key) != slot {
			return errApart
		}
	}
	owner := n.has.ownerOf(slot)
	if owner == "" {
		return errNoOwner
	}
	if n.links[owner] == nil {
		l, err := n.connectAs(ctx, n.settings, owner)
		if err != nil {
			return err
		}
		n.links[owner] = l
	}
	n.link = n.links[owner]
	return nil
}

// untaken is the reply after turn's error. Nothing was sent.
func (n *session) untaken(doing string, err error) store.Reply {
	if errors.Is(err, errApart) {
		return refused(classSlots, doing, err)
	}
	class := classOfLoss(err)
	if code, known := meaningOf(codeOf(err)); known {
		class = code
	}
	r := refused(class, doing, err)
	r.Broken = true // a new session asks anew who has the slot
	return r
}

// everywhere does work at each server with slots, in turn, or only on l if rows are not spread. l
// is a link to one of them.
func (d *database) everywhere(ctx context.Context, l *link, work func(at *link, has owners) error) error {
	if !d.spread {
		return work(l, nil)
	}
	all, err := d.owners(ctx)
	if err != nil {
		return err
	}
	addresses, err := all.all()
	if err != nil {
		return err
	}
	for _, address := range addresses {
		if err := d.at(ctx, l, address, func(at *link) error { return work(at, all) }); err != nil {
			return err
		}
	}
	return nil
}

// at does work over a connection to a server: the link, if it is one.
func (d *database) at(ctx context.Context, l *link, address string, work func(*link) error) error {
	if l.address == address {
		return work(l)
	}
	other, err := d.openAt(ctx, address)
	if err != nil {
		return err
	}
	defer other.close()
	return work(other)
}

// scan is link.scan at each server with slots.
func (d *database) scan(ctx context.Context, l *link, pattern string, page func(at *link, keys []string) error) error {
	return d.everywhere(ctx, l, func(at *link, _ owners) error {
		return at.scan(ctx, pattern, func(keys []string) error { return page(at, keys) })
	})
}

// loadSpread inserts each row by its own command on its server.
func (d *database) loadSpread(ctx context.Context, l *link, t *rows.Table, made []rows.Row) error {
	for _, row := range made {
		if err := t.Allow(row); err != nil {
			return err
		}
	}
	keys := d.keysOf(t, made)
	return d.everywhere(ctx, l, func(at *link, has owners) error {
		var sets []*command
		for i, key := range keys {
			if has.ownerOf(slotOf(key)) == at.address {
				sets = append(sets, newCommand("set", key, valueOf(made[i]), "nx"))
			}
		}
		if len(sets) == 0 {
			return nil
		}
		err := at.all(ctx, sets)
		if errors.Is(err, errNone) {
			err = t.Exists()
		}
		return err
	})
}

func apart(name string, keys []string) []*command {
	all := make([]*command, len(keys))
	for i, key := range keys {
		all[i] = newCommand(name, key)
	}
	return all
}

func (l *link) valuesApart(ctx context.Context, keys []string) ([]any, error) {
	all := apart("get", keys)
	if err := l.do(ctx, all...); err != nil {
		return nil, err
	}
	values := make([]any, len(keys))
	for i, c := range all {
		if c.err != nil && c.err != errNone && codeOf(c.err) != codeWrongType {
			return nil, c.err
		}
		values[i] = c.answer
	}
	return values, nil
}
