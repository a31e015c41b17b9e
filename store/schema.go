package store

import (
	"fmt"
	"slices"
)

// Schema is what a workload keeps in a database.
type Schema struct {
	// Workload is as in the mark. It names what the tables lie in: a database, a schema, a
	// keyspace or a prefix of keys.
	Workload string
	// Space is the default name of what the tables lie in, where the address may name
	// another; empty for one that is made of Workload.
	Space  string
	Tables []Table
	// Transactions is true if sessions run transactions of several statements, which name
	// their isolation level when they begin. Judged is true if that level is: where the
	// target names none, it is the one that the server gives its sessions now, asked for
	// by name.
	Transactions, Judged bool
	// Open is true if tables are made, in the schema, that are not among Tables, and
	// statements are sent whose texts and types are not known beforehand.
	Open bool
	// Reads is true if Target.Read may send statements that read to another server than
	// those that write.
	Reads bool
	// Existing is true if the tables were there before and are not assay's: they are not
	// made, marked, altered or dropped, and their names and those of their columns are as
	// the database has them, without a prefix.
	Existing bool
	// Durable is true if what is written outside of transactions is to be acknowledged as
	// safely as transactions are, where the address leaves that open.
	Durable bool
}

// Table is the table of this name; nil if there is none.
func (s *Schema) Table(name string) *Table {
	i := slices.IndexFunc(s.Tables, func(t Table) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Tables[i]
}

// Table is one table. Its primary key is its first column, or its first KeyColumns columns
// if that is not 0.
type Table struct {
	Name       string
	Columns    []Column
	KeyColumns int
	Floors     []Minimum
	Indexes    []Index
	// Loaded is true if rows are put in before FinishLoad, and LateKey if its key may be
	// made then.
	Loaded, LateKey bool
	// Grows is true if sessions insert into it although its key is made late.
	Grows bool
	// Updated is true if its rows are changed all the time, in columns that no index has.
	Updated bool
	// Within is the name of the table in whose rows those of this one lie, of a database
	// that keeps documents; empty for a table by itself. The key begins with the key of
	// that table, in the same order. Rows are inserted when the outer row is there.
	Within string
	// Unread is true if no statement names rows by the key: a database that has a table of
	// its own for each way to read needs none for this one.
	Unread bool
}

// Keys is how many columns the key has.
func (t *Table) Keys() int { return max(t.KeyColumns, 1) }

// Key are the names of the columns of the primary key.
func (t *Table) Key() []string { return t.Names()[:t.Keys()] }

// Names are the names of all columns.
func (t *Table) Names() (names []string) {
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return names
}

// Column is the column of this name; nil if there is none.
func (t *Table) Column(name string) *Column {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Columns[i]
}

// Floor is the least that a column may hold; ok is false if it has no such bound.
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
	// Derived is true if its value is taken from another row by the statement that inserts
	// it (Left), which is refused if there is no such row (Absent).
	Derived bool
	// Narrow is true of an Integer of 32 bits, where a database tells them apart.
	Narrow bool
}

// Integers are columns of the type Integer.
func Integers(names ...string) (columns []Column) {
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
}

// Minimum is the least that a column may hold. A statement that would leave less is refused
// (Floor).
type Minimum struct {
	Name, Column string
	Least        int64
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
	// Unread is true if no statement reads by it, and keeping it is all that it is for.
	Unread bool
	// Bucket divides it.
	Bucket Bucket
}

// Bucket divides an index, whose first column is an Integer, into parts: number n has the
// values from n*Size on, up to the next. A database that spreads rows by a hash has the
// rows of a part together, under its number in a column of this Name, and asks one part
// after the other for a range. Without a Size the index is not divided.
type Bucket struct {
	Name string
	Size int64
}

// Check returns an error unless a list of statements can be done on the schema: names of
// tables and columns are there, parameters have numbers from 1 on, and each verb has what
// it needs. A driver whose statements come from elsewhere than a workload need not call it.
func (s *Schema) Check(statements []Statement) error {
	for i := range statements {
		if err := statements[i].check(s); err != nil {
			return fmt.Errorf("statement %q: %w", statements[i].Name, err)
		}
	}
	return nil
}
