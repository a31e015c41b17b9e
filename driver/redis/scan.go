package redis

import (
	"context"
	"fmt"
	"hash/maphash"

	"assay/driver/rows"
	"assay/store"
)

// scanCount is about how many keys a server looks at per page (manual, "SCAN", "The COUNT option").
const scanCount = "1000"

// scan gives all keys that match a pattern, each once. SCAN gives each key that is there
// throughout, some more than once (manual, "SCAN", "Scan guarantees"). A given key is remembered by
// 16 bytes of hash, less than the server's own memory for it.
func (l *link) scan(ctx context.Context, pattern string, page func(keys []string) error) error {
	seeds, given := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, map[[2]uint64]struct{}{}
	for cursor := "0"; ; {
		scan := newCommand("scan", cursor, "match", pattern, "count", scanCount)
		if err := l.one(ctx, scan); err != nil {
			return err
		}
		parts, err := answerOf[[]any](scan)
		switch {
		case err != nil:
			return err
		case len(parts) != 2:
			return fmt.Errorf("SCAN answered %d parts, not a cursor and keys", len(parts))
		}
		next, isCursor := parts[0].(string)
		found, isList := parts[1].([]any)
		if !isCursor || !isList {
			return fmt.Errorf("SCAN answered a %T and a %T, not a cursor and keys", parts[0], parts[1])
		}
		var keys []string
		for _, f := range found {
			key, _ := f.(string)
			hash := [2]uint64{maphash.String(seeds[0], key), maphash.String(seeds[1], key)}
			if _, again := given[hash]; !again {
				given[hash] = struct{}{}
				keys = append(keys, key)
			}
		}
		if len(keys) > 0 {
			if err := page(keys); err != nil {
				return err
			}
		}
		if next == "0" {
			return nil
		}
		cursor = next
	}
}

// values are the keys' values, nil for a missing one or another type.
func (d *database) values(ctx context.Context, l *link, keys []string) ([]any, error) {
	if d.spread {
		return l.valuesApart(ctx, keys)
	}
	get := asking("mget", keys)
	if err := l.one(ctx, get); err != nil {
		return nil, err
	}
	values, err := answerOf[[]any](get)
	if err == nil && len(values) != len(keys) {
		err = fmt.Errorf("MGET answered %d values for %d keys", len(values), len(keys))
	}
	return values, err
}

func (d *database) everyRow(ctx context.Context, l *link, t *rows.Table, use func(rows.Row) error) error {
	return d.scan(ctx, l, d.table(t.Name)+"*", func(at *link, keys []string) error {
		values, err := d.values(ctx, at, keys)
		if err != nil {
			return err
		}
		for i, v := range values {
			value, is := v.(string)
			if !is {
				continue // it was deleted meanwhile
			}
			row, err := rowOf(t, value)
			if err != nil {
				err = fmt.Errorf("key %q: %w", keys[i], err)
				if store.Unreadable(ctx, t.Name, err) {
					continue
				}
				return err
			}
			if err := use(row); err != nil {
				return err
			}
		}
		return nil
	})
}
