package store

// Document is a list of fields in order. Values are nil, int64, float64, bool, string, Document
// or []any of such values. A database that lacks SQL and has Language takes it as row and as
// statement: a command such as {find: COLLECTION, filter: {}}.
type Document []Field

// Field is one field of a Document.
type Field struct {
	Name  string
	Value any
}

// Value returns a field's value; nil if there is no such field.
func (d Document) Value(name string) any {
	for _, f := range d {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Command is the Text of a Native whose only parameter is a Document.
const Command = "$1"
