package sqldb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

func (d *Dialect) text(s *store.Statement, t *store.Table) string {
	switch s.Verb {
	case store.Read:
		return d.reading(s)
	case store.Count:
		text := "SELECT count(*)"
		for _, c := range s.Columns {
			text += ", " + fmt.Sprintf(d.Sum, d.name(c))
		}
		return text + " FROM " + d.fullName(s.Table) + d.where(s.Where)
	case store.Insert:
		return d.inserting(s)
	case store.Put:
		var assignments []string
		for i, c := range s.Columns {
			if !slices.Contains(t.Key(), c) {
				assignments = append(assignments, d.name(c)+" = "+d.value(s.Value(0, i)))
			}
		}
		return d.inserting(s) + d.upsert(d.names(t.Key())) + strings.Join(assignments, ", ")
	case store.Append:
		table, list, element := d.name(s.Table), d.name(s.Columns[1]), d.value(s.Values[1])
		return "INSERT INTO " + d.fullName(s.Table) + " (" + d.names(s.Columns) + ") VALUES (" + d.value(s.Values[0]) + ", " +
			fmt.Sprintf(d.NewList, list, table, element) + ")" + d.upsert(d.name(s.Columns[0])) + list + " = " + fmt.Sprintf(d.Append, list, table, element)
	case store.Update:
		text := "UPDATE " + d.fullName(s.Table) + " SET " + d.assignments(s.Set) + d.where(s.Where)
		if len(s.Columns) > 0 && d.Returning {
			text += " RETURNING " + d.names(s.Columns)
		}
		return text
	case store.Delete:
		return "DELETE FROM " + d.fullName(s.Table) + d.where(s.Where)
	default:
		return d.native(s)
	}
}

func (d *Dialect) native(s *store.Statement) string {
	if len(s.Tables) == 0 {
		return s.Text
	}
	tables := make([]any, len(s.Tables))
	for i, t := range s.Tables {
		tables[i] = d.fullName(t)
	}
	return fmt.Sprintf(s.Text, tables...)
}

func (d *Dialect) reading(s *store.Statement) string {
	text := "SELECT " + d.names(s.Columns) + " FROM " + d.fullName(s.Table) + d.where(s.Where)
	if len(s.Order) > 0 {
		direction := ""
		if s.Descending {
			direction = " DESC"
		}
		var order []string
		for _, c := range s.Order {
			order = append(order, d.name(c)+direction)
		}
		text += " ORDER BY " + strings.Join(order, ", ")
	}
	if s.Limit.Source != store.FromNothing {
		text += " LIMIT " + d.value(s.Limit)
	}
	if s.Lock {
		text += d.ForUpdate
	}
	return text
}

func (d *Dialect) inserting(s *store.Statement) string {
	if s.Values == nil {
		columns := make([]string, len(s.Columns))
		for i, c := range s.Columns {
			columns[i] = d.name(c)
		}
		return InsertText(d.fullName(s.Table), columns, max(s.Rows, 1))
	}
	var values []string
	for _, v := range s.Values {
		values = append(values, d.value(v))
	}
	return "INSERT INTO " + d.fullName(s.Table) + " (" + d.names(s.Columns) + ") VALUES (" + strings.Join(values, ", ") + ")"
}

func (d *Dialect) assignments(all []store.Assignment) string {
	var texts []string
	for _, a := range all {
		column, value := d.name(a.Column), d.value(a.Value)
		if a.Add {
			value = column + " + " + value
		}
		texts = append(texts, column+" = "+value)
	}
	return strings.Join(texts, ", ")
}

func (d *Dialect) where(conditions []store.Condition) string {
	var texts []string
	for _, c := range conditions {
		column, value := d.name(c.Column), d.value(c.Value)
		switch c.Is {
		case store.In:
			texts = append(texts, column+" "+fmt.Sprintf(d.In, value))
		case store.AtLeast:
			texts = append(texts, column+" >= "+value)
		case store.Below:
			texts = append(texts, column+" < "+value)
		case store.MultipleOf:
			texts = append(texts, column+" % "+value+" = 0")
		default:
			texts = append(texts, column+" = "+value)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(texts, " AND ")
}

// value is an expression. A Left becomes a subquery, so that a batch needs no answer in between.
func (d *Dialect) value(e store.Expression) string {
	switch e.Source {
	case store.FromNumber:
		return strconv.FormatInt(e.Number, 10)
	case store.FromColumn:
		return d.name(e.Column)
	case store.FromLeft:
		var key []string
		for i, column := range d.keys[e.Table] {
			key = append(key, d.name(column)+" = "+d.value(e.Key[i]))
		}
		return "(SELECT " + d.name(e.Column) + " FROM " + d.fullName(e.Table) + " WHERE " + strings.Join(key, " AND ") + ")"
	default:
		return "$" + strconv.Itoa(e.Parameter)
	}
}

// name replaces a reserved name.
func (d *Dialect) name(of string) string { return cmp.Or(d.Reserved[of], of) }

func (d *Dialect) names(of []string) string {
	all := make([]string, len(of))
	for i, name := range of {
		all[i] = d.name(name)
	}
	return strings.Join(all, ", ")
}

func (d *Dialect) fullName(table string) string { return d.Table(d.name(table)) }

// compiled are a session's statements. The texts after those of statements read the rows of
// updates, for products without RETURNING.
type compiled struct {
	statements []store.Statement
	texts      []Statement
	// after is, by statement, the index of the text that reads the updated row. pair is the index
	// of the text that reads two such rows with their keys. 0 means none.
	after, pair []int
}

func (d *Dialect) compile(schema *store.Schema, statements []store.Statement) (c compiled, err error) {
	if err := schema.Check(statements); err != nil {
		return c, err
	}
	own := *d
	own.keys = map[string][]string{}
	for i := range schema.Tables {
		own.keys[schema.Tables[i].Name] = schema.Tables[i].Key()
	}
	c = compiled{statements: statements, after: make([]int, len(statements)), pair: make([]int, len(statements))}
	for i := range statements {
		s := &statements[i]
		c.texts = append(c.texts, Statement{Name: s.Name, Text: own.text(s, schema.Table(s.Table))})
	}
	if d.Returning {
		return c, nil
	}
	for i := range statements {
		s := &statements[i]
		if s.Verb != store.Update || len(s.Columns) == 0 {
			continue
		}
		left := store.Statement{Table: s.Table, Columns: s.Columns, Where: s.Where}
		c.after[i] = len(c.texts)
		c.texts = append(c.texts, Statement{Name: s.Name + "_left", Text: own.reading(&left)})
		if len(s.Where) == 1 && s.Where[0].Value.Source == store.FromParameter {
			key := s.Where[0].Column
			c.pair[i] = len(c.texts)
			c.texts = append(c.texts, Statement{Name: s.Name + "_pair", Text: "SELECT " + own.names(append([]string{key}, s.Columns...)) +
				" FROM " + own.fullName(s.Table) + " WHERE " + own.name(key) + " IN ($1, $2)"})
		}
	}
	return c, nil
}
