package mysql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"assay/driver/sqldb"
	"assay/workload"
)

// schemaPrefix begins the name of every database that assay makes; the
// workload's name follows.
const schemaPrefix = "assay_"

// schema is one workload's database, and the way there. All that the workloads
// have in common is here; the Store of each embeds one.
type schema struct {
	*settings
	workload string // as in the mark
	name     string // the database
	hosts    []*host
	slots    chan struct{} // bounds the connections beside those of sessions
	server   server
	dialect  dialect
	engine   string // as the server spells it
	level    string // that is in force, in SQL's words

	tables []sqldb.Table
	sql    sqldb.Dialect

	taken workload.Taken
	// created is the run whose database this Store has made last; nil for none.
	created atomic.Pointer[string]

	mu       sync.Mutex
	sessions map[*session]struct{} // the sessions' connections that are open
}

// openSchema connects to the target. Its errors are those of OpenBank.
func openSchema(ctx context.Context, target workload.Target, of sqldb.Schema) (*schema, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	p := &schema{settings: s, workload: of.Workload, name: schemaPrefix + of.Workload, tables: of.Tables,
		slots: make(chan struct{}, poolSize), sessions: make(map[*session]struct{})}
	for _, name := range s.hosts {
		p.hosts = append(p.hosts, &host{name: name, settings: s, pool: new(pool)})
	}
	err = p.use(ctx, func(c *conn) (err error) {
		if p.server, err = askServer(ctx, c); err != nil {
			return err
		}
		p.dialect = dialectOf(s.dialect, p.server.version)
		if p.dialect.product != "" && strings.Contains(p.server.version, p.dialect.product) {
			p.server.name = p.dialect.product
		}
		if err := errors.Join(p.dialect.sufficient(p.server), p.dialect.admits(p.isolation)); err != nil {
			return err
		}
		if p.engine, err = chooseEngine(ctx, c, s.engine); err != nil {
			return err
		}
		p.sql = sqlOf(p.name, p.engine)
		p.level, err = p.chooseLevel()
		return err
	})
	if err != nil {
		_ = p.Close()
		return nil, operation("connect", err)
	}
	return p, nil
}

// Close closes what is not in use; a session is closed by whoever opened it.
func (p *schema) Close() error {
	for _, h := range p.hosts {
		h.pool.close()
	}
	return nil
}

// readMark returns the mark, nil if there is nothing of the name, and
// *workload.ForeignError if there is something that is not ours. A database that
// holds nothing, or nothing but an empty table for the mark, is what is left
// when creation or removal ends at the wrong moment, since statements that
// define data are no part of a transaction; it counts as nothing. So does a lease
// alone.
func (p *schema) readMark(ctx context.Context, c *conn) (*workload.Marker, error) {
	var things, tables, columns int64
	err := c.one(ctx, `SELECT
		(SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name <> 'assay_lease') +
		(SELECT count(*) FROM information_schema.routines WHERE routine_schema = ?) +
		(SELECT count(*) FROM information_schema.events WHERE event_schema = ?),
		(SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'assay_mark' AND table_type = 'BASE TABLE'),
		(SELECT count(*) FROM information_schema.columns WHERE table_schema = ? AND table_name = 'assay_mark' AND column_name = 'mark')`,
		[]any{p.name, p.name, p.name, p.name, p.name}, &things, &tables, &columns)
	if err != nil || things == 0 {
		return nil, err
	}
	foreign := &workload.ForeignError{
		Name: fmt.Sprintf("database %q", p.name),
		Hint: "move its tables to a database of another name (RENAME TABLE), or drop it if nobody needs it, or use another server",
	}
	if tables == 0 || columns == 0 {
		return nil, foreign
	}
	var rows int64
	var content string
	err = c.query(ctx, func(row []driver.Value) error {
		content = text(row[1])
		return numbers(row[:1], &rows)
	}, `SELECT count(*), min(mark) FROM `+p.name+`.assay_mark`)
	if err != nil {
		return nil, err
	}
	if rows == 0 && things == 1 {
		return nil, nil
	}
	var mark workload.Marker
	if rows != 1 || json.Unmarshal([]byte(content), &mark) != nil || mark.Workload != p.workload {
		return nil, foreign
	}
	mark.Created = mark.Created.UTC()
	return &mark, nil
}

