package redis

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"assay/driver/rows"
	"assay/store"
)

// layout knows the keys of one workload.
type layout struct {
	// name is what all keys begin with: PREFIX:WORKLOAD, or {PREFIX}:WORKLOAD where all are in
	// one slot of a Redis Cluster, since what is in braces decides the slot of a key ("Redis
	// cluster specification", "Hash tags").
	name string
	// tag ends the mark and the lease where rows are spread over the slots: a script changes
	// both, which must be in one.
	tag string
	// spread is true if rows are in whatever slots their keys have.
	spread bool
}

func layoutOf(s *settings, of *store.Schema) layout {
	tag := "{" + s.prefix + "}"
	switch {
	case !s.sharded:
		return layout{name: s.prefix + ":" + of.Workload}
	case of.Transactions:
		return layout{name: tag + ":" + of.Workload}
	}
	return layout{name: s.prefix + ":" + of.Workload, tag: tag, spread: true}
}

// mark and lease are the keys of the mark and the lease, table what those of a table's rows
// begin with, and all and within are patterns of SCAN: for all keys that are ours, and for
// those of rows alone.
func (l layout) mark() string              { return l.name + "#mark" + l.tag }
func (l layout) lease() string             { return l.name + "#lease" + l.tag }
func (l layout) table(table string) string { return l.name + ":" + table + ":" }
func (l layout) all() string               { return l.name + "[:#]*" }
func (l layout) within() string            { return l.name + ":*" }

// key is the key of the row with these values in the columns of the table's key: numbers as
// they are written, UUIDs in hexadecimal, and texts as they are, behind their length where the
// key has several columns, so that no two rows have one key.
func (l layout) key(t *rows.Table, values []rows.Value) string {
	key := []byte(l.table(t.Name))
	for column, v := range values {
		if column > 0 {
			key = append(key, ':')
		}
		switch t.Columns[column].Type {
		case store.Integer, store.Boolean:
			key = strconv.AppendInt(key, v.Number, 10)
		case store.UUID:
			key = hex.AppendEncode(key, []byte(v.Text))
		default:
			if t.Keys() > 1 {
				key = append(strconv.AppendInt(key, int64(len(v.Text)), 10), ':')
			}
			key = append(key, v.Text...)
		}
	}
	return string(key)
}

// keyOf is the key of a row, and keysOf are those of several.
func (l layout) keyOf(t *rows.Table, row rows.Row) string { return l.key(t, t.Key(row, nil)) }

func (l layout) keysOf(t *rows.Table, all []rows.Row) (keys []string) {
	for _, row := range all {
		keys = append(keys, l.keyOf(t, row))
	}
	return keys
}

// tableOf is the table that a key is in; nil if it is in none of these.
func (l layout) tableOf(tables map[string]*rows.Table, key string) *rows.Table {
	rest, ours := strings.CutPrefix(key, l.name+":")
	table, _, ends := strings.Cut(rest, ":")
	if !ours || !ends {
		return nil
	}
	return tables[table]
}

// valueOf is the value of a row's key: all its numbers as variable-length integers, and then
// its texts, each behind its length (encoding/binary). The columns of the key are among them.
func valueOf(row rows.Row) string {
	var value []byte
	for _, n := range row.Numbers {
		value = binary.AppendVarint(value, n)
	}
	for _, text := range row.Texts {
		value = append(binary.AppendUvarint(value, uint64(len(text))), text...)
	}
	return string(value)
}

// rowOf is the inverse of valueOf; it refuses whatever valueOf does not make of a row of the
// table.
func rowOf(t *rows.Table, value string) (rows.Row, error) {
	row, rest := t.Make(), []byte(value)
	bad := fmt.Errorf("table %s has a value of %d bytes that is no row of it", t.Name, len(value))
	for i := range row.Numbers {
		n, size := binary.Varint(rest)
		if size <= 0 {
			return row, bad
		}
		row.Numbers[i], rest = n, rest[size:]
	}
	for i := range row.Texts {
		length, size := binary.Uvarint(rest)
		if size <= 0 || length > uint64(len(rest)-size) {
			return row, bad
		}
		rest = rest[size:]
		row.Texts[i], rest = string(rest[:length]), rest[length:]
	}
	if len(rest) > 0 {
		return row, bad
	}
	return row, nil
}
