package mysql

import (
	"context"
	"strings"
	"sync/atomic"

	"assay/driver/sqldb"
	"assay/store"
)

// schemaPrefix begins the name of every database that assay makes; the
// workload's name follows.
const schemaPrefix = "assay_"

// schema is one workload's database, and the way there. It is a store.Database.
type schema struct {
	*settings
	*sqldb.Namespace
	hosts   []*host
	server  server
	dialect dialect
	engine  string // as the server spells it
	level   string // that is in force, in SQL's words
	// readsApart is true if reads go to another host than inserts.
	readsApart bool
	// asked is true once a transaction of a session was asked at which level it runs.
	asked atomic.Bool
	// drawn is how often a host was drawn by chance.
	drawn atomic.Uint64
	// inserts is true when rows could not be loaded by LOAD DATA.
	inserts atomic.Bool
}

// defaultEngine is the variable that says how a table is stored whose statement does not.
const defaultEngine = "default_storage_engine"

// Open is a store.Opener. It opens a workload in the database assay_ and its name.
//
// The address is mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/?OPTION=VALUE. Of
// several hosts the first that answers and takes writes is used; with
// balance=random each session begins at another one. engine=NAME chooses the
// storage engine of the tables, statements=together or apart how a transfer is
// sent (see Batch), ssl-mode, ssl-ca, ssl-cert and ssl-key encrypt (see
// readEncryption), and all other options are session variables of the server.
func Open(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
	return sqldb.Opener(openSchema)(ctx, target, of)
}

func openSchema(ctx context.Context, target store.Target, of store.Schema) (*schema, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	p := &schema{settings: s}
	p.Namespace = sqldb.NewNamespace("mysql", schemaPrefix+of.Workload, of, reserved(), p)
	for _, name := range s.hosts {
		p.hosts = append(p.hosts, newHost(name, s))
	}
	if of.Reads {
		if err := p.chooseReads(target.Read, of.Judged); err != nil {
			return nil, err
		}
	}
	err = p.use(ctx, func(c *conn) (err error) {
		if p.server, err = askServer(ctx, c); err != nil {
			return err
		}
		p.dialect = dialectOf(s.dialect, p.server.version)
		if p.dialect.product != "" && strings.Contains(p.server.version, p.dialect.product) {
			p.server.name = p.dialect.product
		}
		if err := p.dialect.sufficient(p.server); err != nil {
			return err
		}
		if p.engine, err = chooseEngine(ctx, c, s.engine); err != nil {
			return err
		}
		p.SQL, p.Catalog = sqlOf(p.Name, p.engine), catalogOf(p.Name, p.engine, p.dialect)
		if of.Existing {
			p.SQL.Prefix = ""
		}
		p.level, err = p.chooseLevel()
		return err
	})
	if err != nil {
		_ = p.Close()
		return nil, p.Operation("connect", err)
	}
	if of.Judged {
		s.isolation = p.level // of the connections to come
	}
	if of.Open && s.given(defaultEngine) == "" { // statements of a user's that name no engine mean this one
		s.variables = append(s.variables, variable{defaultEngine, p.engine})
	}
	return p, nil
}

// Close closes what is not in use; a session is closed by whoever opened it.
func (p *schema) Close() error {
	for _, h := range p.hosts {
		h.pool.Close()
	}
	return nil
}

// Measure implements sqldb.Server. The server knows sizes from its statistics, which
// are refreshed, on this server alone; MySQL keeps even what it has told for a day,
// unless it is told not to.
func (p *schema) Measure(ctx context.Context, c sqldb.Conn) error {
	if _, err := c.Change(ctx, `SET SESSION information_schema_stats_expiry = 0`); err != nil && !hasCode(err, codeUnknownVariable) {
		return err
	}
	if p.engine == rocksdb {
		// What is in memory only is not counted. Not every user may do this.
		if _, err := c.Change(ctx, `SET GLOBAL rocksdb_force_flush_memtable_now = 1`); err != nil && !hasCode(err, codePrivilege) {
			return err
		}
	}
	for _, t := range p.Tables {
		if _, err := c.Change(ctx, p.Catalog.Refresh+" "+p.SQL.Table(t.Name)); err != nil {
			return err
		}
	}
	return nil
}

// Snapshot implements sqldb.Server: one read-only transaction that sees one snapshot
// (MySQL manual, "Consistent Nonlocking Reads"; MyRocks takes one at this level
// only). That is a state between two commits also where transfers are serializable,
// which InnoDB does by locks: they commit in an order in which they could have run
// one by one.
//
// A Galera node first applies what the cluster has committed until now
// (wsrep_sync_wait). An audit is judged by what was acknowledged before it, on any
// node; a node promises to show that only where it is asked to, so it is asked,
// unless the address says something else.
func (p *schema) Snapshot(audit bool) []string {
	begin := []string{`SET SESSION net_write_timeout = 3600; SET TRANSACTION ISOLATION LEVEL ` + repeatableRead, p.dialect.snapshot}
	if !p.server.galera {
		return begin
	}
	wait := `SET SESSION wsrep_sync_wait = 1`
	if given := p.given("wsrep_sync_wait"); audit && given != "" {
		wait = `SET SESSION wsrep_sync_wait = ` + given
	}
	return append([]string{wait}, begin...)
}

// waitsInAudits reports whether audits are to wait until their node has applied
// what the cluster has committed.
func (p *schema) waitsInAudits() bool { return p.server.galera && p.given("wsrep_sync_wait") == "" }
