package sqldb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"assay/driver/ownership"
	"assay/internal/wait"
	"assay/store"
)

// The lease is the only row of assay_lease; an empty token means nobody's. Each change is one
// conditional statement. Of concurrent changes one succeeds, and the others find the lease alive.

// leaseTries bounds the attempts to change the lease. Concurrent CREATE ... IF NOT EXISTS fails for
// one side, and some servers refuse conflicts instead of waiting.
const leaseTries = 20

// Look and Change implement ownership.Place. Change repeats after a Clash.
func (n *Namespace) Look(ctx context.Context, doing string, work func(Conn) error) error {
	return n.use(ctx, doing, work)
}

func (n *Namespace) Change(ctx context.Context, doing string, work func(Conn) error) error {
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

func (n *Namespace) microseconds(moment string) string {
	return fmt.Sprintf(n.Catalog.Microseconds, moment)
}

// ReadLease implements ownership.Place. It looks for the table first, since an error would end a
// surrounding transaction.
func (n *Namespace) ReadLease(ctx context.Context, c Conn) (lease *ownership.Row, err error) {
	_, _, leases, err := n.inspect(ctx, c)
	if err != nil || leases == 0 {
		return nil, err
	}
	query := "SELECT token, holder, " + n.microseconds("since") + ", " + n.microseconds("expires") + ", " + n.microseconds(n.Catalog.Now) + " FROM " + n.leaseTable()
	err = c.Query(ctx, query, func(row store.Row) error {
		var token, holder string
		var since, expires, now int64
		if err := row.Scan(&token, &holder, &since, &expires, &now); err != nil || token == "" {
			return err
		}
		l := store.NewLease(token, []byte(holder), time.UnixMicro(since), time.Duration(expires-now)*time.Microsecond)
		lease = &ownership.Row{Lease: *l, End: expires}
		return nil
	})
	if err != nil && n.Server.Kind(err) == NotThere { // dropped just now
		return nil, nil
	}
	return lease, err
}

// WriteLease implements ownership.Place. It deletes the row of an ended lease and keeps the table.
// Earlier versions left a row without a token.
func (n *Namespace) WriteLease(ctx context.Context, c Conn, was *ownership.Row, is *store.Lease) (done bool, err error) {
	same, before := " WHERE id = 1 AND token = $1", []store.Value{store.OfText("")}
	if was != nil {
		same += " AND " + n.microseconds("expires") + " = $2"
		before = []store.Value{store.OfText(was.Token), store.OfInt(was.End)}
	}
	changed := int64(0)
	if is == nil {
		changed, err = c.Change(ctx, "DELETE FROM "+n.leaseTable()+same, before...)
		return changed == 1, err
	}
	holder, err := json.Marshal(is.Holder)
	if err != nil {
		return false, err
	}
	if was == nil {
		if err := n.makeLeaseTable(ctx, c); err != nil {
			return false, err
		}
	}
	since := n.Catalog.Now
	if !is.Since.IsZero() {
		since = "since"
	}
	values := append(before, store.OfText(is.Token), store.OfText(string(holder)), store.OfInt(is.Remaining.Microseconds()))
	parameter := func(i int) string { return "$" + strconv.Itoa(len(before)+i) }
	changed, err = c.Change(ctx, "UPDATE "+n.leaseTable()+" SET token = "+parameter(1)+", holder = "+parameter(2)+", since = "+since+
		", expires = "+fmt.Sprintf(n.Catalog.After, parameter(3))+same, values...)
	if err != nil || changed == 1 || was != nil {
		return changed == 1, err
	}
	// Of two concurrent inserts one clashes.
	_, err = c.Change(ctx, "INSERT INTO "+n.leaseTable()+" (id, token, holder, since, expires) VALUES (1, $1, $2, "+n.Catalog.Now+", "+
		fmt.Sprintf(n.Catalog.After, "$3")+")", values[1:]...)
	return err == nil, err
}

func (n *Namespace) makeLeaseTable(ctx context.Context, c Conn) error {
	moment := n.Catalog.Moment + " NOT NULL"
	table := "CREATE TABLE IF NOT EXISTS " + n.leaseTable() + " (id SMALLINT PRIMARY KEY, token VARCHAR(100) NOT NULL, " +
		"holder TEXT NOT NULL, since " + moment + ", expires " + moment + ")" + n.SQL.Options
	work := func() error {
		if _, err := n.ReadMark(ctx, c); err != nil {
			return err
		}
		return all(ctx, c, append(slices.Clone(n.Catalog.Make), table))
	}
	if n.Catalog.Begin == "" {
		return work()
	}
	return InTransaction(ctx, c, []string{n.Catalog.Begin}, work)
}
