package sqldb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"assay/driver/ownership"
	"assay/store"
)

// Namespace is one workload's schema on a database server: its tables, assay_mark and assay_lease.
// A protocol's schema embeds it. It implements store.Administration except Describe, Settle and
// Close, and store.Database except Load, Promises and Levels.
type Namespace struct {
	Product string
	// Schema has this server's names, of the contract's.
	store.Schema
	of store.Schema
	// Name is the schema's name on the server.
	Name    string
	SQL     Dialect
	Catalog Catalog
	// Server is the protocol.
	Server   Server
	Sessions Sessions

	// home is the schema of existing tables (Schema.Existing).
	home string
	*owned
	// created is the run whose schema this Database made last, or nil.
	created atomic.Pointer[string]
}

type owned = ownership.Schema[Conn]

var errRows = errors.New("one row was asked for, and others came")

// NewNamespace makes a Namespace for a schema of the contract.
func NewNamespace(product, name string, of store.Schema, reserved map[string]string, server Server) *Namespace {
	if of.Existing {
		reserved = nil
	}
	n := &Namespace{Product: product, Schema: renamed(of, reserved), of: of, Name: name, Server: server}
	n.owned = ownership.New(n, of)
	return n
}

func (n *Namespace) Lacks() store.Lacks { return Lacks() }

func (n *Namespace) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	return SessionOn(ctx, &n.SQL, &n.of, statements, n.Server.Connect)
}

// Operation wraps an error, if any, with the name of the operation and with advice.
func (n *Namespace) Operation(name string, err error) error {
	if err == nil {
		return nil
	}
	if advice := n.Catalog.Advice[n.Server.Kind(err)]; advice != "" {
		err = fmt.Errorf("%w; %s", err, advice)
	}
	return fmt.Errorf("%s: %s: %w", n.Product, name, err)
}

func (n *Namespace) use(ctx context.Context, doing string, work func(Conn) error) error {
	err := n.Server.Use(ctx, work)
	if err != nil && n.Catalog.Owner != "" && n.Server.Kind(err) == NotAllowed {
		if owner, user := n.owner(ctx); owner != "" {
			return fmt.Errorf("%s: %s: %w; %s", n.Product, doing, err, n.Catalog.OwnerAdvice(n.Name, owner, user))
		}
	}
	return n.Operation(doing, err)
}

// owner returns the schema's owner and this user, or nothing if this user owns the schema or the
// server does not tell.
func (n *Namespace) owner(ctx context.Context) (owner, user string) {
	err := n.Server.Use(ctx, func(c Conn) error {
		return One(ctx, c, n.Catalog.Owner, []store.Value{store.OfText(n.Name)}, &owner, &user)
	})
	if err != nil {
		return "", ""
	}
	return owner, user
}

// change is use with one transaction around work, if schemas can change in one.
func (n *Namespace) change(ctx context.Context, doing string, work func(Conn) error) error {
	return n.use(ctx, doing, func(c Conn) error { return n.inOne(ctx, c, work) })
}

func (n *Namespace) inOne(ctx context.Context, c Conn, work func(Conn) error) error {
	if n.Catalog.stepwise() {
		return work(c)
	}
	return InTransaction(ctx, c, []string{n.Catalog.Begin}, func() error { return work(c) })
}

func (n *Namespace) table(name string) string { return n.SQL.Table(name) }

// Title implements ownership.Place.
func (n *Namespace) Title() string { return fmt.Sprintf("%s %q", n.Catalog.Noun, n.Name) }

func (n *Namespace) inspect(ctx context.Context, c Conn) (things, marks, leases int64, err error) {
	err = One(ctx, c, n.Catalog.Inspect, []store.Value{store.OfText(n.Name)}, &things, &marks, &leases)
	return things, marks, leases, err
}

// mark is the stored marker. Made names the objects of a user's setup.
type mark struct {
	store.Marker
	Made []string `json:"made,omitempty"`
}

// ReadMark implements ownership.Place.
func (n *Namespace) ReadMark(ctx context.Context, c Conn) (*store.Marker, error) {
	m, err := n.readMark(ctx, c)
	if err != nil || m == nil {
		return nil, err
	}
	return &m.Marker, nil
}

// readMark returns nil if there is nothing or only a lease, and *store.ForeignError if there is
// something without a mark. An empty table for the mark alone counts as nothing: it is left when a
// stepwise change ends too early.
func (n *Namespace) readMark(ctx context.Context, c Conn) (*mark, error) {
	things, marks, _, err := n.inspect(ctx, c)
	if err != nil || things == 0 {
		return nil, err
	}
	foreign := &store.ForeignError{Name: n.Title(), Hint: n.Catalog.Foreign}
	if marks == 0 {
		return nil, foreign
	}
	var rows int64
	var content string
	query := "SELECT count(*), coalesce(min(" + n.Catalog.ReadMark + "), '') FROM " + n.table("assay_mark")
	if err := One(ctx, c, query, nil, &rows, &content); err != nil {
		return nil, err
	}
	if rows == 0 && things == 1 && n.Catalog.stepwise() {
		return nil, nil
	}
	var m mark
	if rows != 1 || json.Unmarshal([]byte(content), &m) != nil || m.Workload != n.Workload {
		return nil, foreign
	}
	m.Created = m.Created.UTC()
	return &m, nil
}

