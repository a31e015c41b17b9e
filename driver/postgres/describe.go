package postgres

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"assay/driver/encryption"
	"assay/driver/sqldb"
	"assay/store"
)

// Describe reports the server's own words, whatever dialect drives it.
func (p *schema) Describe(ctx context.Context) (product store.Product, err error) {
	err = p.pool.Use(ctx, func(c conn) error {
		product, err = p.describe(ctx, c)
		return err
	})
	if err != nil {
		return store.Product{}, p.Operation("describe", err)
	}
	if p.reads != nil {
		product.Settings = append(product.Settings, p.reads.describe(p.dialect.standbys)...)
	}
	return product, nil
}

func (p *schema) describe(ctx context.Context, c conn) (store.Product, error) {
	var banner string
	err := sqldb.One(ctx, c, `SELECT version()`, nil, &banner)
	if err != nil {
		return store.Product{}, err
	}
	var product store.Product
	product.Name, product.Version = productOf(banner, c.ParameterStatus("server_version"))
	add := func(name, value string) {
		product.Settings = append(product.Settings, store.Setting{Name: name, Value: cmp.Or(value, "(none)")})
	}
	show := func(setting string) (value string, err error) { // null: another product without this setting
		err = sqldb.One(ctx, c, `SELECT coalesce(current_setting($1, true), 'unknown')`, []store.Value{store.OfText(setting)}, &value)
		return value, err
	}
	isolation := p.isolation
	if isolation == "" {
		if isolation, err = show("default_transaction_isolation"); err != nil {
			return store.Product{}, err
		}
	}
	add("isolation", isolation)
	add(encryption.Setting, protection(p.config, c))
	product.Settings = append(product.Settings, p.way()...)
	if p.told || p.dialect.name != postgresql().name {
		add("dialect", p.dialect.name)
	}
	for _, setting := range p.dialect.settings {
		value, err := show(setting)
		if err != nil {
			return store.Product{}, err
		}
		add(setting, value)
	}
	if product.Settings, err = addLimits(ctx, c, product.Settings); err != nil {
		return store.Product{}, err
	}
	if product.Settings, err = p.addStorage(ctx, c, product.Settings); err != nil {
		return store.Product{}, err
	}
	product.Changed = changed(ctx, c)
	if !p.dialect.standbys { // its nodes are not asked for
		inForce, err := levelInForce(ctx, c, isolation)
		if err == nil && !strings.EqualFold(inForce, isolation) {
			add("isolation in force", inForce)
		}
		return product, err
	}
	var recovering bool
	if err := sqldb.One(ctx, c, `SELECT pg_is_in_recovery()`, nil, &recovering); err != nil {
		return store.Product{}, err
	}
	add("in_recovery", strconv.FormatBool(recovering))
	if recovering {
		return product, nil // a standby does not know the others
	}
	// Without the role pg_read_all_stats the state is hidden, and a running base backup counts
	// as a standby.
	var standbys int
	err = sqldb.One(ctx, c, `SELECT count(*) FROM pg_stat_replication WHERE state IS NULL OR state <> 'backup' AND `+replays, nil, &standbys)
	if err != nil {
		return store.Product{}, err
	}
	add("standbys", strconv.Itoa(standbys))
	product.Topology.Nodes = 1 + standbys
	product.Topology.Replicas = 1 + standbys
	return product, nil
}

// changed lists settings with other values than the defaults, without those that this session sets
// (manual 15, "pg_settings", source and boot_val). Other products may not tell.
func changed(ctx context.Context, c conn) []store.Setting {
	var told string
	if err := sqldb.One(ctx, c, `SELECT coalesce(string_agg(name || chr(1) || current_setting(name), chr(2)), '') FROM pg_settings
		WHERE source NOT IN ('default', 'override', 'client', 'session') AND setting IS DISTINCT FROM boot_val`, nil, &told); err != nil {
		return nil
	}
	values := map[string]string{}
	for _, one := range strings.Split(told, "\x02") {
		name, value, _ := strings.Cut(one, "\x01")
		values[name] = value
	}
	return store.Changed(values)
}

// levelInForce asks for the level of a transaction that wants this one. CockroachDB runs read
// committed as serializable if sql.txn.read_committed_isolation.enabled is off (docs, "Read
// Committed Transactions").
func levelInForce(ctx context.Context, c conn, wanted string) (level string, err error) {
	err = sqldb.InTransaction(ctx, c, []string{"BEGIN ISOLATION LEVEL " + strings.ToUpper(wanted) + " READ ONLY"}, func() error {
		return sqldb.One(ctx, c, `SELECT current_setting('transaction_isolation')`, nil, &level)
	})
	return level, err
}

func (p *schema) addStorage(ctx context.Context, c conn, settings []store.Setting) ([]store.Setting, error) {
	stored, err := p.StoredTables(ctx, c)
	for _, s := range stored {
		settings = append(settings, store.Setting{Name: store.SettingStoredAs + s.Way, Value: s.Tables})
	}
	return settings, err
}
