package mysql

import (
	"context"
	"strings"
	"sync/atomic"

	"assay/driver/sqldb"
	"assay/store"
)

const schemaPrefix = "assay_"

type schema struct {
	*settings
	*sqldb.Namespace
	hosts      []*host
	server     server
	dialect    dialect
	engine     string // as the server spells it
	level      string // that is in force, in SQL's words
	readsApart bool
	// asked is true once a session's transaction was asked for its level.
	asked atomic.Bool
	drawn atomic.Uint64
	// inserts is true after LOAD DATA has failed.
	inserts atomic.Bool
}

// defaultEngine is the variable with the engine of tables that name none.
const defaultEngine = "default_storage_engine"

// Open is a store.Opener for the database assay_WORKLOAD.
//
// The address is mysql://USER:PASSWORD@HOST:PORT,HOST:PORT/?OPTION=VALUE. The first host that
// answers and takes writes is used; with balance=random each session begins at another host.
// engine=NAME chooses the tables' storage engine, statements=together or apart how a batch is sent
// (see Batch). ssl-mode, ssl-ca, ssl-cert and ssl-key encrypt (see readEncryption). All other
// options are session variables.
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

// Close closes idle connections. Whoever opened a session closes it.
func (p *schema) Close() error {
	for _, h := range p.hosts {
		h.pool.Close()
	}
	return nil
}

// Measure implements sqldb.Server by a refresh of this server's statistics. MySQL would repeat old
// sizes for a day unless told otherwise.
func (p *schema) Measure(ctx context.Context, c sqldb.Conn) error {
	if _, err := c.Change(ctx, `SET SESSION information_schema_stats_expiry = 0`); err != nil && !hasCode(err, codeUnknownVariable) {
		return err
	}
	if p.engine == rocksdb {
		// Memory is not counted without a flush, for which a user may lack the privilege.
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

// Snapshot implements sqldb.Server by a read-only transaction on one snapshot (MySQL manual,
// "Consistent Nonlocking Reads"; in MyRocks at this level only). The snapshot is a state between
// two commits for serializable transfers too, since InnoDB serializes them by locks: in their order
// of commit they could have run one by one.
//
// An audit is judged by all earlier acknowledgements, on any node. A Galera node only promises to
// show them with wsrep_sync_wait, so audits set it, unless the address does.
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

func (p *schema) waitsInAudits() bool { return p.server.galera && p.given("wsrep_sync_wait") == "" }
