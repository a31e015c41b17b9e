package cassandra

import (
	"context"
	"slices"

	"assay/driver/ownership"
	"assay/store"
)

// othersIn are the tables of the schema that list what a keyspace can have beside tables,
// none of which assay makes, with the column of its name (Cassandra documentation, "Virtual
// and system keyspaces", system_schema).
func othersIn() [][3]string {
	return [][3]string{
		{"materialized view", "views", "view_name"}, {"index", "indexes", "index_name"}, {"type", "types", "type_name"},
		{"function", "functions", "function_name"}, {"aggregate", "aggregates", "aggregate_name"}, {"trigger", "triggers", "trigger_name"},
	}
}

// Blocked implements store.Administration: no statement waits for another without an end.
func (k *database) Blocked(context.Context) (string, error) { return "", nil }

// Others implements ownership.Place. A table of others is refused with the mark.
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