// Rows implements ownership.Place. It counts the rows of the loaded tables.
func (n *Namespace) Rows(ctx context.Context, c Conn) (rows int64, err error) {
	counted := Counted(n.Schema.Tables)
	if n.Open {
		if counted, err = n.found(ctx, c); err != nil {
			return 0, err
		}
	}
	for _, table := range counted {
		var found int64
		err := One(ctx, c, "SELECT count(*) FROM "+n.table(table), nil, &found)
		if err != nil && n.Server.Kind(err) != NotThere { // creation had not come so far
			return 0, err
		}
		rows += found
	}
	return rows, nil
}

func (n *Namespace) Create(ctx context.Context, mark store.Marker) error {
	return n.CreateBy(ctx, mark, &n.SQL)
}

// CreateBy is Create with a Dialect of its own for the tables. In one transaction, if possible, the
// schema appears with its mark. Otherwise the mark is made first and dropped last, so that an
// incomplete schema is known as assay's.
func (n *Namespace) CreateBy(ctx context.Context, mark store.Marker, sql *Dialect) error {
	doing := "create " + n.Catalog.Noun
	mark.Created = mark.Created.UTC()
	content, err := json.Marshal(mark)
	if err != nil {
		return n.Operation(doing, err)
	}
	err = n.change(ctx, doing, func(c Conn) error {
		if _, err := n.clear(ctx, c); err != nil {
			return err
		}
		if err := all(ctx, c, slices.Concat(n.Catalog.Make, n.Catalog.Mark)); err != nil {
			return err
		}
		if _, err := c.Change(ctx, n.Catalog.InsertMark, store.OfText(string(content))); err != nil {
			return err
		}
		if err := all(ctx, c, sql.Create(n.Schema.Tables)); err != nil {
			return err
		}
		return n.trial(ctx, c)
	})
	if err != nil {
		return err
	}
	n.created.Store(&mark.Run)
	return n.Operation(doing, n.Server.Replicate(ctx))
}

// clear drops our tables except the lease's, the mark's last, if there is a mark. It first checks
// lease and others. It reports whether there was a mark.
func (n *Namespace) clear(ctx context.Context, c Conn) (marked bool, err error) {
	mark, err := n.Admit(ctx, c)
	if err != nil || mark == nil {
		return false, err
	}
	if n.Open {
		if err := n.dropMade(ctx, c); err != nil {
			return true, err
		}
	}
	for _, t := range n.Schema.Tables {
		if err := n.dropTable(ctx, c, t.Name); err != nil {
			return true, err
		}
	}
	return true, n.dropTable(ctx, c, "assay_mark")
}

// dropTable drops a table and nothing that depends on it.
func (n *Namespace) dropTable(ctx context.Context, c Conn, name string) error {
	_, err := c.Change(ctx, "DROP TABLE IF EXISTS "+n.table(name))
	return n.inUse(err)
}

// Drop implements store.Administration. It drops tables by name, and then the empty schema.
func (n *Namespace) Drop(ctx context.Context) error {
	return n.change(ctx, "drop "+n.Catalog.Noun, func(c Conn) error {
		marked, err := n.clear(ctx, c)
		if err != nil {
			return err
		}
		_, _, leases, err := n.inspect(ctx, c)
		if err != nil || leases == 0 && !marked {
			return err
		}
		if err := n.dropTable(ctx, c, "assay_lease"); err != nil {
			return err
		}
		return n.inUse(all(ctx, c, n.Catalog.Drop))
	})
}

// FinishLoad implements store.Database. It does work that the server would otherwise do during the
// run.
func (n *Namespace) FinishLoad(ctx context.Context) error {
	const doing = "finish loading"
	err := n.use(ctx, doing, func(c Conn) error {
		err := n.inOne(ctx, c, func(c Conn) error {
			if err := all(ctx, c, n.SQL.Late(n.Schema.Tables)); err != nil {
				return err
			}
			return n.SetLoaded(ctx, c)
		})
		for _, t := range n.Schema.Tables {
			if err == nil && t.Loaded {
				_, err = c.Change(ctx, n.Catalog.Refresh+" "+n.table(t.Name))
			}
		}
		if err == nil && n.Open {
			err = n.refreshFound(ctx, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	return n.Operation(doing, n.Server.Replicate(ctx))
}

// WriteMark implements ownership.Place. It also records what a user's setup made.
func (n *Namespace) WriteMark(ctx context.Context, c Conn, of store.Marker) error {
	m := mark{Marker: of}
	if n.Open {
		found, err := n.objects(ctx, c)
		if err != nil {
			return err
		}
		for _, o := range found {
			m.Made = append(m.Made, o.String())
		}
	}
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = c.Change(ctx, n.Catalog.UpdateMark, store.OfText(string(content)))
	return err
}

func (n *Namespace) Size(ctx context.Context) (store.Size, error) {
	size := store.Size{Rows: make(map[string]int64)}
	err := n.use(ctx, "size", func(c Conn) (err error) {
		if _, err := n.MustMark(ctx, c); err != nil {
			return err
		}
		if err := n.Server.Measure(ctx, c); err != nil {
			return err
		}
		var names []string
		for _, t := range n.Schema.Tables {
			names = append(names, t.Name)
		}
		if n.Open {
			if names, err = n.found(ctx, c); err != nil {
				return err
			}
		}
		for _, name := range names {
			var table, indexes, rows int64
			err := One(ctx, c, fmt.Sprintf(n.Catalog.Size, n.Name, name), nil, &table, &indexes, &rows)
			if err != nil && n.Server.Kind(err) != NotThere { // somebody dropped it
				return err
			}
			size.Tables += table
			size.Indexes += indexes
			size.Rows[name] = rows
		}
		return nil
	})
	if err != nil {
		return store.Size{}, err
	}
	size.Bytes = size.Tables + size.Indexes
	return size, nil
}