// mustMark is readMark, with *workload.NoSchemaError if there is nothing.
func (p *schema) mustMark(ctx context.Context, c *conn) error {
	mark, err := p.readMark(ctx, c)
	if err == nil && mark == nil {
		err = p.missing()
	}
	return err
}

func (p *schema) missing() error {
	return &workload.NoSchemaError{Name: fmt.Sprintf("database %q", p.name)}
}

// find reads the mark and counts the rows of these tables together.
func (p *schema) find(ctx context.Context, tables ...string) (*workload.Leftover, error) {
	var remains *workload.Leftover
	err := p.use(ctx, func(c *conn) error {
		mark, err := p.readMark(ctx, c)
		if err != nil || mark == nil {
			return err
		}
		found := &workload.Leftover{Marker: *mark}
		for _, table := range tables {
			var n int64
			err := c.one(ctx, `SELECT count(*) FROM `+p.name+`.`+table, nil, &n)
			if err != nil && !hasCode(err, codeNoSuchTable) { // creation had not come so far
				return err
			}
			found.Rows += n
		}
		remains = found
		return nil
	})
	if err != nil {
		return nil, operation("look for an earlier run", err)
	}
	return remains, nil
}

// create makes the database. The mark comes first and goes last, so that at
// whatever moment this ends, what is there is known as ours.
func (p *schema) create(ctx context.Context, mark workload.Marker, tables []string) error {
	mark.Created = mark.Created.UTC()
	content, err := json.Marshal(mark)
	if err != nil {
		return operation("create database", err)
	}
	err = p.leaseUse(ctx, "create database", func(c *conn) error {
		if _, err := p.clearOurs(ctx, c); err != nil {
			return err
		}
		// The database may be there, empty: see readMark.
		for _, statement := range []string{
			`CREATE DATABASE IF NOT EXISTS ` + p.name + ` CHARACTER SET utf8mb4`,
			`CREATE TABLE IF NOT EXISTS ` + p.name + `.assay_mark (id TINYINT PRIMARY KEY, mark TEXT NOT NULL) ENGINE=` + p.engine +
				` COMMENT 'Made by assay, which drops the database at its next run here'`,
		} {
			if err := c.exec(ctx, statement); err != nil {
				return err
			}
		}
		if err := c.exec(ctx, `INSERT INTO `+p.name+`.assay_mark (id, mark) VALUES (1, ?)`, string(content)); err != nil {
			return err
		}
		for _, statement := range tables {
			if err := c.exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.created.Store(&mark.Run)
	return advise("create database", p.everywhere(ctx))
}

// owner is the run that this Store works for, empty if it does not know.
func (p *schema) owner() string {
	if created := p.created.Load(); created != nil {
		return *created
	}
	return p.taken.Holder().Run
}

// runOn is owner or, if that is not known, the run of the mark; known is false if
// there is none.
func (p *schema) runOn(ctx context.Context, c *conn) (run string, known bool, err error) {
	if run := p.owner(); run != "" {
		return run, true, nil
	}
	mark, err := p.readMark(ctx, c)
	if mark == nil || err != nil {
		return "", false, err
	}
	return mark.Run, true, nil
}

// setLoaded sets the mark's Loaded.
func (p *schema) setLoaded(ctx context.Context, c *conn) error {
	mark, err := p.readMark(ctx, c)
	if err != nil {
		return err
	}
	if mark == nil {
		return p.missing()
	}
	if mark.Loaded {
		return nil
	}
	mark.Loaded = true
	content, err := json.Marshal(*mark)
	if err != nil {
		return err
	}
	n, err := c.affected(ctx, `UPDATE `+p.name+`.assay_mark SET mark = ? WHERE id = 1`, string(content))
	if err == nil && n != 1 {
		err = errors.New("the mark is gone")
	}
	return err
}

// clearOurs drops all tables but the lease's, if the database carries our mark and
// no lease keeps us out. It reports whether there was a mark.
func (p *schema) clearOurs(ctx context.Context, c *conn) (marked bool, err error) {
	mark, err := p.readMark(ctx, c)
	if err != nil {
		return false, err
	}
	if err := p.admit(ctx, c); err != nil || mark == nil {
		return false, err
	}
	for _, t := range p.tables {
		if err := c.exec(ctx, `DROP TABLE IF EXISTS `+p.sql.Table(t.Name)); err != nil {
			return true, err
		}
	}
	return true, c.exec(ctx, `DROP TABLE IF EXISTS `+p.name+`.assay_mark`)
}

// Drop removes the database, with the lease, if it carries our mark or holds
// nothing but a lease.
func (p *schema) Drop(ctx context.Context) error {
	return p.leaseUse(ctx, "drop database", func(c *conn) error {
		marked, err := p.clearOurs(ctx, c)
		if err != nil {
			return err
		}
		leased, err := p.leaseThere(ctx, c)
		if err != nil || !leased && !marked {
			return err
		}
		if err := c.exec(ctx, `DROP TABLE IF EXISTS `+p.leaseTable()); err != nil {
			return err
		}
		return c.exec(ctx, `DROP DATABASE IF EXISTS `+p.name)
	})
}

// Marker reads the mark.
func (p *schema) Marker(ctx context.Context) (mark *workload.Marker, err error) {
	err = p.use(ctx, func(c *conn) error {
		mark, err = p.readMark(ctx, c)
		return err
	})
	return mark, operation("look for an earlier run", err)
}

// leaseThere reports whether there is a table for the lease.
func (p *schema) leaseThere(ctx context.Context, c *conn) (bool, error) {
	var n int64
	err := c.one(ctx, `SELECT count(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'assay_lease'`, []any{p.name}, &n)
	return n > 0, err
}

// Size asks the server what the tables take on disk. It knows that from its
// statistics, which are refreshed first, on this server alone; MySQL keeps even
// what it has told for a day, unless it is told not to.
func (p *schema) Size(ctx context.Context) (workload.Size, error) {
	size := workload.Size{Rows: make(map[string]int64)}
	err := p.use(ctx, func(c *conn) error {
		if err := p.mustMark(ctx, c); err != nil {
			return err
		}
		if err := c.exec(ctx, `SET SESSION information_schema_stats_expiry = 0`); err != nil && !hasCode(err, codeUnknownVariable) {
			return err
		}
		if p.engine == rocksdb {
			// What is in memory only is not counted. Not every user may do this.
			if err := c.exec(ctx, `SET GLOBAL rocksdb_force_flush_memtable_now = 1`); err != nil && !hasCode(err, codePrivilege) {
				return err
			}
		}
		for _, t := range p.tables {
			if err := c.exec(ctx, `ANALYZE NO_WRITE_TO_BINLOG TABLE `+p.sql.Table(t.Name)); err != nil {
				return err
			}
			var onDisk, indexes, rows int64
			err := c.one(ctx, `SELECT coalesce(data_length, 0), coalesce(index_length, 0) FROM information_schema.tables
				WHERE table_schema = ? AND table_name = ?`, []any{p.name, t.Name}, &onDisk, &indexes)
			if err == nil {
				err = c.one(ctx, `SELECT count(*) FROM `+p.sql.Table(t.Name), nil, &rows)
			}
			if err != nil {
				return err
			}
			size.Tables += onDisk
			size.Indexes += indexes
			size.Rows[t.Name] = rows
		}
		size.Bytes = size.Tables + size.Indexes
		return nil
	})
	if err != nil {
		return workload.Size{}, operation("size", err)
	}
	return size, nil
}

// view has read look at a database that carries our mark, on this host or, with
// nil, one that takes writes, in one read-only transaction that sees one
// snapshot (MySQL manual, "Consistent Nonlocking Reads"; MyRocks takes one at
// this level only). A Galera node first applies what the cluster has committed
// until now (wsrep_sync_wait).
func (p *schema) view(ctx context.Context, from *host, read func(*conn) error) error {
	work := func(c *conn) error {
		before := `SET SESSION net_write_timeout = 3600; SET TRANSACTION ISOLATION LEVEL ` + repeatableRead
		if c.look.galera {
			before = `SET SESSION wsrep_sync_wait = 1; ` + before
		}
		if err := c.exec(ctx, before); err != nil {
			return err
		}
		return c.inTransaction(ctx, p.dialect.snapshot, func() error {
			if err := p.mustMark(ctx, c); err != nil {
				return err
			}
			return read(c)
		})
	}
	var err error
	if from == nil {
		err = p.use(ctx, work)
	} else {
		err = p.useHost(ctx, from, work)
	}
	return operation("read", err)
}
