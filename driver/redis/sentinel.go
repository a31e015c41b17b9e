package redis

import (
	"context"
	"errors"
	"fmt"
	"net"

	"assay/driver/encryption"
	"assay/store"
)

// primary is the primary's address by the Sentinels, asked in turn from the one that answered last
// (manual, "Guidelines for Redis clients with support for Redis Sentinel"). The server itself is
// asked for its role at connecting. Sentinels are asked each time, since a new connection often
// follows a failover.
func (d *database) primary(ctx context.Context) (string, error) {
	switch {
	case d.sharded:
		return d.owner(ctx)
	case d.service == "":
		return d.hosts[0], nil
	}
	var address string
	err := d.askSentinels(ctx, func(ctx context.Context, l *link) error {
		named := newCommand("sentinel", "get-master-addr-by-name", d.service)
		if err := l.one(ctx, named); err != nil {
			return err
		}
		parts, err := named.texts()
		switch {
		case errors.Is(err, errNone):
			return &store.OptionError{Option: "address", Value: d.service, Want: "the name by which the Sentinels know the primary"}
		case err != nil:
			return err
		case len(parts) != 2:
			return fmt.Errorf("a Sentinel names the primary by %d words, not by a host and a port", len(parts))
		}
		address = net.JoinHostPort(parts[0], parts[1])
		return nil
	})
	return address, err
}

func (d *database) askSentinels(ctx context.Context, ask func(context.Context, *link) error) error {
	first := int(d.answering.Load())
	var failures []error
	for n := range d.hosts {
		i := (first + n) % len(d.hosts)
		err := d.askSentinel(ctx, d.hosts[i], ask)
		if err == nil {
			d.answering.Store(int32(i))
			return nil
		}
		failures = append(failures, fmt.Errorf("ask Sentinel %s: %w", d.hosts[i], err))
		if over := ctx.Err(); over != nil {
			return over
		}
	}
	return errors.Join(failures...)
}

// askSentinel uses no password: the address's is for the servers. A slow Sentinel is left for the
// next.
func (d *database) askSentinel(ctx context.Context, host string, ask func(context.Context, *link) error) error {
	short := *d.settings
	short.timeout = min(short.timeout, sentinelBound)
	ctx, cancel := context.WithTimeout(ctx, 2*short.timeout)
	defer cancel()
	l, err := short.dialAs(ctx, host, "", "", 0)
	if code := codeOf(err); code == codeNoAuth || code == codeNoPerm { // it is not the servers' password that is wrong
		err = fmt.Errorf("it answers nobody without a password (%s), and assay asks Sentinels without one", code)
	}
	if err != nil {
		return err
	}
	defer l.close()
	return ask(ctx, l)
}

func (d *database) explained(err error) error {
	if d.encryption != nil {
		if text, is := encryption.Reason(err, encryption.TakenAdvice(schemePlain+"://")); is {
			return errors.New(text)
		}
	}
	return err
}
