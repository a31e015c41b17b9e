package store

import (
	"errors"
	"fmt"
)

// Verb is what a statement does.
type Verb uint8

const (
	// Read gives Columns of the rows that satisfy Where, in the order of Order, at most
	// Limit of them.
	Read Verb = iota + 1
	// Count gives one row: how many rows satisfy Where, and the sum of each of Columns
	// over them, 0 of none.
	Count
	// Insert adds Rows rows with Columns, which are all columns of the table, of Values. A
	// key that is there already is refused (Unique).
	Insert
	// Put sets Columns, which are all columns of the table, of the row with the key among
	// them to Values. A row that is not there is made.
	Put
	// Append adds Values[1] to the end of the list in Columns[1] of the row with the key
	// Values[0] in Columns[0]. A row that is not there is made.
	Append
	// Update does Set on the rows that satisfy Where and gives Columns, if there are any,
	// of each as it leaves it. A row that Where names by its key and that is not there is
	// no error.
	Update
	// Delete takes the rows away that satisfy Where.
	Delete
	// Native is Text in the database's own language.
	Native
)

// Statement is one that a session does many times, with other parameters.
type Statement struct {
	// Name is one word, unique within the session: the statement's name where it is
	// prepared, and what it does in errors.
	Name  string
	Verb  Verb
	Table string
	// Columns and Values are as Verb says. Without Values of an Insert or a Put they are
	// its parameters in their order, one row after the other.
	Columns []string
	Values  []Expression
	// Set are assignments of an Update. All see the row as it was before; so that every
	// product agrees, one that reads a column comes before the one that changes it.
	Set []Assignment
	// Where are conditions, which all must hold; none for all rows.
	Where []Condition
	// Order are the columns by which a Read sorts, and Limit, unless it is zero, the most
	// rows that it gives.
	Order      []string
	Descending bool
	Limit      Expression
	// Lock is true if the rows that a Read gives cannot be changed by others until the
	// transaction ends.
	Lock bool
	// Rows is how many rows an Insert adds; 0 means 1.
	Rows int
	// Text is the text of a Native, with parameters as $1, $2. Tables are those whose full
	// names it has as %[1]s, %[2]s; without any it is sent as it is. Without SQL it is
	// Command. Gives is true if it
	// gives rows, Reads if it changes nothing.
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

// Value is the expression of column number column in row number row of an Insert or a Put.
func (s *Statement) Value(row, column int) Expression {
	if s.Values == nil {
		return Parameter(row*len(s.Columns) + column + 1)
	}
	return s.Values[column]
}

// Source is where an Expression has its value from.
type Source uint8

const (
	// FromNothing is the zero Expression, which has no value.
	FromNothing Source = iota
	FromParameter
	FromNumber
	FromColumn
	FromLeft
)

// Expression is a value in a statement.
type Expression struct {
	Source Source
	// Parameter is its number, from 1.
	Parameter int
	// Number is the value itself.
	Number int64
	// Column is one of the row that is changed, as it was, or with Table and Key that of
	// the row with this key, as an earlier statement of the same transaction has left it.
	Column, Table string
	Key           []Expression
}

// Parameter is the value of parameter number n, from 1.
func Parameter(n int) Expression { return Expression{Source: FromParameter, Parameter: n} }

// Number is an integer.
func Number(n int64) Expression { return Expression{Source: FromNumber, Number: n} }

// Old is the value of a column of the row that is changed, as it was before.
func Old(column string) Expression { return Expression{Source: FromColumn, Column: column} }

// Left is the value of a column of the row with this key, as an earlier statement of the
// same batch has left it and given it back. Without such a row the batch is refused
// (Absent).
func Left(table, column string, key ...Expression) Expression {
	return Expression{Source: FromLeft, Table: table, Column: column, Key: key}
}

// Assignment changes a column: to Value, or by adding Value if Add is true.
type Assignment struct {
	Column string
	Add    bool
	Value  Expression
}

// Set assigns a value, and Add adds one.
func Set(column string, value Expression) Assignment { return Assignment{Column: column, Value: value} }

// Add adds a value.
func Add(column string, value Expression) Assignment {
	return Assignment{Column: column, Add: true, Value: value}
}

// Comparison is how a condition compares.
type Comparison uint8

const (
	// Equal is equality with a value, In with one of the Keys of a parameter.
	Equal Comparison = iota
	In
	// AtLeast and Below compare with a value.
	AtLeast
	Below
	// MultipleOf is true of a number that the value divides.
	MultipleOf
)

// Condition is one on a column.
type Condition struct {
	Column string
	Is     Comparison
	Value  Expression
}

// Where are conditions of equality of columns with the parameters from 1 on, in their
// order.
func Where(columns ...string) (all []Condition) {
	for i, c := range columns {
		all = append(all, Condition{Column: c, Value: Parameter(i + 1)})
	}
	return all
}

// ErrNotCounted is the error of a Count in a View of a database that counts in no one
// state.
var ErrNotCounted = errors.New("the database does not count the rows of one state")

// ErrRollback is in the error with which a Transaction's work has everything rolled back
// though nothing is wrong. The reply is Failed and has that error, and the session can be
// used again.
var ErrRollback = errors.New("the transaction was rolled back on purpose")

// ClassDuplicateKey is the class of a row whose key is there already, where that is not a
// repetition: inserted by a transaction that went before under the same number or, at
// levels that do not see it, at the same time.
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
