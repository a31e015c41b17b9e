package postgres

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/driver/encryption"
	"assay/workload"
)

// describe asks the server what it is, by its own words and not by the dialect
// that it was told to be driven in.
func (p *schema) describe(ctx context.Context, conn *pgx.Conn) (workload.Product, error) {
	var banner string
	err := conn.QueryRow(ctx, `SELECT version()`).Scan(&banner)
	if err != nil {
		return workload.Product{}, err
	}
	var product workload.Product
	product.Name, product.Version = productOf(banner, conn.PgConn().ParameterStatus("server_version"))
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
	isolation := p.isolation
	if isolation == "" {
		if isolation, err = show("default_transaction_isolation"); err != nil {
			return workload.Product{}, err
		}
	}
	add("isolation", isolation)
	add(encryption.Setting, protection(conn))
	if p.told || p.dialect.name != postgresql().name {
		add("dialect", p.dialect.name)
	}
	for _, setting := range p.dialect.settings {
		value, err := show(setting)
		if err != nil {
			return workload.Product{}, err
		}
		add(setting, value)
	}
	if !p.dialect.standbys { // its nodes are not asked for
		inForce, err := levelInForce(ctx, conn, isolation)
		if err == nil && !strings.EqualFold(inForce, isolation) {
			add("isolation in force", inForce)
		}
		return product, err
	}
	var recovering bool
	if err := conn.QueryRow(ctx, `SELECT pg_is_in_recovery()`).Scan(&recovering); err != nil {
		return workload.Product{}, err
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

// levelInForce asks at which level a transaction runs that wants this one:
// CockroachDB runs read committed as serializable where the cluster setting
// sql.txn.read_committed_isolation.enabled is off (docs, "Read Committed
// Transactions").
func levelInForce(ctx context.Context, conn *pgx.Conn, wanted string) (level string, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.TxIsoLevel(wanted), AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, conn, options, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT current_setting('transaction_isolation')`).Scan(&level)
	})
	return level, err
}

// countStandbys counts the servers that receive this one's log. Without the
// role pg_read_all_stats the state is hidden and a running base backup counts
// as a standby.
func countStandbys(ctx context.Context, conn *pgx.Conn) (n int, err error) {
	err = conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE state IS NULL OR state <> 'backup'`).Scan(&n)
	return n, err
}
