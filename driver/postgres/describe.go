package postgres

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/workload"
)

// described are the settings that decide what a result means.
var described = []string{
	"fsync", "synchronous_commit", "full_page_writes", "wal_level", "shared_buffers", "max_connections",
	"synchronous_standby_names",
}

// describe asks the server what it is. isolation is what transactions ask for,
// "" for the server's default.
func describe(ctx context.Context, conn *pgx.Conn, isolation string) (workload.Product, error) {
	var banner string
	var recovering bool
	err := conn.QueryRow(ctx, `SELECT version(), pg_is_in_recovery()`).Scan(&banner, &recovering)
	if err != nil {
		return workload.Product{}, err
	}
	name, _, _ := strings.Cut(banner, " ")
	product := workload.Product{Name: name, Version: conn.PgConn().ParameterStatus("server_version")}
	add := func(name, value string) {
		product.Settings = append(product.Settings, workload.Setting{Name: name, Value: cmp.Or(value, "(none)")})
	}
	show := func(setting string) (string, error) {
		var value *string // null: another product without this setting
		err := conn.QueryRow(ctx, `SELECT current_setting($1, true)`, setting).Scan(&value)
		if err != nil || value == nil {
			return "unknown", err
		}
		return *value, nil
	}
	if isolation == "" {
		if isolation, err = show("default_transaction_isolation"); err != nil {
			return workload.Product{}, err
		}
	}
	add("isolation", isolation)
	for _, setting := range described {
		value, err := show(setting)
		if err != nil {
			return workload.Product{}, err
		}
		add(setting, value)
	}
	add("in_recovery", strconv.FormatBool(recovering))
	if recovering {
		return product, nil // a standby does not know the others
	}
	standbys, err := countStandbys(ctx, conn)
	if err != nil {
		return workload.Product{}, err
	}
	add("standbys", strconv.Itoa(standbys))
	product.Topology.Nodes = 1 + standbys
	product.Topology.Replicas = 1 + standbys
	return product, nil
}

// countStandbys counts the servers that receive this one's log. Without the
// role pg_read_all_stats the state is hidden and a running base backup counts
// as a standby.
func countStandbys(ctx context.Context, conn *pgx.Conn) (n int, err error) {
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE state IS NULL OR state <> 'backup'`).Scan(&n)
	return n, err
}
