package cassandra

import (
	"slices"
	"strings"

	"assay/store"
)

// way is a table in the keyspace by which rows of a table of the schema are found. Every
// way to read has one of its own, with all columns, as Cassandra's data model wants it
// (Cassandra documentation, "Data Modeling"): one for the key and one for each index. A row
// is an insert into each, which no transaction holds together.
type way struct {
	name string
	// partition is the column whose hash says where a row lies: the first one of the key
	// or of the index, or the number of the part that has the value of clustering[0].
	partition string
	// clustering are the columns by which the rows of a partition are ordered.
	clustering []string
	bucket     store.Bucket
}

// waysOf are the ways to a table's rows, at least one.
func waysOf(t *store.Table, prefix string) (ways []*way) {
	key := t.Key()
	for _, index := range t.Indexes {
		if index.Unread {
			continue
		}
		w := &way{partition: index.Columns[0], clustering: index.Columns[1:], bucket: index.Bucket}
		if w.bucket.Size > 0 {
			w.partition, w.clustering = w.bucket.Name, index.Columns
		}
		w.name = prefix + t.Name + "_by_" + w.partition
		w.clustering = slices.Clone(w.clustering)
		for _, column := range key {
			if !slices.Contains(index.Columns, column) {
				w.clustering = append(w.clustering, column)
			}
		}
		ways = append(ways, w)
	}
	if t.Unread && len(ways) > 0 {
		return ways
	}
	return slices.Insert(ways, 0, &way{name: prefix + t.Name, partition: key[0], clustering: key[1:]})
}

// columns are the columns of the table, as CREATE TABLE has them.
func (w *way) columns(t *store.Table) string {
	var text strings.Builder
	if w.bucket.Size > 0 {
		text.WriteString(w.bucket.Name + " bigint, ")
	}
	for i := range t.Columns {
		text.WriteString(t.Columns[i].Name + " " + cqlType(&t.Columns[i]) + ", ")
	}
	return text.String() + "PRIMARY KEY (" + strings.Join(append([]string{w.partition}, w.clustering...), ", ") + ")"
}

// cqlType is a column's type in CQL.
func cqlType(c *store.Column) string {
	switch c.Type {
	case store.Boolean:
		return "boolean"
	case store.String, store.ASCII:
		return "text"
	case store.UUID:
		return "uuid"
	case store.Ints:
		return "list<bigint>"
	}
	if c.Narrow {
		return "int"
	}
	return "bigint"
}

// part is the number of the part that has a value.
func (w *way) part(value int64) int64 { return floor(value, w.bucket.Size) }

// floor is a/b, rounded down.
func floor(a, b int64) int64 {
	if a%b < 0 {
		return a/b - 1
	}
	return a / b
}

// serves reports whether a Read or a Count can be asked of this table: the partition is
// named, or all parts of a range are; then the columns of the order of its rows are named
// one after the other, but for the last, of which there may be a range; and the rows are
// wanted in that order or in the reverse one.
func (w *way) serves(s *store.Statement) bool {
	if len(s.Where) == 0 {
		return w.bucket.Size == 0 && len(s.Order) == 0
	}
	single, several := map[string]bool{}, map[string]int{}
	for _, c := range s.Where {
		switch c.Is {
		case store.Equal:
			single[c.Column] = true
		case store.AtLeast, store.Below:
			several[c.Column]++
		case store.In:
			return c.Column == w.partition && len(s.Where) == 1 && len(s.Order) == 0
		default:
			return false
		}
	}
	left := len(single) + len(several)
	if w.bucket.Size > 0 {
		if several[w.clustering[0]] != 2 || s.Limit.Source != store.FromNothing || s.Verb == store.Count {
			return false
		}
	} else if single[w.partition] {
		left--
	} else {
		return false
	}
	for _, column := range w.clustering {
		if single[column] {
			left--
			continue
		}
		if several[column] > 0 {
			left--
		}
		break
	}
	return left == 0 && w.ordered(s.Order, single)
}

// ordered reports whether rows that are alike in single come in this order.
func (w *way) ordered(order []string, single map[string]bool) bool {
	at := 0
	for _, column := range order {
		if single[column] {
			continue
		}
		for at < len(w.clustering) && single[w.clustering[at]] {
			at++
		}
		if at == len(w.clustering) || w.clustering[at] != column {
			return false
		}
		at++
	}
	return true
}
