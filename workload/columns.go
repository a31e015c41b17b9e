package workload

// Columns says how values of T are stored.
type Columns[T any] struct {
	// Names are those of the columns (fields of a document), the key first.
	Names []string
	// Fields is where each column is in a T, in the order of Names: *int64, *bool or
	// *string.
	Fields func(*T) []any
}
