package cassandra

import (
	"slices"
	"strings"

	"assay/store"
)

// way is a keyspace's table for one way to find a table's rows, with all columns: one for the key
// and one for each index (Cassandra documentation, "Data Modeling"). A row is inserted into each,
// without a transaction.
type way struct {
	name string
	// partition is the column whose hash places a row: the first of the key or of the index, or
	// the part's number by clustering[0].
	partition  string
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

func (w *way) part(value int64) int64 {
	if value%w.bucket.Size < 0 {
		return value/w.bucket.Size - 1
	}
	return value / w.bucket.Size
}

// serves reports whether a Read or a Count can be asked of this table. The statement must name the
// partition, or a range's parts. It must name the clustering columns in order, the last perhaps by
// a range. It must want that order, or its reverse.
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

// ordered reports whether rows that are equal in single come in this order.
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
