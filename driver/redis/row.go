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

type layout struct {
	// name begins all keys: PREFIX:WORKLOAD, or {PREFIX}:WORKLOAD if all are in one slot of a
	// Redis Cluster ("Redis cluster specification", "Hash tags").
	name string
	// tag ends the keys of mark and lease if rows are spread, as one script changes both and needs
	// them in one slot.
	tag string
	// spread: rows lie in their keys' own slots.
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

// table is the prefix of a table's keys. all and within are SCAN's patterns: for all keys of ours,
// and for rows only.
func (l layout) mark() string              { return l.name + "#mark" + l.tag }
func (l layout) lease() string             { return l.name + "#lease" + l.tag }
func (l layout) table(table string) string { return l.name + ":" + table + ":" }
func (l layout) all() string               { return l.name + "[:#]*" }
func (l layout) within() string            { return l.name + ":*" }

// key is a row's key: numbers in decimal, UUIDs in hexadecimal, texts unchanged. In a key of
// several columns a text follows its length, so that keys are unique.
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

func (l layout) keyOf(t *rows.Table, row rows.Row) string { return l.key(t, t.Key(row, nil)) }

func (l layout) keysOf(t *rows.Table, all []rows.Row) (keys []string) {
	for _, row := range all {
		keys = append(keys, l.keyOf(t, row))
	}
	return keys
}

// tableOf is the table of a key, or nil.
func (l layout) tableOf(tables map[string]*rows.Table, key string) *rows.Table {
	rest, ours := strings.CutPrefix(key, l.name+":")
	table, _, ends := strings.Cut(rest, ":")
	if !ours || !ends {
		return nil
	}
	return tables[table]
}

// valueOf is a row's value, key columns included: all numbers as varints, then each text after its
// length (encoding/binary).
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

// rowOf reverses valueOf and refuses everything else.
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
