package bugs

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"assay/store"
	"assay/store/bug"
)

// database is a store.Database with bugs. One transaction at a time goes to it, so that it is
// known what each found and left. What a bug does to rows is done to the rows of the
// database, by statements of its own, where the database allows it.
type database struct {
	store.Database
	schema store.Schema
	active []*active
	// turn holds a token while somebody has the turn, which is needed for all below but
	// what guard is for.
	turn   chan struct{}
	chance *rand.Rand
	// calls counts since Create, for what is to happen later.
	calls uint64
	late  []delayed
	// differences counts those that are kept.
	differences int
	// shown is how what is shown differs from what the database holds, others how what the
	// other members hold differs from what is shown.
	shown, others overlay
	// lingers is true if operations are answered only after others have had the turn, some
	// sooner than others, so that they overlap in what they know.
	lingers bool
	// looks is true if it is to be known what transactions change, and watches if they are
	// remembered, in log.
	looks, watches bool
	log            versions
	// events counts the calls of clients, before they have the turn, and audited is their
	// number when the last audit ended.
	events  atomic.Uint64
	audited uint64
	// cutAt is where a read of everything ends, by table.
	cutAt map[string]int64
	// guard is for what transactions look at that may go on when their session has
	// answered; see spoilable. It is also for underWay: transactions of stepped sessions that
	// have changed something and not ended.
	guard    sync.Mutex
	underWay map[*attempt]bool
}

// Over returns a Database that does what the given one of a workload does, but for the bugs,
// which are some of all. The given one is closed with it. The chance is drawn from seed: the
// same seed and the same order of calls give the same run.
func Over(inner store.Database, schema store.Schema, all []bug.Bug, seeded []Seeded, seed uint64) store.Database {
	d := &database{Database: inner, schema: schema, turn: make(chan struct{}, 1), chance: rand.New(rand.NewPCG(seed, 0x6173736179)),
		shown: newOverlay(), others: newOverlay(), underWay: map[*attempt]bool{}}
	for _, b := range all {
		for _, s := range seeded {
			if s.Name == b.Name && s.Probability > 0 {
				d.active = append(d.active, &active{Bug: b, probability: s.Probability})
				d.looks = d.looks || looksAtRows(&b.Act)
				d.watches = d.watches || remembers(&b.Act)
				d.lingers = d.lingers || b.Act.Does == bug.ReadsStale
			}
		}
	}
	if compacting, is := store.As[store.Compacting](inner); is {
		return struct {
			*database
			compactingPart
		}{d, compactingPart{compacting, d}}
	}
	return d
}

// Unwrap is for store.As.
func (d *database) Unwrap() store.Database { return d.Database }

// compactingPart is a store.Compacting.
type compactingPart struct {
	store.Compacting
	on *database
}

func (p compactingPart) FileSize(ctx context.Context) (store.Size, error) {
	size, err := p.Compacting.FileSize(ctx)
	return p.on.withStrikes(ctx, size, err)
}

func (d *database) View(ctx context.Context, read func(store.Reader) error) error {
	return d.view(ctx, d.Database.View, &d.shown, read)
}

// viewer is Database.View.
type viewer = func(ctx context.Context, read func(store.Reader) error) error

// view is a read of everything.
func (d *database) view(ctx context.Context, view viewer, shown *overlay, read func(store.Reader) error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	b := d.draw(func(a *bug.Act) bool { return a.Does == bug.Truncates })
	cut := false
	err := view(ctx, func(inner store.Reader) (err error) {
		r := &shownReader{Reader: inner, d: d, shown: shown}
		if b != nil {
			if cut, err = r.cut(ctx, b.Act.Tables); err != nil {
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
	x := d.attempt(d.draw(func(a *bug.Act) bool { return reads(a.Does) }), d.audited)
	err := d.Database.Audit(ctx, func(inner store.Reader) error {
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
	if r, ok := store.As[store.Replicated](d.Database); ok {
		members, unreachable, err = r.Replicas(ctx)
	}
	splits := slices.ContainsFunc(d.active, func(b *active) bool { return b.Act.Does == bug.Splits })
	if err == nil && len(members) < 2 && len(unreachable) == 0 && splits {
		members = []store.Replica{{Name: firstMember, Primary: true}, {Name: secondMember}}
	}
	return members, unreachable, err
}

func (d *database) CatchUp(ctx context.Context, member store.Replica) error {
	if r, ok := store.As[store.Replicated](d.Database); ok && member.Name != firstMember && member.Name != secondMember {
		return r.CatchUp(ctx, member)
	}
	return ctx.Err()
}

func (d *database) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	view := d.Database.View
	if r, ok := store.As[store.Replicated](d.Database); ok && member.Name != firstMember && member.Name != secondMember {
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
