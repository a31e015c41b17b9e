package store

// Document is a document, its fields in their order. Each value is nil, int64, float64,
// bool, string, a Document or []any, which has such values. It is a row of a database that
// lacks SQL and not Language, and a statement in its language: a command as the database
// has it, such as {find: COLLECTION, filter: {}}.
type Document []Field

// Field is one field of a Document.
type Field struct {
	Name  string
	Value any
}

// Value is the value of a field; nil if there is none.
func (d Document) Value(name string) any {
	for _, f := range d {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Command is the Text of a Native that is a Document: its only parameter.
const Command = "$1"
