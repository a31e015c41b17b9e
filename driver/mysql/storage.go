package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"time"

	"assay/driver/sqldb"
	"assay/store"
)

// FileSize implements store.Database: the tables' size with free space (DATA_FREE; MySQL manual,
// "The INFORMATION_SCHEMA TABLES Table").
func (p *schema) FileSize(ctx context.Context) (store.Size, error) {
	size, err := p.Size(ctx)
	if err != nil {
		return size, err
	}
	var free int64
	err = p.use(ctx, func(c *conn) error {
		return sqldb.One(ctx, c, `SELECT coalesce(sum(data_free), 0) FROM information_schema.tables
			WHERE table_schema = $1 AND table_name NOT IN ('assay_mark', 'assay_lease')`, []store.Value{store.OfText(p.Name)}, &free)
	})
	if err != nil {
		return store.Size{}, p.Operation("size", err)
	}
	size.Tables += free
	size.Bytes += free
	return size, nil
}

func (p *schema) Compactions() ([]string, error) {
	if !p.dialect.optimizes {
		return nil, &store.OptionError{Option: dialectOption, Value: p.dialect.name,
			Want: dialects()[0].name + "; others give space back by themselves, and have no OPTIMIZE TABLE"}
	}
	return []string{"OPTIMIZE TABLE"}, nil
}

// Compact implements store.Database. OPTIMIZE TABLE reports errors as rows (MySQL manual).
func (p *schema) Compact(ctx context.Context, _ string) error {
	return p.Operation("optimize", p.use(ctx, func(c *conn) error {
		for _, t := range p.Tables {
			var wrong error
			err := c.values(ctx, func(row []driver.Value) error {
				if len(row) == 4 && strings.EqualFold(sqldb.TextOf(row[2]), "error") {
					wrong = errors.New(sqldb.TextOf(row[3]))
				}
				return nil
			}, `OPTIMIZE NO_WRITE_TO_BINLOG TABLE `+p.SQL.Table(t.Name))
			if err == nil {
				err = wrong
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// waitStatus are the engines' status variables about waits for locks (MySQL manual, "Server Status
// Variables"; MariaDB documentation, "InnoDB Status Variables", "MyRocks Status Variables"). Row
// lock times are in milliseconds.
func waitStatus() []store.Wait {
	return []store.Wait{
		{Name: "Innodb_row_lock_waits", Unit: store.Occasions},
		{Name: "Innodb_row_lock_time", Unit: store.Time},
		{Name: "Innodb_row_lock_current_waits", Unit: store.Gauge},
		{Name: "Innodb_deadlocks", Unit: store.Occasions},
		{Name: "Innodb_log_waits", Unit: store.Occasions},
		{Name: "Innodb_buffer_pool_wait_free", Unit: store.Occasions},
		{Name: "Rocksdb_row_lock_deadlocks", Unit: store.Occasions},
		{Name: "Rocksdb_row_lock_wait_timeouts", Unit: store.Occasions},
		{Name: "Threads_running", Unit: store.Gauge},
	}
}

// Waits implements store.Database for the table's engine, on the whole server.
func (p *schema) Waits(ctx context.Context) ([]store.Wait, error) {
	status := map[string]string{}
	err := p.use(ctx, func(c *conn) error {
		pairs, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name LIKE 'innodb%wait%' OR Variable_name LIKE 'innodb%lock%'
			OR Variable_name LIKE 'rocksdb_row_lock%' OR Variable_name = 'threads_running'`)
		for name, value := range pairs {
			status[strings.ToLower(name)] = value
		}
		return err
	})
	if err != nil {
		return nil, p.Operation("ask for waits", err)
	}
	other := "rocksdb_"
	if p.engine == rocksdb {
		other = "innodb_"
	}
	var known []store.Wait
	for _, w := range waitStatus() {
		name := strings.ToLower(w.Name)
		value, err := strconv.ParseInt(status[name], 10, 64)
		if err != nil || strings.HasPrefix(name, other) {
			continue
		}
		if w.Value = value; w.Unit == store.Time {
			w.Value *= int64(time.Millisecond)
		}
		known = append(known, w)
	}
	return known, nil
}

// compressed is InnoDB with zlib pages (MySQL manual, "InnoDB Table Compression").
const compressed = "InnoDB-compressed"

// Engines implements store.Database: loaded engines with transactions, and compressed InnoDB. TiDB
// has only one.
func (p *schema) Engines(ctx context.Context) (names []string, err error) {
	if !p.dialect.optimizes {
		return []string{p.engine}, nil
	}
	err = p.use(ctx, func(c *conn) error {
		names = []string{p.engine}
		for _, engine := range []string{innodb, rocksdb} {
			found, err := chooseEngine(ctx, c, engine)
			if err == nil && !strings.EqualFold(found, p.engine) {
				names = append(names, found)
			}
			if refused := (*store.OptionError)(nil); err != nil && !errors.As(err, &refused) {
				return err
			}
		}
		return nil
	})
	return append(names, compressed), p.Operation("ask for the engines", err)
}

func (p *schema) CreateOn(ctx context.Context, mark store.Marker, engine string, _ bool) error {
	if p.engine = engine; engine == compressed {
		p.engine = innodb
	}
	if _, err := p.chooseLevel(); err != nil {
		return err
	}
	if p.SQL = sqlOf(p.Name, p.engine); engine == compressed {
		p.SQL.Options += " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"
	}
	return p.Create(ctx, mark)
}
