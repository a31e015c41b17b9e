package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"assay/driver/ownership"
	"assay/store"
)

// The lease is a hash: token, holder (JSON), since and expires, in milliseconds of the server's
// clock. It does not expire by itself, so that an expired lease's holder stays known.
//
// Each script is one conditional change, as scripts run alone (manual, "Scripting with Lua",
// "Atomicity"). EVAL sends the whole script, since a restarted server knows none by its sum.
const (
	leaseHead = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local l = redis.call('HMGET', KEYS[1], 'token', 'holder', 'since', 'expires')
`
	lookScript = leaseHead + `if l[1] then return {l[1], l[2], l[3], l[4], now} end return false`

	// writeScript does nothing unless the lease has the token ARGV[1] and expires at ARGV[2]. It
	// gives the lease to token ARGV[3] with holder ARGV[4], since ARGV[5] (empty: now), for
	// ARGV[6] milliseconds, or deletes it if that token is empty.
	writeScript = leaseHead + `
if (l[1] or '') ~= ARGV[1] or (l[4] or '') ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[3] == '' then return 1 end
local since = ARGV[5]
if since == '' then since = now end
redis.call('HSET', KEYS[1], 'token', ARGV[3], 'holder', ARGV[4], 'since', since, 'expires', now + ARGV[6])
return 1`

	// createScript and dropScript change the mark (KEYS[2]) unless another token than ARGV[1] has
	// the lease.
	excluded     = leaseHead + `if l[1] and l[1] ~= ARGV[1] and tonumber(l[4]) > now then return 0 end `
	createScript = excluded + `redis.call('SET', KEYS[2], ARGV[2]) return 1`
	dropScript   = excluded + `redis.call('DEL', KEYS[1], KEYS[2]) return 1`
)

func (d *database) eval(ctx context.Context, l *link, script string, args ...string) (any, error) {
	c := newCommand(append([]string{"eval", script, "2", d.lease(), d.mark()}, args...)...)
	err := l.one(ctx, c)
	if codeOf(err) == codeWrongType {
		err = d.foreign()
	}
	return c.answer, err
}

func (d *database) ReadLease(ctx context.Context, l *link) (*ownership.Row, error) {
	answer, err := d.eval(ctx, l, lookScript)
	was, is := answer.([]any)
	if err != nil || !is {
		return nil, err
	}
	if len(was) != 5 {
		return nil, fmt.Errorf("the lease has %d parts, not five", len(was))
	}
	var texts [4]string
	for i := range texts {
		texts[i], _ = was[i].(string)
	}
	since, err := strconv.ParseInt(texts[2], 10, 64)
	expires, err2 := strconv.ParseInt(texts[3], 10, 64)
	now, known := was[4].(int64)
	if err != nil || err2 != nil || !known {
		return nil, d.foreign()
	}
	lease := store.NewLease(texts[0], []byte(texts[1]), time.UnixMilli(since), time.Duration(expires-now)*time.Millisecond)
	return &ownership.Row{Lease: *lease, End: expires}, nil
}

func (d *database) WriteLease(ctx context.Context, l *link, was *ownership.Row, is *store.Lease) (bool, error) {
	args := make([]string, 6)
	if was != nil {
		args[0], args[1] = was.Token, strconv.FormatInt(was.End, 10)
	}
	if is != nil {
		holder, err := json.Marshal(is.Holder)
		if err != nil {
			return false, err
		}
		args[2], args[3], args[5] = is.Token, string(holder), strconv.FormatInt(is.Remaining.Milliseconds(), 10)
		if !is.Since.IsZero() {
			args[4] = strconv.FormatInt(is.Since.UnixMilli(), 10)
		}
	}
	done, err := d.eval(ctx, l, writeScript, args...)
	return done == int64(1), err
}

// admitted runs createScript or dropScript. It returns *store.HeldError if another has the lease.
func (d *database) admitted(ctx context.Context, l *link, script string, args ...string) error {
	done, err := d.eval(ctx, l, script, append([]string{d.Taken().Token}, args...)...)
	if err != nil || done == int64(1) {
		return err
	}
	row, err := d.ReadLease(ctx, l)
	switch {
	case err != nil:
		return err
	case row == nil:
		return errors.New("another run's lease has just ended")
	}
	return &store.HeldError{Name: d.Title(), Lease: row.Lease}
}
