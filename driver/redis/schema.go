package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"assay/driver/rows"
	"assay/internal/wait"
	"assay/store"
)

func (d *database) foreign() *store.ForeignError {
	return &store.ForeignError{Name: d.Title(), Hint: "choose another one with ?prefix=NAME in the address, or delete its keys yourself"}
}

var errFound = errors.New("found")

func (d *database) ReadMark(ctx context.Context, l *link) (*store.Marker, error) {
	mark := newCommand("get", d.mark())
	err := l.one(ctx, mark)
	switch text, is := mark.answer.(string); {
	case codeOf(err) == codeWrongType:
		return nil, d.foreign()
	case err != nil:
		return nil, err
	case is:
		var mark store.Marker
		if json.Unmarshal([]byte(text), &mark) != nil || mark.Workload == "" {
			return nil, d.foreign()
		}
		mark.Created = mark.Created.UTC()
		return &mark, nil
	}
	err = d.scan(ctx, l, d.all(), func(_ *link, keys []string) error {
		for _, key := range keys {
			// The mark may have been made meanwhile.
			if key != d.lease() && key != d.mark() {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = d.unmarked(ctx, l)
	}
	return nil, err
}

// unmarked is the error of keys without a mark. With allkeys-* the server may have evicted the mark
// itself (documentation 7.0, "Key eviction").
func (d *database) unmarked(ctx context.Context, l *link) error {
	told, err := l.info(ctx, "everything")
	if err != nil {
		return err
	}
	e := d.foreign()
	if evicted, policy := told["evicted_keys"], told["maxmemory_policy"]; evicted != "0" && strings.HasPrefix(policy, "allkeys-") {
		e.Lost = "the server evicts keys (maxmemory-policy=" + policy + ", evicted_keys=" + evicted + "), the mark among them if assay made this prefix"
		e.Hint = "set maxmemory-policy=noeviction or more maxmemory, and " + e.Hint
	}
	return e
}

func (d *database) WriteMark(ctx context.Context, l *link, mark store.Marker) error {
	text, err := encodeMark(mark)
	if err != nil {
		return err
	}
	return l.one(ctx, newCommand("set", d.mark(), text, "xx"))
}

func encodeMark(m store.Marker) (string, error) {
	m.Created = m.Created.UTC()
	text, err := json.Marshal(m)
	return string(text), err
}

func (d *database) Rows(ctx context.Context, l *link) (rows int64, err error) {
	err = d.scan(ctx, l, d.table(d.of.Tables[0].Name)+"*", func(_ *link, keys []string) error {
		rows += int64(len(keys))
		return nil
	})
	return rows, err
}

// Others implements ownership.Place. It looks for keys that are no rows of our tables.
func (d *database) Others(ctx context.Context, l *link) error {
	var others []string
	err := d.scan(ctx, l, d.all(), func(at *link, keys []string) error {
		values, err := d.values(ctx, at, keys)
		for i := 0; i < len(values) && err == nil; i++ {
			if keys[i] != d.mark() && keys[i] != d.lease() && !d.isRow(keys[i], values[i]) {
				others = append(others, fmt.Sprintf("key %q", keys[i]))
			}
		}
		return err
	})
	if err == nil && len(others) > 0 {
		err = &store.ForeignError{Name: d.Title(), Others: others, Hint: "delete them or rename them, or choose another prefix with ?prefix=NAME in the address"}
	}
	return err
}

func (d *database) isRow(key string, value any) bool {
	t := d.tableOf(d.tables, key)
	text, is := value.(string)
	if t == nil || !is {
		return false
	}
	row, err := rowOf(t, text)
	return err == nil && d.keyOf(t, row) == key
}

func (l layout) Title() string { return "the prefix " + l.name }

func (d *database) clear(ctx context.Context, l *link) error {
	return d.scan(ctx, l, d.within(), func(at *link, keys []string) error {
		if d.spread {
			return at.all(ctx, apart("unlink", keys))
		}
		return at.one(ctx, asking("unlink", keys))
	})
}

// Create implements store.Database. The earlier mark stays until its rows are deleted, so that an
// interrupted Create leaves a mark. One script checks the lease again and sets the new mark.
func (d *database) Create(ctx context.Context, mark store.Marker) error {
	text, err := encodeMark(mark)
	if err != nil {
		return failed("create", err)
	}
	return d.anew(ctx, "create", createScript, text)
}

func (d *database) Drop(ctx context.Context) error { return d.anew(ctx, "drop", dropScript) }

func (d *database) anew(ctx context.Context, doing, script string, args ...string) error {
	return d.Change(ctx, doing, func(l *link) error {
		before, err := d.Admit(ctx, l)
		if err == nil && before != nil {
			err = d.clear(ctx, l)
		}
		if err != nil {
			return err
		}
		return d.admitted(ctx, l, script, args...)
	})
}

// clientName names the connections of a run's sessions.
func (d *database) clientName(run string) string { return d.name + "#" + url.QueryEscape(run) }

const settlePause = 10 * time.Millisecond

// Settle implements store.Administration. A server executes what it has received while the
// connection exists. So Settle kills this run's connections, found by name (CLIENT KILL), until
// none is left. A connection takes its name before it sends anything else.
func (d *database) Settle(ctx context.Context) error {
	return d.Change(ctx, "settle", func(l *link) error {
		mark, err := d.MustMark(ctx, l)
		if err != nil {
			return err
		}
		return d.everywhere(ctx, l, func(at *link, _ owners) error { return at.endClients(ctx, d.clientName(mark.Run)) })
	})
}

func (l *link) endClients(ctx context.Context, name string) error {
	for {
		left, err := l.clients(ctx, name)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, id := range left {
			// A connection that is gone is no error.
			if err := l.one(ctx, newCommand("client", "kill", "id", id)); err != nil {
				return err
			}
		}
		if err := wait.Pause(ctx, settlePause); err != nil {
			return fmt.Errorf("%d connections of this run are still there: %w", len(left), err)
		}
	}
}

// clients are the ids of connections of this name (manual, "CLIENT LIST").
func (l *link) clients(ctx context.Context, name string) (ids []string, err error) {
	list := newCommand("client", "list")
	if err := l.one(ctx, list); err != nil {
		return nil, err
	}
	text, err := answerOf[string](list)
	for line := range strings.Lines(text) {
		fields := map[string]string{}
		for field := range strings.FieldsSeq(line) {
			key, value, _ := strings.Cut(field, "=")
			fields[key] = value
		}
		if fields["name"] == name {
			ids = append(ids, fields["id"])
		}
	}
	return ids, err
}

const measured = "memory of the keys and values (MEMORY USAGE), without the files on disk"

func (d *database) Size(ctx context.Context) (size store.Size, err error) {
	size = store.Size{Rows: map[string]int64{}, Measured: measured}
	err = d.Change(ctx, "size", func(l *link) error {
		if _, err := d.MustMark(ctx, l); err != nil {
			return err
		}
		for _, t := range d.tables {
			n, bytes, err := d.sizeOf(ctx, l, t)
			if err != nil {
				return err
			}
			size.Rows[t.Name] = n
			size.Bytes += bytes
		}
		return nil
	})
	if err != nil {
		return store.Size{}, err
	}
	return size, nil
}

func (d *database) sizeOf(ctx context.Context, l *link, t *rows.Table) (n, bytes int64, err error) {
	err = d.scan(ctx, l, d.table(t.Name)+"*", func(at *link, keys []string) error {
		all := make([]*command, len(keys))
		for i, key := range keys {
			all[i] = newCommand("memory", "usage", key)
		}
		if err := at.do(ctx, all...); err != nil {
			return err
		}
		for _, c := range all {
			took, err := answerOf[int64](c)
			switch {
			case errors.Is(err, errNone): // it was deleted meanwhile
				continue
			case err != nil:
				return err
			}
			n, bytes = n+1, bytes+took
		}
		return nil
	})
	return n, bytes, err
}

// Close implements store.Administration. Each call has closed its own connection.
func (d *database) Close() error { return nil }
