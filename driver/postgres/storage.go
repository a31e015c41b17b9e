package postgres

import (
	"context"
	"strings"

	"assay/driver/sqldb"
	"assay/store"
)

// Compactions implements store.Database. Plain VACUUM makes room for rows and truncates files; FULL
// writes the table anew (manual, "VACUUM"). Autovacuum stays as the server has it, since it is part
// of what is measured.
func (p *schema) Compactions() ([]string, error) {
	if len(p.dialect.repairs) == 0 {
		return nil, &store.OptionError{Option: dialectParameter, Value: p.dialect.name, Want: p.dialect.noRepair}
	}
	return p.dialect.repairs, nil
}

func (p *schema) FileSize(ctx context.Context) (store.Size, error) { return p.Size(ctx) }

func (p *schema) Compact(ctx context.Context, name string) error {
	return p.Operation(strings.ToLower(name), p.pool.Use(ctx, func(c conn) error {
		for _, t := range p.Tables {
			if _, err := c.Change(ctx, name+" "+p.SQL.Table(t.Name)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// waiting asks for the database's deadlocks so far, and for the workload's waiting sessions and
// their reasons (manual: pg_stat_database, pg_stat_activity, "Wait Event Types").
const waiting = `SELECT
	(SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()),
	count(*) FILTER (WHERE wait_event_type = 'Lock'),
	count(*) FILTER (WHERE wait_event_type = 'LWLock'),
	count(*) FILTER (WHERE wait_event_type = 'IO'),
	count(*) FILTER (WHERE state = 'active')
	FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`

func (p *schema) Waits(ctx context.Context) ([]store.Wait, error) {
	if !p.dialect.waits {
		return nil, nil
	}
	w := []store.Wait{
		{Name: "deadlocks", Unit: store.Occasions},
		{Name: "sessions in a Lock wait", Unit: store.Gauge},
		{Name: "sessions in an LWLock wait", Unit: store.Gauge},
		{Name: "sessions in an IO wait", Unit: store.Gauge},
		{Name: "sessions active", Unit: store.Gauge},
	}
	err := p.pool.Use(ctx, func(c conn) error {
		run, err := p.Run(ctx, c)
		if err != nil {
			return err
		}
		return sqldb.One(ctx, c, waiting, []store.Value{store.OfText(p.SessionName(run))},
			&w[0].Value, &w[1].Value, &w[2].Value, &w[3].Value, &w[4].Value)
	})
	if err != nil {
		return nil, p.Operation("ask for waits", err)
	}
	return w, nil
}

// Engines implements store.Database: the compressors of out-of-line values
// (default_toast_compression), which only matter to rows of more than two kilobytes (manual,
// "TOAST").
func (p *schema) Engines(ctx context.Context) (names []string, err error) {
	if p.dialect.engine != "" {
		return []string{p.dialect.engine}, nil
	}
	err = p.pool.Use(ctx, func(c conn) error {
		// A server before 14 has no choice and gives no row.
		return c.Query(ctx, `SELECT v FROM pg_settings, unnest(enumvals) v
			WHERE name = 'default_toast_compression' AND v IN ('pglz', 'lz4') ORDER BY v <> boot_val, v`, func(row store.Row) error {
			names = append(names, "")
			return row.Scan(&names[len(names)-1])
		})
	})
	if err == nil && len(names) == 0 {
		names = []string{"pglz"}
	}
	return names, p.Operation("ask for the compressors", err)
}

func (p *schema) CreateOn(ctx context.Context, mark store.Marker, engine string, chosen bool) error {
	sql := p.dialect.sqlOf(p.Name)
	if chosen && p.dialect.engine == "" {
		sql.Types[store.ASCII] += " COMPRESSION " + engine
	}
	return p.CreateBy(ctx, mark, &sql)
}
