package sqldb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/wait"
	"assay/store"
)

// The lease is the only row of the table assay_lease, of nobody if its token is
// empty. Each statement that changes it is a transaction of its own that the row
// itself must allow: of several that come at the same time one changes it, and the
// others then find it alive.

// leaseTries bounds how often a change of the lease is tried that met another one's:
// CREATE ... IF NOT EXISTS of two at the same time fails for one of them, and some
// servers refuse conflicts instead of waiting.
const leaseTries = 20

// leaseUse is use, again if it met another's change.
func (n *Namespace) leaseUse(ctx context.Context, doing string, work func(Conn) error) error {
	return n.use(ctx, doing, func(c Conn) error {
		for try := 1; ; try++ {
			err := work(c)
			if kind := n.Server.Kind(err); err == nil || kind != Clash && kind != NotThere || try == leaseTries {
				return err
			}
			if over := wait.Pause(ctx, time.Duration(try)*5*time.Millisecond); over != nil {
				return over
			}
		}
	})
}

func (n *Namespace) leaseTable() string { return n.table("assay_lease") }

// later is the server's clock and as many microseconds as this parameter says.
func (n *Namespace) later(parameter string) string {
	return fmt.Sprintf(n.Catalog.After, parameter)
}

func microseconds(d time.Duration) store.Value { return store.OfInt(d.Microseconds()) }

// readLease returns the lease, nil if there is none. It looks for the table first,
// for an error would end the transaction that it may be in.
func (n *Namespace) readLease(ctx context.Context, c Conn) (lease *store.Lease, err error) {
	_, _, leases, err := n.inspect(ctx, c)
	if err != nil || leases == 0 {
		return nil, err
	}
	moment := strings.NewReplacer("SINCE", fmt.Sprintf(n.Catalog.Microseconds, "since"),
		"EXPIRES", fmt.Sprintf(n.Catalog.Microseconds, "expires"), "NOW", fmt.Sprintf(n.Catalog.Microseconds, n.Catalog.Now))
	query := moment.Replace("SELECT token, holder, SINCE, EXPIRES - NOW FROM ") + n.leaseTable()
	err = c.Query(ctx, query, func(row store.Row) error {
		var token, holder string
		var since, remaining int64
		if err := row.Scan(&token, &holder, &since, &remaining); err != nil || token == "" {
			return err
		}
		lease = store.NewLease(token, []byte(holder), time.UnixMicro(since), time.Duration(remaining)*time.Microsecond)
		return nil
	})
	if err != nil && n.Server.Kind(err) == NotThere { // dropped just now
		return nil, nil
	}
	return lease, err
}

// admit gives *store.HeldError if another holds the lease.
func (n *Namespace) admit(ctx context.Context, c Conn) error {
	lease, err := n.readLease(ctx, c)
	if err != nil {
		return err
	}
	return lease.Admit(n.title(), n.taken.Holder().Token)
}

func (n *Namespace) Lease(ctx context.Context) (lease *store.Lease, err error) {
	err = n.use(ctx, "look for a lease", func(c Conn) (err error) {
		lease, err = n.readLease(ctx, c)
		return err
	})
	return lease, err
}

func (n *Namespace) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	content, err := json.Marshal(holder)
	if err != nil {
		return n.Operation("take the lease", err)
	}
	parameters := []store.Value{store.OfText(holder.Token), store.OfText(string(content)), microseconds(ttl), store.OfText(gone)}
	err = n.leaseUse(ctx, "take the lease", func(c Conn) error {
		if err := n.makeLeaseTable(ctx, c); err != nil {
			return err
		}
		changed, err := c.Change(ctx, "UPDATE "+n.leaseTable()+" SET token = $1, holder = $2, since = "+n.Catalog.Now+", expires = "+n.later("$3")+
			" WHERE id = 1 AND (expires <= "+n.Catalog.Now+" OR token = $1 OR token = $4)", parameters...)
		if err != nil || changed == 1 {
			return err
		}
		lease, err := n.readLease(ctx, c)
		if err != nil {
			return err
		}
		if lease != nil {
			return &store.HeldError{Name: n.title(), Lease: *lease}
		}
		_, err = c.Change(ctx, "INSERT INTO "+n.leaseTable()+" (id, token, holder, since, expires) VALUES (1, $1, $2, "+n.Catalog.Now+", "+n.later("$3")+")",
			parameters[:3]...)
		return err
	})
	if err == nil {
		n.taken.Set(holder)
	}
	return err
}

// makeLeaseTable makes the schema and the table where they are missing.
func (n *Namespace) makeLeaseTable(ctx context.Context, c Conn) error {
	moment := n.Catalog.Moment + " NOT NULL"
	table := "CREATE TABLE IF NOT EXISTS " + n.leaseTable() + " (id SMALLINT PRIMARY KEY, token VARCHAR(100) NOT NULL, " +
		"holder TEXT NOT NULL, since " + moment + ", expires " + moment + ")" + n.SQL.Options
	work := func() error {
		if _, err := n.marker(ctx, c); err != nil {
			return err
		}
		return all(ctx, c, append(slices.Clone(n.Catalog.Make), table))
	}
	if n.Catalog.Begin == "" {
		return work()
	}
	return InTransaction(ctx, c, []string{n.Catalog.Begin}, work)
}

func (n *Namespace) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	return n.leaseUse(ctx, "renew the lease", func(c Conn) error {
		_, _, leases, err := n.inspect(ctx, c)
		if err != nil {
			return err
		}
		if leases == 0 {
			return n.Missing()
		}
		changed, err := c.Change(ctx, "UPDATE "+n.leaseTable()+" SET expires = "+n.later("$2")+" WHERE token = $1", store.OfText(token), microseconds(ttl))
		if err != nil || changed == 1 {
			return err
		}
		lease, err := n.readLease(ctx, c)
		if err != nil {
			return err
		}
		return lease.MayRenew(n.title(), token)
	})
}

// ReleaseLease implements store.Administration: it deletes the row. The table stays, for
// whoever comes next.
func (n *Namespace) ReleaseLease(ctx context.Context, token string) error {
	return n.leaseUse(ctx, "release the lease", func(c Conn) error {
		_, _, leases, err := n.inspect(ctx, c)
		if err != nil || leases == 0 {
			return err
		}
		_, err = c.Change(ctx, "DELETE FROM "+n.leaseTable()+" WHERE token = $1", store.OfText(token))
		return err
	})
}
