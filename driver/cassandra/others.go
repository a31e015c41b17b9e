package cassandra

import (
	"context"
	"slices"

	"assay/driver/ownership"
	"assay/store"
)

// othersIn are system_schema's tables of things besides tables, which assay never makes, with their
// name columns (Cassandra documentation, "Virtual and system keyspaces").
func othersIn() [][3]string {
	return [][3]string{
		{"materialized view", "views", "view_name"}, {"index", "indexes", "index_name"}, {"type", "types", "type_name"},
		{"function", "functions", "function_name"}, {"aggregate", "aggregates", "aggregate_name"}, {"trigger", "triggers", "trigger_name"},
	}
}

// Blocked implements store.Administration. No statement waits without an end.
func (k *database) Blocked(context.Context) (string, error) { return "", nil }

// Others implements ownership.Place. ReadMark refuses somebody else's table.
func (k *database) Others(ctx context.Context, _ ownership.Direct) error {
	var others []string
	for _, of := range othersIn() {
		var name string
		err := k.rowsOf(ctx, "look for what others have made", "SELECT "+of[2]+" FROM system_schema."+of[1]+" WHERE keyspace_name = ?",
			[]any{k.keyspace}, []any{&name}, func() { others = append(others, of[0]+" "+k.keyspace+"."+name) })
		if err != nil {
			return err
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return &store.ForeignError{Name: k.Title(), Others: others,
		Hint: "drop it, or name another keyspace in the address (cassandra://HOST/KEYSPACE)"}
}
