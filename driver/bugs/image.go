package bugs

import (
	"fmt"
	"slices"
	"strings"

	"assay/store"
)

// place identifies a row by table and key.
type place struct{ table, key string }

func placeOf(table string, key []store.Value) place {
	var b strings.Builder
	for _, v := range key {
		fmt.Fprintf(&b, "%d:%d:%q:%x:%v;", v.Kind, v.Number, v.Text, v.Bytes, v.Numbers)
	}
	return place{table, b.String()}
}

// image is a row with some of its columns, or nil if the row is absent.
type image []store.Value

// equal reports whether two images have equal values, or are both absent.
func (i image) equal(other image) bool {
	return (i == nil) == (other == nil) && placeOf("", i) == placeOf("", other)
}

func (i image) with(column int, v store.Value) image {
	changed := slices.Clone(i)
	changed[column] = v
	return changed
}

// pick selects columns of a whole row.
func (i image) pick(t *store.Table, columns []string) (values image) {
	if i == nil {
		return nil
	}
	for _, c := range columns {
		values = append(values, i[column(t, c)])
	}
	return values
}

func column(t *store.Table, name string) int { return slices.Index(t.Names(), name) }

func decode(row store.Row, t *store.Table, columns []string) (image, error) {
	values, into := make(image, len(columns)), make([]any, len(columns))
	for i, name := range columns {
		v := &values[i]
		switch t.Column(name).Type {
		case store.Integer:
			v.Kind, into[i] = store.Int, &v.Number
		case store.Boolean:
			into[i] = new(bool)
		case store.UUID:
			v.Kind, into[i] = store.Bytes, &v.Bytes
		case store.Ints:
			v.Kind, into[i] = store.List, &v.Numbers
		default:
			v.Kind, into[i] = store.Text, &v.Text
		}
	}
	if err := row.Scan(into...); err != nil {
		return nil, err
	}
	for i := range into {
		if yes, is := into[i].(*bool); is {
			values[i] = store.OfBool(*yes)
		}
	}
	return values, nil
}

func (i image) Scan(into ...any) error { return store.Values(i).Scan(into...) }

func (i image) AppendValues(into []any) ([]any, error) { return store.Values(i).AppendValues(into) }

// valueOfExpression evaluates an expression; ok is false if it depends on rows.
func valueOfExpression(e store.Expression, parameters []store.Value) (v store.Value, ok bool) {
	switch e.Source {
	case store.FromParameter:
		return parameters[e.Parameter-1], true
	case store.FromNumber:
		return store.OfInt(e.Number), true
	default:
		return v, false
	}
}

// keyed is the key that the equality conditions name; ok is false if they name none.
func keyed(t *store.Table, s *store.Statement, parameters []store.Value) (key []store.Value, ok bool) {
	for _, name := range t.Key() {
		i := slices.IndexFunc(s.Where, func(c store.Condition) bool { return c.Column == name && c.Is == store.Equal })
		if i < 0 {
			return nil, false
		}
		v, ok := valueOfExpression(s.Where[i].Value, parameters)
		if !ok {
			return nil, false
		}
		key = append(key, v)
	}
	return key, true
}

// missed are the places of the rows that a Read names by key.
func missed(t *store.Table, s *store.Statement, parameters []store.Value) (places []place) {
	if s.Verb != store.Read {
		return nil
	}
	if key, ok := keyed(t, s, parameters); ok {
		return []place{placeOf(t.Name, key)}
	}
	for _, c := range s.Where {
		if v, ok := valueOfExpression(c.Value, parameters); ok && c.Is == store.In && c.Column == t.Key()[0] && t.Keys() == 1 {
			for _, n := range v.Numbers {
				places = append(places, placeOf(t.Name, store.OfInts(n)))
			}
		}
	}
	return places
}

func satisfies(t *store.Table, s *store.Statement, parameters []store.Value, row image) bool {
	if row == nil {
		return false
	}
	return !slices.ContainsFunc(s.Where, func(c store.Condition) bool {
		v, _ := valueOfExpression(c.Value, parameters)
		of := row[column(t, c.Column)]
		switch c.Is {
		case store.In:
			return !slices.Contains(v.Numbers, of.Number)
		case store.AtLeast:
			return of.Number < v.Number
		case store.Below:
			return of.Number >= v.Number
		case store.MultipleOf:
			return of.Number%v.Number != 0
		default:
			return !image{of}.equal(image{v})
		}
	})
}

// fullOf is a statement that reads whole the rows of another statement. takes are the indexes of
// its parameters among the other's.
func fullOf(t *store.Table, s *store.Statement) (read store.Statement, takes []int) {
	read = store.Statement{Verb: store.Read, Table: s.Table, Columns: t.Names()}
	for _, c := range s.Where {
		if c.Value.Source == store.FromParameter {
			takes = append(takes, c.Value.Parameter-1)
			c.Value = store.Parameter(len(takes))
		}
		read.Where = append(read.Where, c)
	}
	return read, takes
}
