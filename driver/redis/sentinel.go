package redis

import (
	"context"
	"errors"
	"fmt"
	"net"

	"assay/driver/encryption"
	"assay/driver/replicas"
	"assay/store"
)

// primary is the primary's address by the Sentinel that answers first
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
	return askSentinels(ctx, d, func(ctx context.Context, l *link) (string, error) {
		named := newCommand("sentinel", "get-master-addr-by-name", d.service)
		if err := l.one(ctx, named); err != nil {
			return "", err
		}
		parts, err := named.texts()
		switch {
		case errors.Is(err, errNone):
			return "", &store.OptionError{Option: "address", Value: d.service, Want: "the name by which the Sentinels know the primary"}
		case err != nil:
			return "", err
		case len(parts) != 2:
			return "", fmt.Errorf("a Sentinel names the primary by %d words, not by a host and a port", len(parts))
		}
		return net.JoinHostPort(parts[0], parts[1]), nil
	})
}

// askSentinels is the answer of one of those that answered first.
func askSentinels[A any](ctx context.Context, d *database, ask func(context.Context, *link) (A, error)) (answer A, err error) {
	answers, failures := replicas.AskPrompt(ctx, 0, d.hosts, func(ctx context.Context, host string) (*A, error) {
		answer, err := askSentinel(ctx, d, host, ask)
		if err != nil {
			return nil, fmt.Errorf("ask Sentinel %s: %w", host, err)
		}
		return &answer, nil
	})
	for _, a := range answers {
		if a != nil {
			return *a, nil
		}
	}
	if over := ctx.Err(); over != nil {
		return answer, over
	}
	return answer, errors.Join(failures...)
}

// askSentinel uses no password: the address's is for the servers.
func askSentinel[A any](ctx context.Context, d *database, host string, ask func(context.Context, *link) (A, error)) (answer A, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*d.timeout)
	defer cancel()
	l, err := d.dialAs(ctx, host, "", "", 0)
	if code := codeOf(err); code == codeNoAuth || code == codeNoPerm { // it is not the servers' password that is wrong
		err = fmt.Errorf("it answers nobody without a password (%s), and assay asks Sentinels without one", code)
	}
	if err != nil {
		return answer, err
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
