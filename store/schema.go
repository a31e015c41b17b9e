package store

import (
	"fmt"
	"slices"
)

// Schema is what a workload keeps in a database.
type Schema struct {
	// Workload is as in the mark. It names the tables' database, schema, keyspace or prefix.
	Workload string
	// Space is the default of that name where the address may choose it; empty for Workload's.
	Space  string
	Tables []Table
	// Transactions is true if sessions run transactions of several statements, which name their
	// isolation level at the start. Judged is true if that level is judged: if the target names
	// none, transactions ask by name for the server's current default.
	Transactions, Judged bool
	// Open is true if sessions send statements unknown beforehand and make tables beyond Tables.
	Open bool
	// Reads is true if Target.Read may send reads to another server than writes.
	Reads bool
	// Existing is true if the tables are the user's. They are not made, marked, altered or
	// dropped, and all names are as in the database, without a prefix.
	Existing bool
	// Durable is true if writes outside of transactions are to be acknowledged as safely as
	// transactions, where the address leaves that open.
	Durable bool
}

// Table returns the table of this name, or nil.
func (s *Schema) Table(name string) *Table {
	i := slices.IndexFunc(s.Tables, func(t Table) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Tables[i]
}

// Table has its first KeyColumns columns as primary key, or the first if that is 0.
type Table struct {
	Name       string
	Columns    []Column
	KeyColumns int
	Floors     []Minimum
	Indexes    []Index
	// Loaded is true if rows come in before FinishLoad, and LateKey if the key may be made then.
	Loaded, LateKey bool
	// Grows is true if sessions insert into it although its key is made late.
	Grows bool
	// Updated is true if sessions keep changing its rows, in columns outside all indexes.
	Updated bool
	// Within names the table whose rows hold this one's, where the database keeps documents;
	// empty for a separate table. The key begins with that table's key. The outer row is inserted
	// first.
	Within string
	// Unread is true if no statement names rows by the key, so that a database with one table per
	// way of reading needs none for it.
	Unread bool
}

// Keys is the number of key columns.
func (t *Table) Keys() int { return max(t.KeyColumns, 1) }

// Key names the columns of the primary key.
func (t *Table) Key() []string { return t.Names()[:t.Keys()] }

// Names lists all columns.
func (t *Table) Names() (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// Column returns the column of this name, or nil.
func (t *Table) Column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// Floor is the least value of a column; ok is false if it has no bound.
func (t *Table) Floor(column string) (least int64, ok bool) {
	for _, f := range t.Floors {
		if f.Column == column {
			return f.Least, true
		}
	}
	return 0, false
}

// Type is the type of a column.
type Type uint8

const (
	Integer Type = iota
	Boolean
	// String has at most Column.Length characters.
	String
	// ASCII is a String of ASCII characters, compared byte by byte.
	ASCII
	UUID
	Ints
)

// Column is one column, never null.
type Column struct {
	Name   string
	Type   Type
	Length int
	// Derived is true if the inserting statement takes its value from another row (Left). Without
	// that row the insert is refused (Absent).
	Derived bool
	// Narrow is true of an Integer of 32 bits, where a database distinguishes it.
	Narrow bool
}

// Integers makes columns of the type Integer.
func Integers(names ...string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
}

// Minimum is a column's least value. A statement that would go below it is refused (Floor).
type Minimum struct {
	Name, Column string
	Least        int64
}

// Index is an index of its table.
type Index struct {
	Name    string
	Columns []string
	// Late is true if the index may be made after loading.
	Late bool
	// Unique is true if rows may not be equal in these columns. A second one violates Unique.
	Unique bool
	// Unread is true if no statement reads by it: only its upkeep matters.
	Unread bool
	Bucket Bucket
}

// Bucket divides an index, whose first column is an Integer, into parts of Size values: part n
// begins at n*Size. A database that spreads rows by hash stores a part together, under its number
// in a column Name, and reads a range part by part. Size 0 does not divide.
type Bucket struct {
	Name string
	Size int64
}

// Check returns an error unless the statements fit the schema: tables and columns exist,
// parameters count from 1, and each verb has what it needs.
func (s *Schema) Check(statements []Statement) error {
	for i := range statements {
		if err := statements[i].check(s); err != nil {
			return fmt.Errorf("statement %q: %w", statements[i].Name, err)
		}
	}
	return nil
}
