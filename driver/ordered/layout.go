// Package ordered does statements on rows in a database of ordered keys: how rows become keys and
// values, which keys a statement reads and writes, and index entries. Package rows plans.
//
// It must not know any driver, nor how keys are read, written and committed.
package ordered

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"assay/store"
)

// TableLease and TableMark stand in place of a table's name in their keys.
const (
	TableLease = "lease"
	TableMark  = "mark"
)

// Type codes of the tuple layer (FoundationDB, "Data Types and the Tuple Layer",
// design/tuple.md). An integer of n bytes has the code zeroCode+n, or zeroCode-n if negative.
const (
	textCode = 0x02
	zeroCode = 0x14
	maxInt   = 8
)

// MaxRoot keeps keys short, far below limits such as FoundationDB's 10,000 bytes (manual, "Known
// Limitations").
const MaxRoot = 64

// ValidRoot reports whether a name may begin all keys: letters, digits, - and _.
func ValidRoot(name string) bool {
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= MaxRoot
}

// Layout makes the keys of one workload.
type Layout struct {
	// prefix is the tuple (root, workload), which begins all keys.
	prefix []byte
	// Name is the prefix for people.
	Name string
}

// NewLayout is a workload's layout below a root. Neither name may have a zero byte.
func NewLayout(root, work string) Layout {
	return Layout{prefix: appendText(appendText(nil, root), work), Name: fmt.Sprintf("the prefix (%q, %q)", root, work)}
}

// Bounds is the range of all keys under the prefix.
func (l Layout) Bounds() (begin, end []byte) { return l.prefix, beyond(l.prefix) }

// Mark is the mark's key, Lease the lease's.
func (l Layout) Mark() []byte  { return l.Key(TableMark) }
func (l Layout) Lease() []byte { return l.Key(TableLease) }

// Key is the key of the row with these ids.
func (l Layout) Key(table string, ids ...int64) []byte {
	key := make([]byte, 0, len(l.prefix)+len(table)+2+len(ids)*(1+maxInt))
	key = appendText(append(key, l.prefix...), table)
	for _, id := range ids {
		key = appendInt(key, id)
	}
	return key
}

// Rows is the range of a table's rows whose keys begin with the ids.
func (l Layout) Rows(table string, ids ...int64) (begin, end []byte) {
	return within(l.Key(table, ids...))
}

// Gaps are the ranges under the prefix that belong neither to the tables, nor to mark and lease.
func (l Layout) Gaps(tables []string) (gaps [][2][]byte) {
	begin, end := l.Bounds()
	for _, table := range slices.Sorted(slices.Values(append([]string{TableLease, TableMark}, tables...))) {
		key := l.Key(table)
		gaps = append(gaps, [2][]byte{begin, key})
		begin = beyond(key)
	}
	return append(gaps, [2][]byte{begin, end})
}

// within is the range of all longer keys with this prefix. 0xff is greater than all type codes, as
// in the tuple layer's own ranges.
func within(key []byte) (begin, end []byte) {
	return append(key[:len(key):len(key)], 0x00), append(key[:len(key):len(key)], 0xff)
}

// beyond is the first key after all keys with the prefix, which must end in a text's zero byte.
func beyond(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	end[len(end)-1]++
	return end
}

// appendText appends a text without zero bytes.
func appendText(key []byte, text string) []byte {
	return append(append(append(key, textCode), text...), 0)
}

func appendInt(key []byte, n int64) []byte {
	magnitude := uint64(n)
	if n < 0 {
		magnitude = -magnitude
	}
	size := (bits.Len64(magnitude) + 7) / 8
	code := byte(zeroCode + size)
	if n < 0 {
		code, magnitude = byte(zeroCode-size), ^magnitude
	}
	var all [maxInt]byte
	binary.BigEndian.PutUint64(all[:], magnitude)
	return append(append(key, code), all[maxInt-size:]...)
}

// cutInt reverses appendInt and refuses other encodings.
func cutInt(key []byte) (n int64, rest []byte, ok bool) {
	if len(key) == 0 {
		return 0, nil, false
	}
	size := int(key[0]) - zeroCode
	negative := size < 0
	if negative {
		size = -size
	}
	if size > maxInt || len(key) < 1+size {
		return 0, nil, false
	}
	var magnitude uint64
	for _, b := range key[1 : 1+size] {
		if negative {
			b = ^b
		}
		magnitude = magnitude<<8 | uint64(b)
	}
	n = int64(magnitude)
	if negative {
		n = -n
	}
	return n, key[1+size:], string(appendInt(nil, n)) == string(key[:1+size])
}

func appendWords(value []byte, words ...int64) []byte {
	for _, w := range words {
		value = binary.BigEndian.AppendUint64(value, uint64(w))
	}
	return value
}

func readWords(table string, value []byte, words []int64) error {
	if len(value) != 8*len(words) {
		return fmt.Errorf("table %s has a value of %d bytes, want %d", table, len(value), 8*len(words))
	}
	for i := range words {
		words[i] = int64(binary.BigEndian.Uint64(value[8*i:]))
	}
	return nil
}

// EncodeMark and DecodeMark convert the mark to its key's value and back. DecodeMark refuses other
// values.
func EncodeMark(m store.Marker) ([]byte, error) {
	m.Created = m.Created.UTC()
	return json.Marshal(m)
}

func DecodeMark(value []byte) (m store.Marker, ok bool) {
	err := json.Unmarshal(value, &m)
	m.Created = m.Created.UTC()
	return m, err == nil && m.Workload != ""
}
