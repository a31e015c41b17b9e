package mysql

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
