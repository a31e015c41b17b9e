package mysql

import (
	"context"

	"assay/store"
)

// keysQuery is sqldb.Catalog.Keys. The standard's view of constraints is empty for a reading user
// (MariaDB Knowledge Base, "Information Schema TABLE_CONSTRAINTS Table").
const keysQuery = `SELECT column_name FROM information_schema.statistics WHERE table_schema = $1 AND table_name = $2 AND index_name = 'PRIMARY' ORDER BY seq_in_index`

// attachedQuery is sqldb.Catalog.Attached. Triggers are only shown with the privilege TRIGGER
// (MariaDB Knowledge Base, "Information Schema TRIGGERS Table").
const attachedQuery = `SELECT concat('trigger ', trigger_name), 1 FROM information_schema.triggers WHERE event_object_schema = $1 AND event_object_table = $2
	UNION SELECT concat('engine ', engine, ', which ', CASE lower(engine) WHEN 'blackhole' THEN 'keeps nothing' WHEN 'mrg_myisam' THEN 'has no keys over its tables'
			ELSE 'keeps its rows elsewhere' END), 1
		FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2 AND lower(engine) IN ('blackhole', 'mrg_myisam', 'federated', 'connect', 'spider')
	UNION SELECT concat('foreign key ', constraint_name, ' to ', referenced_table_name, ', on delete ', lower(delete_rule)), 0
		FROM information_schema.referential_constraints WHERE constraint_schema = $1 AND table_name = $2
	UNION SELECT concat('foreign key ', constraint_name, ' of table ', table_name), 0
		FROM information_schema.referential_constraints WHERE unique_constraint_schema = $1 AND referenced_table_name = $2
	UNION SELECT concat(lower(constraint_type), ' constraint ', constraint_name), 0
		FROM information_schema.table_constraints WHERE table_schema = $1 AND table_name = $2 AND constraint_type IN ('CHECK', 'UNIQUE')`

// lastingQuery finds tables of engines without transactions (MySQL manual, "The INFORMATION_SCHEMA
// ENGINES Table").
const lastingQuery = `SELECT t.table_schema, t.table_name, coalesce(t.table_schema = database(), 0) FROM information_schema.tables t
	JOIN information_schema.engines e ON e.engine = t.engine WHERE coalesce(e.transactions, 'NO') <> 'YES' AND t.table_type = 'BASE TABLE'
		AND t.table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') ORDER BY 1, 2`

// LastingTables implements store.Lasting. Triggers and routines may write tables that the user does
// not see.
func (p *schema) LastingTables(ctx context.Context) (names []string, err error) {
	err = p.use(ctx, func(c *conn) error {
		return c.Query(ctx, lastingQuery, func(row store.Row) error {
			var home, table string
			var here bool
			err := row.Scan(&home, &table, &here)
			if names = append(names, home+"."+table); here {
				names = append(names, table)
			}
			return err
		})
	})
	if err != nil {
		return nil, p.Operation("look for tables without transactions", err)
	}
	return names, nil
}
