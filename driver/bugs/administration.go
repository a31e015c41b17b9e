package bugs

import (
	"context"
	"strings"

	"assay/store"
)

// Settle implements store.Administration. It first does all postponed operations.
func (d *database) Settle(ctx context.Context) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	d.catchUp(ctx, d.calls+maxLate)
	return d.Database.Settle(ctx)
}

// Describe implements store.Administration. It names the bugs.
func (d *database) Describe(ctx context.Context) (store.Product, error) {
	p, err := d.Database.Describe(ctx)
	if err != nil || len(d.active) == 0 {
		return p, err
	}
	var names []string
	for _, b := range d.active {
		names = append(names, Seeded{b.Name, b.probability}.String())
	}
	list := strings.Join(names, ", ")
	p.Version = strings.TrimSpace(p.Version + " with seeded bugs (" + list + ")")
	p.Settings = append(p.Settings, store.Setting{Name: store.SettingBugs, Value: list})
	return p, nil
}

// Size implements store.Administration. Rows counts each bug's strikes as if it were a table.
func (d *database) Size(ctx context.Context) (store.Size, error) {
	size, err := d.Database.Size(ctx)
	return d.withStrikes(ctx, size, err)
}

func (d *database) withStrikes(ctx context.Context, size store.Size, err error) (store.Size, error) {
	if err != nil {
		return size, err
	}
	if err := d.take(ctx); err != nil {
		return size, err
	}
	defer d.done()
	if size.Rows == nil {
		size.Rows = map[string]int64{}
	}
	for _, b := range d.active {
		size.Rows[StrikesOf(b.Name)] = b.strikes
	}
	return size, nil
}

// StrikesOf is the name in store.Size under which the strikes of an active bug since Create are
// counted.
func StrikesOf(bug string) string { return store.StrikesPrefix + bug }

func (d *database) Create(ctx context.Context, marker store.Marker) error {
	return d.anew(ctx, func() error { return d.Database.Create(ctx, marker) })
}

func (d *database) Drop(ctx context.Context) error {
	return d.anew(ctx, func() error { return d.Database.Drop(ctx) })
}

// anew does something and, if it succeeds, forgets everything.
func (d *database) anew(ctx context.Context, do func() error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.done()
	if err := do(); err != nil {
		return err
	}
	d.calls, d.differences, d.late = 0, 0, nil
	d.shown, d.others = newOverlay(), newOverlay()
	d.log, d.audited = versions{}, 0
	for _, b := range d.active {
		b.strikes = 0
	}
	return nil
}
