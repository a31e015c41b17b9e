package store

import (
	"errors"
	"fmt"
)

// Verb is the kind of a statement.
type Verb uint8

const (
	// Read gives Columns of the rows that satisfy Where, sorted by Order, at most Limit.
	Read Verb = iota + 1
	// Count gives one row: the number of rows that satisfy Where, and the sums of Columns.
	Count
	// Insert adds Rows rows of Values for Columns, which are all columns of the table. An
	// existing key is refused (Unique).
	Insert
	// Put is Insert of one row that replaces a row with its key.
	Put
	// Append adds Values[1] to the list in Columns[1] of the row whose key in Columns[0] is
	// Values[0]. It makes a missing row.
	Append
	// Update does Set on the rows that satisfy Where and gives their Columns, if any, as it
	// leaves them. A missing row is no error.
	Update
	Delete
	Native
)

// Statement is done many times by a session, with other parameters each time.
type Statement struct {
	// Name is one word, unique in the session, for the prepared statement and for errors.
	Name  string
	Verb  Verb
	Table string
	// Columns and Values are as Verb says. An Insert or Put without Values takes its parameters
	// in order, row by row.
	Columns []string
	Values  []Expression
	// Set are an Update's assignments. All see the row as it was before. An assignment that reads
	// a column comes before the one that changes it, because products differ otherwise.
	Set   []Assignment
	Where []Condition
	// Order and Limit are for a Read; Limit 0 is no limit.
	Order      []string
	Descending bool
	Limit      Expression
	// Lock keeps others from changing the rows that a Read gives until the transaction ends.
	Lock bool
	// Rows is how many rows an Insert adds; 0 means 1.
	Rows int
	// Text is a Native's text, with parameters $1, $2 and so on. %[1]s, %[2]s stand for the full
	// names of Tables; without Tables it is sent unchanged. Without SQL it is Command. Gives is
	// true if it gives rows, Reads if it changes nothing.
	Text         string
	Tables       []string
	Gives, Reads bool
}

// GivesRows reports whether the statement gives rows.
func (s *Statement) GivesRows() bool {
	switch s.Verb {
	case Read, Count:
		return true
	case Update:
		return len(s.Columns) > 0
	default:
		return s.Gives
	}
}

// ReadsOnly reports whether the statement changes nothing.
func (s *Statement) ReadsOnly() bool { return s.Verb == Read || s.Verb == Count || s.Reads }

// Value is the expression for a row and a column of an Insert or a Put, counted from 0.
func (s *Statement) Value(row, column int) Expression {
	if s.Values == nil {
		return Parameter(row*len(s.Columns) + column + 1)
	}
	return s.Values[column]
}

// Source says where an Expression has its value from.
type Source uint8

const (
	FromNothing Source = iota
	FromParameter
	FromNumber
	FromColumn
	FromLeft
)

// Expression is a value in a statement.
type Expression struct {
	Source    Source
	Parameter int
	Number    int64
	// Column is a column of the changed row, as it was before. With Table and Key it is a column
	// of that row, as an earlier statement of the transaction left it.
	Column, Table string
	Key           []Expression
}

// Parameter is the value of parameter n, from 1.
func Parameter(n int) Expression { return Expression{Source: FromParameter, Parameter: n} }

// Number is an integer.
func Number(n int64) Expression { return Expression{Source: FromNumber, Number: n} }

// Old is a column of the changed row, as it was before.
func Old(column string) Expression { return Expression{Source: FromColumn, Column: column} }

// Left is a column of the row with this key, as an earlier statement of the same batch left it
// and gave it. Without that row the batch is refused (Absent).
func Left(table, column string, key ...Expression) Expression {
	return Expression{Source: FromLeft, Table: table, Column: column, Key: key}
}

// Assignment sets a column to Value, or adds Value if Add is true.
type Assignment struct {
	Column string
	Add    bool
	Value  Expression
}

// Set assigns a value.
func Set(column string, value Expression) Assignment { return Assignment{Column: column, Value: value} }

// Add adds a value.
func Add(column string, value Expression) Assignment {
	return Assignment{Column: column, Add: true, Value: value}
}

// Comparison is how a condition compares.
type Comparison uint8

const (
	// Equal compares with a value, In with each of the Keys of a parameter.
	Equal Comparison = iota
	In
	AtLeast
	Below
	// MultipleOf is true of a number that the value divides.
	MultipleOf
)

// Condition is a condition on a column.
type Condition struct {
	Column string
	Is     Comparison
	Value  Expression
}

// Where makes conditions: each column equals the parameter of its position, from 1.
func Where(columns ...string) (all []Condition) {
	for i, c := range columns {
		all = append(all, Condition{Column: c, Value: Parameter(i + 1)})
	}
	return all
}

// ErrNotCounted is the error of a Count in a View of a database that counts in no one state.
var ErrNotCounted = errors.New("the database does not count the rows of one state")

// ErrRollback is the error by which a Transaction's work rolls back on purpose. The reply is
// Failed with that error, and the session stays usable.
var ErrRollback = errors.New("the transaction was rolled back on purpose")

// ClassDuplicateKey is the class of a key that exists and is no repetition: an earlier or a
// concurrent transaction inserted it under the same number.
const ClassDuplicateKey = "duplicate key"

func (s *Statement) check(schema *Schema) error {
	if s.Verb == Native {
		if s.Text == "" {
			return errors.New("it has no text")
		}
		return nil
	}
	table := schema.Table(s.Table)
	if table == nil {
		return fmt.Errorf("there is no table %q", s.Table)
	}
	columns := append(append([]string{}, s.Columns...), s.Order...)
	var values []Expression
	for _, c := range s.Where {
		columns, values = append(columns, c.Column), append(values, c.Value)
	}
	assigned := map[string]bool{}
	for _, a := range s.Set {
		if a.Value.Source == FromColumn && assigned[a.Value.Column] {
			return fmt.Errorf("column %q is read after it was changed", a.Value.Column)
		}
		assigned[a.Column] = true
		columns, values = append(columns, a.Column), append(values, a.Value)
	}
	for _, name := range columns {
		if table.Column(name) == nil {
			return fmt.Errorf("table %q has no column %q", s.Table, name)
		}
	}
	for _, v := range append(values, s.Values...) {
		if v.Source == FromNothing || v.Source == FromParameter && v.Parameter < 1 {
			return errors.New("a value is missing")
		}
	}
	return s.checkVerb(table)
}

func (s *Statement) checkVerb(table *Table) error {
	switch s.Verb {
	case Insert, Put:
		if s.Values != nil && (len(s.Values) != len(s.Columns) || s.Rows > 1) {
			return errors.New("it has another number of values than of columns")
		}
		if len(s.Columns) != len(table.Columns) {
			return fmt.Errorf("it writes %d columns, table %q has %d", len(s.Columns), s.Table, len(table.Columns))
		}
	case Append:
		if len(s.Columns) != 2 || len(s.Values) != 2 || table.Column(s.Columns[1]).Type != Ints {
			return errors.New("it needs a key and a list")
		}
	case Update:
		if len(s.Set) == 0 {
			return errors.New("it changes nothing")
		}
	case Read:
		if len(s.Columns) == 0 {
			return errors.New("it gives nothing")
		}
	case Count, Delete:
	default:
		return fmt.Errorf("there is no verb %d", s.Verb)
	}
	return nil
}
