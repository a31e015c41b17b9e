package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/driver/sqldb"
	"assay/store"
)

type schema struct {
	*sqldb.Namespace
	config    *pgx.ConnConfig
	dialect   dialect
	told      bool   // the dialect, by the address
	address   string // printable
	isolation string // that is asked for, in SQL's words, "" for the server's default
	level     string // that is in force, in SQL's words
	pool      *pool
	servers   []addressed // each server of the address by itself
	promise   string      // of the level, of a workload whose level is judged
	reads     *reads      // nil if the workload's reads go where its writes go
	pooled    bool        // a connection pooler is in between
	behind    bool        // servers are behind where clients connect (nodesParameter)
	without   []string    // parameters of the address that have no effect
}

// Open is a store.Opener for the schema assay_WORKLOAD in the address's database. Behind a pooler,
// and with default_query_exec_mode=exec in the address, statements are not prepared.
func Open(ctx context.Context, target store.Target, of store.Schema) (store.Database, error) {
	return sqldb.Opener(openSchema)(ctx, target, of)
}

func openSchema(ctx context.Context, target store.Target, of store.Schema) (*schema, error) {
	a, err := read(target)
	if err != nil {
		return nil, err
	}
	config, named := a.config, a.dialect
	isolation, err := isolationLevel(target.Isolation, postgresql().levels)
	if err != nil {
		return nil, err
	}
	p := &schema{config: config, address: store.Redact(target.Address), isolation: isolation, told: named != "", without: a.without}
	p.Namespace = sqldb.NewNamespace("postgres", "assay_"+of.Workload, of, reserved(), p)
	p.Catalog.Advice = hints() // before the dialect is known
	switch {
	case of.Existing && config.RuntimeParams["search_path"] == pinned()["search_path"]:
		delete(config.RuntimeParams, "search_path") // the user's own finds the user's tables
	case of.Existing:
	case of.Open:
		config.RuntimeParams["search_path"] = p.Name
	}
	if p.pooled, err = findPooler(ctx, config, p.address); err == nil && p.pooled {
		config, err = behindPooler(config, a.given)
	}
	if err != nil {
		return nil, p.Operation("connect", err)
	}
	p.config, p.pool, p.servers = config, newPool(config, p.address, p.pooled), serversOf(config, p.pooled)
	if a.servers != nil {
		p.servers, p.behind = serversOf(a.servers, false), true
	}
	err = p.pool.Use(ctx, func(c conn) (err error) {
		if p.dialect, err = findDialect(ctx, c, named); err != nil {
			return err
		}
		p.SQL, p.Catalog = p.dialect.sqlOf(p.Name), p.dialect.catalogOf(p.Name)
		switch {
		case of.Existing: // names are found by the user's own search path
			p.SQL.Prefix = ""
		case p.pooled:
			p.Catalog.Use = searchPath(p.Name)
		}
		if p.level = isolation; p.level != "" {
			return nil
		}
		return sqldb.One(ctx, c, `SELECT lower(current_setting('default_transaction_isolation'))`, nil, &p.level)
	})
	if err == nil { // the dialect may have fewer levels
		_, err = isolationLevel(target.Isolation, p.dialect.levels)
	}
	if err == nil && of.Judged {
		p.isolation = p.level
		p.promise, err = promised(p.dialect, p.level)
	}
	if err != nil {
		_ = p.Close()
		return nil, p.Operation("connect", err)
	}
	if of.Reads {
		err = p.chooseReads(target)
	}
	if err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// Close closes idle connections. Whoever opened a session closes it.
func (p *schema) Close() error {
	p.pool.Close()
	for _, server := range p.servers {
		server.pool.Close()
	}
	return nil
}

func (p *schema) Use(ctx context.Context, work func(sqldb.Conn) error) error {
	return p.useOf(p.pool)(ctx, work)
}

func (p *schema) useOf(from *pool) func(context.Context, func(sqldb.Conn) error) error {
	return func(ctx context.Context, work func(sqldb.Conn) error) error {
		return from.Use(ctx, func(c conn) error { return work(c) })
	}
}

// Snapshot implements sqldb.Server by repeatable read (PostgreSQL manual). An audit is serializable
// if the transactions are, and can then fail: a snapshot alone can show a state that no serial
// order has (Fekete, O'Neil and O'Neil, "A Read-Only Transaction Anomaly Under Snapshot Isolation",
// SIGMOD Record 33/3, 2004).
func (p *schema) Snapshot(audit bool) []string {
	level := p.dialect.snapshot
	if audit && p.level == serializable {
		level = serializable
	}
	begin := []string{"BEGIN ISOLATION LEVEL " + strings.ToUpper(level) + " READ ONLY"}
	if p.pooled {
		begin = append(begin, unlimiting(true))
	}
	return begin
}

// Measure implements sqldb.Server. The server looks at its files anyway.
func (p *schema) Measure(context.Context, sqldb.Conn) error { return nil }

// Size implements store.Administration. A table's size includes free space in its files.
func (p *schema) Size(ctx context.Context) (store.Size, error) {
	size, err := p.Namespace.Size(ctx)
	if p.dialect.hintSize != "" && hasCode(err, codeInsufficientPrivilege) {
		err = fmt.Errorf("%w; %s", err, p.dialect.hintSize)
	}
	return size, err
}

// Settle waits until this database has no abandoned session of this run.
func (p *schema) Settle(ctx context.Context) error {
	if p.pooled {
		return p.Operation("settle", p.settlePooled(ctx))
	}
	return p.Operation("settle", p.pool.Use(ctx, func(c conn) error { return p.SettleOn(ctx, c, "") }))
}

// maxSessionName is PostgreSQL's limit for application_name in bytes. The longest workload's name
// and a run's id fill it.
const maxSessionName = 63

// SessionName implements sqldb.Server. The server shows it (pg_stat_activity, SHOW SESSIONS) only
// for the connections of this run's transactions.
func (p *schema) SessionName(run string) string {
	name := "assay " + p.Workload + " session " + run
	name = name[:min(len(name), maxSessionName)]
	if where := p.dialect.whereSessions; where != "" {
		name += fmt.Sprintf(where, p.config.Database)
	}
	return name
}

func (p *schema) Connect(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	if p.reads != nil {
		return p.connectApart(ctx, statements)
	}
	config := p.config
	if p.isolation != "" && (!p.Transactions || p.Open) && !p.pooled {
		config = config.Copy()
		config.RuntimeParams["default_transaction_isolation"] = p.isolation
	}
	c, err := p.connectBy(ctx, config, statements)
	if err != nil {
		return nil, err // and not a typed nil
	}
	return c, nil
}

// Replicate implements sqldb.Server. Standbys that answer reads must have the new tables.
func (p *schema) Replicate(ctx context.Context) error {
	if p.reads == nil || !p.dialect.standbys {
		return nil
	}
	return p.everywhere(ctx)
}
