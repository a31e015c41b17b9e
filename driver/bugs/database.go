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

// database is a store.Database with bugs. It sends one transaction at a time, so that it knows what
// each found and left. Its own statements change rows, if the database can change rows.
type database struct {
	store.Database
	schema store.Schema
	active []*active
	// turn holds a token while somebody has the turn, which guards all fields below except
	// guard's.
	turn   chan struct{}
	chance *rand.Rand
	// calls counts since Create, for postponed operations.
	calls       uint64
	late        []delayed
	differences int
	// shown is the difference between the database and the answers, others between the answers
	// and the other members.
	shown, others overlay
	// lingers delays answers until others had the turn, by different numbers of turns, so that
	// clients know overlapping states.
	lingers bool
	// looks asks for the rows' state before changes; watches keeps the changes in log.
	looks, watches bool
	log            versions
	// events counts the clients' calls, before their turn. audited is its value at the end of
	// the last audit.
	events  atomic.Uint64
	audited uint64
	// cutAt has the number of rows, by table, after which a read of everything ends.
	cutAt map[string]int64
	// guard guards what a transaction may use after its session has answered (see spoilable),
	// and underWay: the unfinished transactions of stepped sessions that have changed something.
	guard    sync.Mutex
	underWay map[*attempt]bool
}

// Over wraps inner in a Database with the seeded bugs, and closes it too. The same seed and the
// same order of calls give the same run.
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

func (d *database) view(ctx context.Context, view func(context.Context, func(store.Reader) error) error, shown *overlay, read func(store.Reader) error) error {
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

// The members that a split brain shows of a database with one member.
const (
	firstMember  = "member 1"
	secondMember = "member 2"
)

// Replicas implements store.Replicated. It invents a second member if a bug splits and the database
// has one.
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

// whose is the place of an answer's row; ok is false if the key is not known.
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
