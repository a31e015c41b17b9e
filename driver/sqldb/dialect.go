package sqldb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a column.
type Type uint8

const (
	// Integer has 64 bits.
	Integer Type = iota
	Boolean
	// String is text of at most Column.Length characters.
	String
	// ASCII is a String that has no other characters, and is compared byte by byte.
	ASCII
	// UUID has 16 bytes.
	UUID
	// Ints is a list of integers.
	Ints
)

// Column is one column, never null.
type Column struct {
	Name   string
	Type   Type
	Length int
	// Derived is true if its value is computed by the statement that inserts it,
	// whose refusal is then told by a null (Null).
	Derived bool
}

// Index is one over columns of its table.
type Index struct {
	Name    string
	Columns []string
	// Late is true if it may be made when the table has been loaded.
	Late bool
	// Unique is true if no two rows may be alike in these columns; a second one is a
	// violation of the kind Unique.
	Unique bool
}

// Constraint is a CHECK constraint.
type Constraint struct{ Name, Condition string }

// Table is one table. Its primary key is its first column, or its first KeyColumns
// columns if that is not 0.
type Table struct {
	Name       string
	Columns    []Column
	KeyColumns int
	Checks     []Constraint
	Indexes    []Index
	// Loaded is true if rows are put in before FinishLoad, and LateKey if its key
	// may be made then.
	Loaded, LateKey bool
	// Grows is true if sessions insert into it although its key is made late.
	Grows bool
	// Updated is true if its rows are changed all the time, in columns that no
	// index has.
	Updated bool
}

// key are the names of the columns of the primary key.
func (t *Table) key() (names []string) {
	for _, c := range t.Columns[:max(t.KeyColumns, 1)] {
		names = append(names, c.Name)
	}
	return names
}

// Schema is what a workload keeps in a database.
type Schema struct {
	// Workload is as in the mark.
	Workload string
	Tables   []Table
	// Transactions is true if sessions run transactions of several statements, which
	// name their isolation level when they begin. Judged is true if that level is:
	// where the target names none, it is the one that the server gives its sessions
	// now, asked for by name.
	Transactions, Judged bool
	// Open is true if tables are made, in the schema, that are not among Tables, and
	// statements are sent whose texts and types are not known beforehand: names without
	// a qualifier lie in the schema, parameters have the type that the server finds for
	// them, and rows tell the types of their values.
	Open bool
	// Reads is true if Target.Read may send reads to another server than writes.
	Reads bool
}

// Renamed is the schema without the names that a product reserves, each of which has
// another here.
func (s Schema) Renamed(reserved map[string]string) Schema {
	name := func(of string) string {
		if other, is := reserved[of]; is {
			return other
		}
		return of
	}
	s.Tables = slices.Clone(s.Tables)
	for i := range s.Tables {
		t := &s.Tables[i]
		t.Name, t.Columns = name(t.Name), slices.Clone(t.Columns)
		for n := range t.Columns {
			t.Columns[n].Name = name(t.Columns[n].Name)
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
	Types map[Type]string
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
func (d *Dialect) Create(tables []Table) (statements []string) {
	for i := range tables {
		t := &tables[i]
		var lines []string
		for _, c := range t.Columns {
			lines = append(lines, c.Name+" "+d.column(&c))
		}
		key, clause := t.key(), strings.ReplaceAll(d.Key, "%s", t.Name)
		switch {
		case t.LateKey && d.LateKey != "":
		case len(key) == 1:
			lines[0] += clause
		default:
			lines = append(lines, strings.TrimSpace(clause)+" ("+strings.Join(key, ", ")+")")
		}
		for _, c := range t.Checks {
			lines = append(lines, "CONSTRAINT "+c.Name+" CHECK ("+c.Condition+")")
		}
		options := d.Options
		if t.Columns[0].Type != Integer || len(key) > 1 {
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

func (d *Dialect) column(c *Column) string {
	kind := d.Types[c.Type]
	if strings.Contains(kind, "%d") {
		kind = fmt.Sprintf(kind, c.Length)
	}
	if c.Derived {
		return kind + strings.ReplaceAll(d.Derived, "%s", c.Name)
	}
	return kind + d.NotNull
}

func (d *Dialect) index(t *Table, i *Index) string {
	kind := "INDEX "
	if i.Unique {
		kind = "UNIQUE INDEX "
	}
	return "CREATE " + kind + d.IndexPrefix + i.Name + " ON " + d.Table(t.Name) + " (" + strings.Join(i.Columns, ", ") + ")"
}

// Late are the statements that make the keys and indexes which Create left out.
func (d *Dialect) Late(tables []Table) (statements []string) {
	for i := range tables {
		t := &tables[i]
		if t.LateKey && d.LateKey != "" {
			statements = append(statements, fmt.Sprintf(d.LateKey, t.Name, d.Table(t.Name), strings.Join(t.key(), ", ")))
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

// insertInto is the INSERT of one row.
func insertInto(d *Dialect, table string, columns []string) string {
	return InsertText(d.Table(table), columns, 1)
}

// in is a condition that a column is one of the Keys of this parameter.
func (d *Dialect) in(column, parameter string) string {
	return column + " " + fmt.Sprintf(d.In, parameter)
}

// Counted are the names of the tables whose rows tell how much a run has left: those
// that are loaded, or all if none is.
func Counted(tables []Table) (counted []string) {
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

// sum is the sum of a column.
func (d *Dialect) sum(column string) string { return fmt.Sprintf(d.Sum, column) }
