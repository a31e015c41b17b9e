package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
)

// OpenChurn connects to the target and returns the Store on it, in the database
// assay_churn. Errors and the address are as with OpenBank, and
// *workload.OptionError for a dialect that has no repair.
func OpenChurn(ctx context.Context, target workload.Target) (churn.Store, error) {
	p, err := openSchema(ctx, target, sqldb.ChurnSchema())
	if err != nil {
		return nil, err
	}
	if !p.dialect.optimizes {
		_ = p.Close()
		return nil, &workload.OptionError{Option: dialectOption, Value: p.dialect.name,
			Want: dialects()[0].name + "; others give space back by themselves, and have no OPTIMIZE TABLE"}
	}
	return sqldb.Churn(compactor{p}), nil
}

// compactor is a schema whose tables can be written anew.
type compactor struct{ *schema }

// Size implements sqldb.Compactor: what the tables use, and what is free in their
// tablespaces (DATA_FREE; MySQL manual, "The INFORMATION_SCHEMA TABLES Table").
func (s compactor) Size(ctx context.Context) (workload.Size, error) {
	size, err := s.schema.Size(ctx)
	if err != nil {
		return size, err
	}
	var free int64
	err = s.use(ctx, func(c *conn) error {
		return sqldb.One(ctx, c, `SELECT coalesce(sum(data_free), 0) FROM information_schema.tables
			WHERE table_schema = $1 AND table_name NOT IN ('assay_mark', 'assay_lease')`, []sqldb.Value{sqldb.OfText(s.Name)}, &free)
	})
	if err != nil {
		return workload.Size{}, s.Operation("size", err)
	}
	size.Tables += free
	size.Bytes += free
	return size, nil
}

const repairOptimize = "OPTIMIZE TABLE"

func (s compactor) Repairs() []string { return []string{repairOptimize} }

// Repair implements sqldb.Compactor. What went wrong is a row of the answer (MySQL
// manual, "OPTIMIZE TABLE Statement").
func (s compactor) Repair(ctx context.Context, name string) error {
	if name != repairOptimize {
		return fmt.Errorf("mysql: there is no repair %q", name)
	}
	return s.Operation("optimize", s.use(ctx, func(c *conn) error {
		for _, t := range s.Tables {
			var wrong error
			err := c.query(ctx, func(row []driver.Value) error {
				if len(row) == 4 && strings.EqualFold(text(row[2]), "error") {
					wrong = errors.New(text(row[3]))
				}
				return nil
			}, `OPTIMIZE NO_WRITE_TO_BINLOG TABLE `+s.SQL.Table(t.Name))
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

// OpenBulkUpdate connects to the target and returns the Store on it, in the
// database assay_bulkupdate. Errors and the address are as with OpenBank.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	return sqldb.Opened(sqldb.BulkUpdate)(openSchema(ctx, target, sqldb.BulkUpdateSchema()))
}

// waitStatus are the status variables of the engines that tell of waits for
// locks (MySQL manual, "Server Status Variables"; MariaDB documentation,
// "InnoDB Status Variables", "MyRocks Status Variables"). Row lock times are in
// milliseconds.
func waitStatus() []bulkupdate.Wait {
	return []bulkupdate.Wait{
		{Name: "Innodb_row_lock_waits", Unit: bulkupdate.Count},
		{Name: "Innodb_row_lock_time", Unit: bulkupdate.Time},
		{Name: "Innodb_row_lock_current_waits", Unit: bulkupdate.Gauge},
		{Name: "Innodb_deadlocks", Unit: bulkupdate.Count},
		{Name: "Innodb_log_waits", Unit: bulkupdate.Count},
		{Name: "Innodb_buffer_pool_wait_free", Unit: bulkupdate.Count},
		{Name: "Rocksdb_row_lock_deadlocks", Unit: bulkupdate.Count},
		{Name: "Rocksdb_row_lock_wait_timeouts", Unit: bulkupdate.Count},
		{Name: "Threads_running", Unit: bulkupdate.Gauge},
	}
}

// Waits implements sqldb.Waiter, with those that the server has of the
// table's engine, of the whole server.
func (p *schema) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
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
	var known []bulkupdate.Wait
	for _, w := range waitStatus() {
		name := strings.ToLower(w.Name)
		value, err := strconv.ParseInt(status[name], 10, 64)
		if err != nil || strings.HasPrefix(name, other) {
			continue
		}
		if w.Value = value; w.Unit == bulkupdate.Time {
			w.Value *= int64(time.Millisecond)
		}
		known = append(known, w)
	}
	return known, nil
}

// compressed is InnoDB with pages compressed by zlib (MySQL manual, "InnoDB
// Table Compression").
const compressed = "InnoDB-compressed"

// OpenCandles connects to the target and returns the Store on it, in the
// database assay_candles. Errors and the address are as with OpenBank; an engine
// in the address is the one that Create takes for none.
func OpenCandles(ctx context.Context, target workload.Target) (candles.Store, error) {
	return sqldb.Opened(sqldb.Candles)(openSchema(ctx, target, sqldb.CandlesSchema()))
}

// Engines implements sqldb.EngineChooser: those with transactions that the server
// has loaded, and InnoDB with compressed rows unless it copies them to others by
// Galera.
func (p *schema) Engines(ctx context.Context) (names []string, err error) {
	err = p.use(ctx, func(c *conn) error {
		names = []string{p.engine}
		for _, engine := range []string{innodb, rocksdb} {
			found, err := chooseEngine(ctx, c, engine)
			if err == nil && !strings.EqualFold(found, p.engine) {
				names = append(names, found)
			}
			if refused := (*workload.OptionError)(nil); err != nil && !errors.As(err, &refused) {
				return err
			}
		}
		return nil
	})
	return append(names, compressed), p.Operation("ask for the engines", err)
}

func (p *schema) CreateOn(ctx context.Context, mark workload.Marker, engine string, _ bool) error {
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
