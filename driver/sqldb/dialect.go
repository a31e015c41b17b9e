package sqldb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// renamed is a schema without the names that a product reserves, each of which has
// another here.
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

// Dialect is where the SQL of the databases differs, as far as the workloads
// notice. It is a value: a driver changes a copy of one.
type Dialect struct {
	// Prefix is put before each table's name: the schema's or database's with a
	// dot.
	Prefix string
	// Types are what the types are called; %d takes Column.Length.
	Types map[store.Type]string
	// NotNull and Derived are behind a column's type; %s in Derived is the column's
	// name.
	NotNull, Derived string
	// Key is behind the first column of a table, or before the list of columns of a
	// key that has several; %s is the table. LateKey is the statement that makes it
	// later, of table %[1]s with full name %[2]s and columns %[3]s; empty if the key
	// is always made at once.
	Key, LateKey string
	// LateIndexes is whether indexes are better made when the rows are in.
	LateIndexes bool
	// Options are behind the columns of each table, KeyedOptions of one whose key is
	// not one Integer, and UpdatedOptions of one that is Updated.
	Options, KeyedOptions, UpdatedOptions string
	// IndexPrefix is put before an index's name.
	IndexPrefix string
	// Quote stands before and behind a name that may be a reserved word.
	Quote string
	// Reserved are names that the product reserves, and what stands in their place.
	Reserved map[string]string
	// keys are the columns of the keys by table, while statements are compiled.
	keys map[string][]string

	// Returning is whether UPDATE has RETURNING.
	Returning bool
	// ForUpdate is behind a query whose rows the transaction is to lock until it ends;
	// empty where a transaction that writes is alone.
	ForUpdate string
	// In is a comparison with Keys, whose parameter is %s.
	In string
	// Upsert is behind an INSERT that changes the row if it is there, before the
	// assignments; %s is the key's column.
	Upsert string
	// Sum is the sum of column %s as an Integer.
	Sum string
	// NewList is the list of parameter %[3]s alone, and Append the list in column
	// %[1]s of table %[2]s with that parameter at its end.
	NewList, Append string
}

// Table is the full name of a table.
func (d *Dialect) Table(name string) string { return d.Prefix + name }

// Create are the statements that make these tables, each with its indexes.
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

// Late are the statements that make the keys and indexes which Create left out.
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

// InsertText is the INSERT of so many rows, of a table of this full name.
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

// Counted are the names of the tables whose rows tell how much a run has left: those
// that are loaded, or all if none is.
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

// upsert is behind an INSERT, before the assignments, where column is the key.
func (d *Dialect) upsert(column string) string { return strings.ReplaceAll(d.Upsert, "%s", column) }
