package bugs

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"assay/store"
	"assay/store/bug"
	"assay/workload"
)

// database is a store.Database with bugs. One transaction at a time goes to it, so that it is
// known what each found and left. What a bug does to rows is done to the rows of the
// database, by statements of its own, where the database allows it.
type database struct {
	*trial[bug.Act]
	inner  store.Database
	schema store.Schema
	// shown is how what is shown differs from what the database holds, others how what the
	// other members hold differs from what is shown.
	shown, others overlay
	// lingers is true if operations are answered only after others have had the turn, some
	// sooner than others, so that they overlap in what they know.
	lingers bool
	// watches is true if transactions are remembered, in log.
	watches bool
	log     versions
	// opened counts the sessions.
	opened int
	// ghosts are transactions that were rolled back and wait for somebody to read of them.
	ghosts [][]change
	// losing is true while all that is committed is to be lost.
	losing bool
	// events counts the calls of clients, before they have the turn, and audited is their
	// number when the last audit ended.
	events  atomic.Uint64
	audited uint64
	// previous is the row that was answered last.
	previous image
	// cutAt is where a read of everything ends, by table.
	cutAt map[string]int64
	// guard is for what transactions look at that may go on when their session has
	// answered; see spoilable.
	guard sync.Mutex
}

// Over returns a Database that does what the given one of a workload does, but for the bugs,
// which are some of all. The given one is closed with it. The chance is drawn from seed: the
// same seed and the same order of calls give the same run.
func Over(inner store.Database, schema store.Schema, all []bug.Bug, seeded []Seeded, seed uint64) store.Database {
	var acts []bugOf[bug.Act]
	for _, b := range all {
		acts = append(acts, bugOf[bug.Act]{b, b.Act})
	}
	d := &database{trial: newTrial(inner, inner.Create, acts, seeded, seed), inner: inner, schema: schema}
	d.reset = func() {
		d.shown, d.others = newOverlay(), newOverlay()
		d.log, d.ghosts, d.losing, d.audited = versions{}, nil, false, 0
	}
	d.reset()
	d.watches = slices.ContainsFunc(d.active, func(b *active[bug.Act]) bool { return remembers(&b.acts) })
	d.lingers = slices.ContainsFunc(d.active, func(b *active[bug.Act]) bool { return b.acts.Does == bug.ReadsStale })
	engined, engines := store.As[store.Engined](inner)
	compacting, compacts := store.As[store.Compacting](inner)
	switch {
	case engines && compacts:
		return struct {
			*database
			enginedPart
			compactingPart
		}{d, enginedPart{d, engined}, compactingPart{compacting, d}}
	case engines:
		return struct {
			*database
			enginedPart
		}{d, enginedPart{d, engined}}
	case compacts:
		return struct {
			*database
			compactingPart
		}{d, compactingPart{compacting, d}}
	}
	return d
}

// Unwrap is for store.As.
func (d *database) Unwrap() store.Database { return d.inner }

func (d *database) Load(ctx context.Context, rows store.Rows) error { return d.inner.Load(ctx, rows) }
func (d *database) FinishLoad(ctx context.Context) error            { return d.inner.FinishLoad(ctx) }
func (d *database) Promises() store.Promises                        { return d.inner.Promises() }
func (d *database) Lacks() store.Lacks                              { return d.inner.Lacks() }
func (d *database) Levels() []store.Level                           { return d.inner.Levels() }

// enginedPart is a store.Engined.
type enginedPart struct {
	of      *database
	engined store.Engined
}

func (p enginedPart) Engines(ctx context.Context) ([]string, error) { return p.engined.Engines(ctx) }

func (p enginedPart) CreateOn(ctx context.Context, mark workload.Marker, engine string, chosen bool) error {
	return p.of.anew(ctx, func() error { return p.engined.CreateOn(ctx, mark, engine, chosen) })
}

// compactingPart is a store.Compacting.
type compactingPart struct {
	store.Compacting
	on *database
}

func (p compactingPart) FileSize(ctx context.Context) (workload.Size, error) {
	size, err := p.Compacting.FileSize(ctx)
	return p.on.withStrikes(ctx, size, err)
}

func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	return d.view(ctx, d.inner.View, &d.shown, read)
}

// viewer is Database.View.
type viewer = func(ctx context.Context, read func(store.Reader) error) error

// view is a read of everything.
func (d *database) view(ctx context.Context, view viewer, shown *overlay, read func(store.Reader) error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	b := d.draw(func(a bug.Act) bool { return a.Does == bug.Truncates })
	cut := false
	err := view(ctx, func(inner store.Reader) (err error) {
		r := &shownReader{Reader: inner, d: d, shown: shown}
		if slices.ContainsFunc(d.active, func(b *active[bug.Act]) bool { return sides(&b.acts) }) {
			r.attempt = d.attempt(nil, 0)
		}
		if b != nil {
			if cut, err = r.cut(ctx, b.acts.Tables); err != nil {
				return err
			}
		}
		return read(r)
	})
	if cut && err == nil {
		b.strikes++
	}
	return err
}

// Audit implements store.Database.
func (d *database) Audit(ctx context.Context, read func(store.Reader) error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	x := d.attempt(d.draw(func(a bug.Act) bool { return reads(a.Does) }), d.audited)
	err := d.inner.Audit(ctx, func(inner store.Reader) error {
		return read(&shownReader{Reader: inner, d: d, shown: &d.shown, attempt: x})
	})
	if err == nil {
		x.record(nil)
		d.audited = d.events.Load()
	}
	return err
}

// The members of a database that has but one, as a split brain shows them.
const (
	firstMember  = "member 1"
	secondMember = "member 2"
)

// Replicas implements store.Replicated. A database that has no second member is shown with
// one if a bug is to part it from the first.
func (d *database) Replicas(ctx context.Context) (members []store.Replica, unreachable map[string]error, err error) {
	if r, ok := store.As[store.Replicated](d.inner); ok {
		members, unreachable, err = r.Replicas(ctx)
	}
	splits := slices.ContainsFunc(d.active, func(b *active[bug.Act]) bool { return b.acts.Does == bug.Splits })
	if err == nil && len(members) < 2 && len(unreachable) == 0 && splits {
		members = []store.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}
	}
	return members, unreachable, err
}

func (d *database) CatchUp(ctx context.Context, member store.Replica) error {
	if r, ok := store.As[store.Replicated](d.inner); ok && member.Name != firstMember && member.Name != secondMember {
		return r.CatchUp(ctx, member)
	}
	return ctx.Err()
}

func (d *database) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	view := d.inner.View
	if r, ok := store.As[store.Replicated](d.inner); ok && member.Name != firstMember && member.Name != secondMember {
		view = func(ctx context.Context, read func(store.Reader) error) error {
			return r.ViewReplica(ctx, member, read)
		}
	}
	if member.Primary {
		return d.view(ctx, view, &d.shown, read)
	}
	return d.view(ctx, view, &d.others, func(r store.Reader) error {
		outer := *r.(*shownReader)
		outer.Reader = &shownReader{Reader: outer.Reader, d: d, shown: &d.shown}
		return read(&outer)
	})
}

// whose gives the place of a row of an answer; ok is false if its key is not known.
func (d *database) whose(t *store.Table, s *store.Statement, parameters []store.Value, row image) (p place, ok bool) {
	key, ok := keyed(t, s, parameters)
	if !ok {
		for _, name := range t.Key() {
			i := slices.Index(s.Columns, name)
			if i < 0 {
				return p, false
			}
			key = append(key, row[i])
		}
	}
	return placeOf(t.Name, key), true
}
