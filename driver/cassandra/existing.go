package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

var _ store.ExistingTables = (*database)(nil)

// CheckShape implements store.ExistingTables by system_schema.
func (d *database) CheckShape(ctx context.Context) error {
	for i := range d.schema.Tables {
		t := &d.schema.Tables[i]
		differs, err := d.differs(ctx, t)
		if err != nil {
			return err
		}
		if differs != nil {
			return &store.ShapeError{Table: d.keyspace + "." + t.Name, Differs: differs}
		}
	}
	return nil
}

func (d *database) Attached(ctx context.Context, table string) (all []store.Attachment, err error) {
	full, name := d.keyspace+"."+table, ""
	add := func(format string, alters bool) func() {
		return func() {
			all = append(all, store.Attachment{Table: full, Text: fmt.Sprintf(format, name), Alters: alters})
		}
	}
	const doing = "look at what hangs on the existing tables"
	at := []any{d.keyspace, strings.ToLower(table)}
	err = d.rowsOf(ctx, doing, "SELECT trigger_name FROM system_schema.triggers WHERE keyspace_name = ? AND table_name = ?", at, []any{&name}, add("trigger %s", true))
	lives := 0
	if err == nil {
		err = d.rowsOf(ctx, doing, "SELECT default_time_to_live FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", at, []any{&lives}, func() {
			if lives > 0 {
				all = append(all, store.Attachment{Table: full, Text: fmt.Sprintf("default_time_to_live = %d", lives), Alters: true})
			}
		})
	}
	of := ""
	if err == nil {
		err = d.rowsOf(ctx, doing, "SELECT view_name, base_table_name FROM system_schema.views WHERE keyspace_name = ?", at[:1], []any{&name, &of}, func() {
			if of == at[1] {
				add("materialized view %s", false)()
			}
		})
	}
	return all, err
}

func (d *database) differs(ctx context.Context, t *store.Table) (differs []string, err error) {
	add := func(format string, a ...any) { differs = append(differs, fmt.Sprintf(format, a...)) }
	types := map[string]string{}
	var partition, clustering []string
	var name, kind, cql string
	err = d.rowsOf(ctx, "look at the existing tables", "SELECT column_name, kind, type FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
		[]any{d.keyspace, strings.ToLower(t.Name)}, []any{&name, &kind, &cql}, func() {
			types[name] = cql
			switch kind {
			case "partition_key":
				partition = append(partition, name)
			case "clustering":
				clustering = append(clustering, name)
			}
		})
	if err != nil {
		return nil, err
	}
	if len(types) == 0 {
		add("there is none of this name; name its keyspace in the address (cassandra://HOST/KEYSPACE)")
		return differs, nil
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		text := c.Type == store.String || c.Type == store.ASCII
		switch is := types[strings.ToLower(c.Name)]; {
		case is == "":
			add("column %s is missing", c.Name)
		case text && is != "text" && is != "varchar" || !text && is != cqlType(c):
			add("column %s is of type %s, not %s", c.Name, is, cqlType(c))
		}
	}
	if !slices.EqualFunc(partition, t.Key()[:1], strings.EqualFold) || !slices.EqualFunc(clustering, t.Key()[1:], strings.EqualFold) {
		add("its key is %s, not %s", cmp.Or(strings.Join(append(partition, clustering...), ", "), "none"), strings.Join(t.Key(), ", "))
	}
	return differs, nil
}
