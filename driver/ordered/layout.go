// Package ordered does statements on rows that lie in the keys and values of a database whose
// keys are in order, planned by package rows: how keys and values are made of rows, which keys
// a statement reads and writes, and the entries of indexes.
//
// It must not know any driver, nor how keys are read, written and committed, which is one's.
package ordered

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"

	"assay/store"
)

// Tables that are no schema's, the third element of a key.
const (
	TableLease = "lease"
	TableMark  = "mark"
)

// The type codes of the tuple layer that are used here (FoundationDB, "Data
// Types and the Tuple Layer", design/tuple.md). An integer of n bytes has the
// code zeroCode+n if it is positive and zeroCode-n if it is negative.
const (
	textCode = 0x02
	zeroCode = 0x14
	// maxInt is how many bytes an int64 may need.
	maxInt = 8
)

// MaxRoot keeps keys small beside what they hold, and far below the limit of databases, such as
// FoundationDB's of 10,000 bytes (manual, "Known Limitations").
const MaxRoot = 64

// ValidRoot reports whether a name can be the first element of all keys: letters, digits, - and _.
func ValidRoot(name string) bool {
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= MaxRoot
}

// Layout knows the keys of one workload.
type Layout struct {
	// prefix is the tuple (root, workload); all keys begin with it.
	prefix []byte
	// Name is the prefix as a person would write it.
	Name string
}

// NewLayout is the layout of a workload's keys below a root, neither of which has a zero
// byte.
func NewLayout(root, work string) Layout {
	return Layout{prefix: appendText(appendText(nil, root), work), Name: fmt.Sprintf("the prefix (%q, %q)", root, work)}
}

// Bounds are the first key and the first beyond of everything under the prefix.
func (l Layout) Bounds() (begin, end []byte) { return l.prefix, beyond(l.prefix) }

// Mark is the key of the mark, and Lease that of the lease.
func (l Layout) Mark() []byte  { return l.Key(TableMark) }
func (l Layout) Lease() []byte { return l.Key(TableLease) }

// Key is the key of a row with these ids.
func (l Layout) Key(table string, ids ...int64) []byte {
	key := make([]byte, 0, len(l.prefix)+len(table)+2+len(ids)*(1+maxInt))
	key = appendText(append(key, l.prefix...), table)
	for _, id := range ids {
		key = appendInt(key, id)
	}
	return key
}

// Rows are the bounds of all rows of a table whose ids begin with these.
func (l Layout) Rows(table string, ids ...int64) (begin, end []byte) {
	return within(l.Key(table, ids...))
}

// Gaps are the bounds of all that is under the prefix and in none of these tables, the
// mark's and the lease's.
func (l Layout) Gaps(tables []string) (gaps [][2][]byte) {
	begin, end := l.Bounds()
	for _, table := range slices.Sorted(slices.Values(append([]string{TableLease, TableMark}, tables...))) {
		key := l.Key(table)
		gaps = append(gaps, [2][]byte{begin, key})
		begin = beyond(key)
	}
	return append(gaps, [2][]byte{begin, end})
}

// within are the bounds of all longer keys that begin with this one. Type codes
// are below 0xff, so that the end is beyond whatever follows, as in the tuple
// layer's own range.
func within(key []byte) (begin, end []byte) {
	return append(key[:len(key):len(key)], 0x00), append(key[:len(key):len(key)], 0xff)
}

// beyond is the first key after all that begin with prefix, whose last byte is
// the zero that ends a text.
func beyond(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	end[len(end)-1]++
	return end
}

// appendText appends a text that has no zero byte.
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

// cutInt is the inverse of appendInt; it refuses whatever appendInt does not
// make.
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

// appendWords appends integers to a value, eight bytes each.
func appendWords(value []byte, words ...int64) []byte {
	for _, w := range words {
		value = binary.BigEndian.AppendUint64(value, uint64(w))
	}
	return value
}

// readWords is the inverse of appendWords.
func readWords(table string, value []byte, words []int64) error {
	if len(value) != 8*len(words) {
		return fmt.Errorf("table %s has a value of %d bytes, want %d", table, len(value), 8*len(words))
	}
	for i := range words {
		words[i] = int64(binary.BigEndian.Uint64(value[8*i:]))
	}
	return nil
}

// EncodeMark and DecodeMark are the value of the mark's key. What is no mark of
// ours is not decoded.
func EncodeMark(m store.Marker) ([]byte, error) {
	m.Created = m.Created.UTC()
	return json.Marshal(m)
}

func DecodeMark(value []byte) (m store.Marker, ok bool) {
	err := json.Unmarshal(value, &m)
	m.Created = m.Created.UTC()
	return m, err == nil && m.Workload != ""
}
