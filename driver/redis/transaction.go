package redis

import (
	"context"
	"errors"
	"slices"

	"assay/driver/ordered"
	"assay/history"
	"assay/store"
)

// transaction is an optimistic ordered.Keys. It keeps its reads and writes; nothing that writes is
// sent before the commit.
type transaction struct {
	*session
	ctx context.Context
	// optimistic: reads are watched.
	optimistic bool
	held       map[string]*held
	// pending are keys to be read by the next request, written those that the commit writes.
	pending, written []string
	// asked counts the reading round trips.
	asked   int
	failure *store.Reply
}

// held is a key's value, as it was read or is to be.
type held struct {
	value          string
	there, written bool
}

// errLeft: a command failed; its reply is in transaction.failure.
var errLeft = errors.New("the transaction cannot go on")

func (n *session) begin(ctx context.Context, optimistic bool) *transaction {
	t := &transaction{session: n, ctx: ctx, optimistic: optimistic, held: map[string]*held{}}
	n.execution.Keys = t
	return t
}

func (n *session) perform(ctx context.Context, doing string, work func(*transaction) error) store.Reply {
	t := n.begin(ctx, true)
	if err := work(t); err != nil || t.failure != nil {
		return n.done(t.refusal(doing, err))
	}
	return n.done(t.commit(doing))
}

// refusal is the reply to an abandoned transaction, which wrote nothing.
func (t *transaction) refusal(doing string, err error) store.Reply {
	switch {
	case t.failure != nil:
		r := *t.failure
		r.Outcome = history.Failed
		if err != nil && !errors.Is(err, errLeft) {
			r.Err = failed(doing, errors.Join(err, r.Err))
		}
		return r
	case t.ctx.Err() != nil && classOfLoss(err) == store.ClassTimeout:
		return refused(store.ClassTimeout, doing, err)
	}
	return refusedBy(doing, err)
}

func (t *transaction) fail(r store.Reply) error {
	t.failure = &r
	return errors.Join(errLeft, r.Err)
}

// Ask implements ordered.Keys. One request reads all keys asked for before the first wait.
func (t *transaction) Ask(key []byte) ordered.Asked {
	name := string(key)
	if t.held[name] == nil {
		t.pending = append(t.pending, name)
	}
	return ordered.Asked{Wait: func() ([]byte, error) {
		if t.held[name] == nil {
			if err := t.fetch(); err != nil {
				return nil, err
			}
		}
		if h := t.held[name]; h.there {
			return []byte(h.value), nil
		}
		return nil, nil
	}}
}

// Scan implements ordered.Keys. No plan of ours has a range of keys; see compile.
func (t *transaction) Scan([]byte, []byte, int, bool) ([]ordered.Pair, error) {
	return nil, errNotServed
}

func (t *transaction) Set(key, value []byte) { t.write(string(key), string(value), true) }

func (t *transaction) Clear(key []byte) { t.write(string(key), "", false) }

func (t *transaction) write(key, value string, there bool) {
	h := t.held[key]
	if h == nil {
		h = &held{}
		t.held[key] = h
	}
	if !h.written {
		t.written = append(t.written, key)
	}
	*h = held{value, there, true}
}

// fetch reads the pending keys that are not held, in one state and one round trip. It watches them
// first, so that no change is missed.
func (t *transaction) fetch() error {
	missing := slices.DeleteFunc(t.pending, func(key string) bool { return t.held[key] != nil })
	slices.Sort(missing)
	missing, t.pending = slices.Compact(missing), nil
	if err := t.turnOnce(missing); err != nil {
		return t.fail(t.untaken("read", err))
	}
	read := asking("mget", missing)
	all := t.unwatched()
	if t.optimistic {
		all = append(all, asking("watch", missing))
		t.link.watching = true
	}
	t.asked++
	all = append(all, read)
	if err := t.link.do(t.ctx, all...); err != nil {
		return t.fail(t.link.lost("read", err))
	}
	for _, c := range all {
		if c.err != nil {
			return t.fail(answered("read", c.err))
		}
	}
	values, err := answerOf[[]any](read)
	if err == nil && len(values) != len(missing) {
		err = errors.New("MGET answered another number of values than it was asked for")
	}
	for i := 0; i < len(values) && err == nil; i++ {
		value, there := values[i].(string)
		t.held[missing[i]] = &held{value: value, there: there}
	}
	return err
}

// turnOnce is turn, and returns errApart if the transaction has read at another server.
func (t *transaction) turnOnce(keys []string) error {
	before := t.link
	err := t.turn(t.ctx, keys)
	if err == nil && t.asked > 0 && t.link != before {
		err = errApart
	}
	return err
}

// unwatched is UNWATCH if an earlier transaction's keys are still watched.
func (t *transaction) unwatched() []*command {
	if t.asked > 0 || !t.link.watching {
		return nil
	}
	t.link.watching = false
	return []*command{newCommand("unwatch")}
}
