package sqldb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// renamed replaces the names that a product reserves.
func renamed(s store.Schema, reserved map[string]string) store.Schema {
	s.Tables = slices.Clone(s.Tables)
	for i := range s.Tables {
		t := &s.Tables[i]
		t.Name, t.Columns = cmp.Or(reserved[t.Name], t.Name), slices.Clone(t.Columns)
		for n := range t.Columns {
			t.Columns[n].Name = cmp.Or(reserved[t.Columns[n].Name], t.Columns[n].Name)
		}
	}
	return s
}

// Dialect is a product's SQL for statements. Drivers change copies of a Dialect.
type Dialect struct {
	// Prefix precedes each table's name: the schema's or database's name and a dot.
	Prefix string
	// Types names the types; %d is Column.Length.
	Types map[store.Type]string
	// NotNull and Derived follow a column's type; %s in Derived is the column.
	NotNull, Derived string
	// Key follows a table's first column, or precedes the columns of a longer key; %s is the
	// table. LateKey makes the key later: table %[1]s, full name %[2]s, columns %[3]s. It is
	// empty if keys are always made at once.
	Key, LateKey string
	// LateIndexes says that indexes are better made after loading.
	LateIndexes bool
	// Options follow the columns of each table, KeyedOptions also if its key is not one Integer,
	// UpdatedOptions also if it is Updated.
	Options, KeyedOptions, UpdatedOptions string
	IndexPrefix                           string
	// Quote surrounds a name that may be reserved.
	Quote string
	// Reserved maps reserved names to replacements.
	Reserved map[string]string
	// keys has the key columns by table during compilation.
	keys map[string][]string

	// Returning says that UPDATE has RETURNING.
	Returning bool
	// ForUpdate follows a query that locks its rows until the end of the transaction. It is
	// empty if a writing transaction runs alone.
	ForUpdate string
	// In compares with the Keys in parameter %s.
	In string
	// Upsert follows an INSERT, before the assignments that change an existing row; %s is the
	// key's column.
	Upsert string
	// Sum is the sum of column %s as an Integer.
	Sum string
	// NewList is the list of parameter %[3]s alone. Append is column %[1]s of table %[2]s with
	// that parameter at its end.
	NewList, Append string
}

// Table is a table's full name.
func (d *Dialect) Table(name string) string { return d.Prefix + name }

// Create returns the statements that make the tables with their indexes.
func (d *Dialect) Create(tables []store.Table) (statements []string) {
	for i := range tables {
		t := &tables[i]
		var lines []string
		for _, c := range t.Columns {
			lines = append(lines, c.Name+" "+d.column(&c))
		}
		key, clause := t.Key(), strings.ReplaceAll(d.Key, "%s", t.Name)
		switch {
		case t.LateKey && d.LateKey != "":
		case len(key) == 1:
			lines[0] += clause
		default:
			lines = append(lines, strings.TrimSpace(clause)+" ("+strings.Join(key, ", ")+")")
		}
		for _, f := range t.Floors {
			lines = append(lines, "CONSTRAINT "+f.Name+" CHECK ("+f.Column+" >= "+strconv.FormatInt(f.Least, 10)+")")
		}
		options := d.Options
		if t.Columns[0].Type != store.Integer || len(key) > 1 {
			options += d.KeyedOptions
		}
		if t.Updated {
			options += d.UpdatedOptions
		}
		statements = append(statements,
			"CREATE TABLE "+d.Table(t.Name)+" ("+strings.Join(lines, ", ")+")"+options)
		for _, index := range t.Indexes {
			if !index.Late || !d.LateIndexes {
				statements = append(statements, d.index(t, &index))
			}
		}
	}
	return statements
}

func (d *Dialect) column(c *store.Column) string {
	kind := d.Types[c.Type]
	if strings.Contains(kind, "%d") {
		kind = fmt.Sprintf(kind, c.Length)
	}
	if c.Derived {
		return kind + strings.ReplaceAll(d.Derived, "%s", c.Name)
	}
	return kind + d.NotNull
}

func (d *Dialect) index(t *store.Table, i *store.Index) string {
	kind := "INDEX "
	if i.Unique {
		kind = "UNIQUE INDEX "
	}
	return "CREATE " + kind + d.IndexPrefix + i.Name + " ON " + d.Table(t.Name) + " (" + strings.Join(i.Columns, ", ") + ")"
}

// Late returns the statements that make the keys and indexes left out by Create.
func (d *Dialect) Late(tables []store.Table) (statements []string) {
	for i := range tables {
		t := &tables[i]
		if t.LateKey && d.LateKey != "" {
			statements = append(statements, fmt.Sprintf(d.LateKey, t.Name, d.Table(t.Name), strings.Join(t.Key(), ", ")))
		}
		for _, index := range t.Indexes {
			if index.Late && d.LateIndexes {
				statements = append(statements, d.index(t, &index))
			}
		}
	}
	return statements
}

// InsertText is the INSERT of several rows. table is the full name.
func InsertText(table string, columns []string, rows int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES ")
	for i := range rows * len(columns) {
		switch {
		case i == 0:
			b.WriteString("($")
		case i%len(columns) == 0:
			b.WriteString("), ($")
		default:
			b.WriteString(", $")
		}
		b.WriteString(strconv.Itoa(i + 1))
	}
	b.WriteString(")")
	return b.String()
}

// Counted names the tables whose rows Find reports: the loaded ones, or all if none is.
func Counted(tables []store.Table) (counted []string) {
	all := make([]string, len(tables))
	for i, t := range tables {
		all[i] = t.Name
		if t.Loaded {
			counted = append(counted, t.Name)
		}
	}
	if counted == nil {
		return all
	}
	return counted
}

func (d *Dialect) upsert(column string) string { return strings.ReplaceAll(d.Upsert, "%s", column) }
