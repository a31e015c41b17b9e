package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"assay/store"
)

// The lease is a hash: token, holder (JSON), since and expires, in milliseconds of the
// server's clock. It is no key that expires by itself, since one that has expired must still
// be known as whose it was.
//
// Each of these scripts is one conditional change: "While executing the script, all server
// activities are blocked during its entire runtime" (manual, "Scripting with Lua",
// "Atomicity"). They are sent as they are (EVAL), since a server that was started anew knows
// no script by its sum. All give the lease as it was, with the time, or nothing.
const (
	// leaseHead reads the lease (KEYS[1]) and the time.
	leaseHead = `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local l = redis.call('HMGET', KEYS[1], 'token', 'holder', 'since', 'expires')
local was = false
if l[1] then was = {l[1], l[2], l[3], l[4], now} end
`
	// lookScript changes nothing.
	lookScript = leaseHead + `return was`

	// takeScript gives the lease to the token ARGV[1] with the holder ARGV[2] for ARGV[3]
	// milliseconds, unless another has it than the token ARGV[4] and it has not expired. It
	// gives nothing if it has.
	takeScript = leaseHead + `
if l[1] and l[1] ~= ARGV[1] and l[1] ~= ARGV[4] and tonumber(l[4]) > now then return was end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'holder', ARGV[2], 'since', now, 'expires', now + ARGV[3])
return false`

	renewScript = leaseHead + `
if l[1] == ARGV[1] then redis.call('HSET', KEYS[1], 'expires', now + ARGV[2]) end
return was`

	releaseScript = leaseHead + `
if l[1] == ARGV[1] then redis.call('DEL', KEYS[1]) end
return was`

	// createScript and dropScript do something to the mark (KEYS[2]) unless another has the
	// lease than the token ARGV[1]. They give nothing if they have.
	excluded = leaseHead + `
if l[1] and l[1] ~= ARGV[1] and tonumber(l[4]) > now then return was end
`
	createScript = excluded + `redis.call('SET', KEYS[2], ARGV[2]) return false`
	dropScript   = excluded + `redis.call('DEL', KEYS[1], KEYS[2]) return false`
)

// askLease runs one of the scripts, and returns the lease that it gives, nil for none.
func (d *database) askLease(ctx context.Context, l *link, script string, args ...any) (*store.Lease, error) {
	command := goredis.NewCmd(ctx, append([]any{"eval", script, 2, d.lease(), d.mark()}, args...)...)
	if err := l.one(ctx, command); err != nil {
		if codeOf(err) == codeWrongType {
			return nil, d.foreign()
		}
		return nil, err
	}
	was, is := command.Val().([]any)
	if !is {
		return nil, nil
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
	return store.NewLease(texts[0], []byte(texts[1]), time.UnixMilli(since), time.Duration(expires-now)*time.Millisecond), nil
}

// admitted runs createScript or dropScript, and gives *store.HeldError if another holds the
// lease.
func (d *database) admitted(ctx context.Context, l *link, script string, args ...any) error {
	token := d.taken.Holder().Token
	lease, err := d.askLease(ctx, l, script, append([]any{token}, args...)...)
	if err == nil {
		err = lease.Admit(d.title(), token)
	}
	return err
}

// Lease implements store.Leaser.
func (d *database) Lease(ctx context.Context) (lease *store.Lease, err error) {
	err = d.with(ctx, "look for a lease", func(l *link) (err error) {
		lease, err = d.askLease(ctx, l, lookScript)
		return err
	})
	return lease, err
}

// TakeLease implements store.Leaser.
func (d *database) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	text, err := json.Marshal(holder)
	if err != nil {
		return failed("take the lease", err)
	}
	err = d.with(ctx, "take the lease", func(l *link) error {
		if _, err := d.readMark(ctx, l); err != nil {
			return err
		}
		lease, err := d.askLease(ctx, l, takeScript, holder.Token, string(text), ttl.Milliseconds(), gone)
		if err == nil && lease != nil {
			err = &store.HeldError{Name: d.title(), Lease: *lease}
		}
		return err
	})
	if err == nil {
		d.taken.Set(holder)
	}
	return err
}

// RenewLease implements store.Leaser.
func (d *database) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	return d.with(ctx, "renew the lease", func(l *link) error {
		lease, err := d.askLease(ctx, l, renewScript, token, ttl.Milliseconds())
		if err == nil {
			err = lease.MayRenew(d.title(), token)
		}
		return err
	})
}

// ReleaseLease implements store.Leaser.
func (d *database) ReleaseLease(ctx context.Context, token string) error {
	return d.with(ctx, "release the lease", func(l *link) error {
		_, err := d.askLease(ctx, l, releaseScript, token)
		return err
	})
}
