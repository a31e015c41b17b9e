package foundationdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// uuidCode is the tuple layer's type code of a UUID, whose sixteen bytes follow
// (FoundationDB, design/tuple.md).
const uuidCode = 0x30

// textKey is the key of a row whose first id is a text, which must have no zero
// byte.
func (l layout) textKey(table, text string, ids ...int64) []byte {
	key := appendText(l.key(table), text)
	for _, id := range ids {
		key = appendInt(key, id)
	}
	return key
}

// between are the bounds of the keys whose next integer after prefix is from
// this number on and before that one. If there is no such number, the end is
// not beyond the beginning.
func between(prefix []byte, from, to int64) (begin, end []byte) {
	return appendInt(prefix[:len(prefix):len(prefix)], from), appendInt(prefix[:len(prefix):len(prefix)], to)
}

// idOfEntry reads the id of an index entry, whose key is prefix, a moment and
// the id.
func idOfEntry(prefix, key []byte) (id int64, err error) {
	if rest, ok := bytes.CutPrefix(key, prefix); ok {
		if _, rest, ok = cutInt(rest); ok {
			if id, rest, ok = cutInt(rest); ok && len(rest) == 0 {
				return id, nil
			}
		}
	}
	return 0, fmt.Errorf("an index has a key that is not of ours: %x", key)
}

// recordVersion is the first byte of a record, so that what another version
// wrote is refused and not taken for something else.
const recordVersion = 1

// appendRecord appends a record to a value: the version, each integer as eight
// bytes, and each text after its length in four bytes; all big endian.
func appendRecord(value []byte, numbers []int64, texts ...string) []byte {
	value = appendWords(append(value, recordVersion), numbers...)
	for _, text := range texts {
		value = append(binary.BigEndian.AppendUint32(value, uint32(len(text))), text...)
	}
	return value
}

// readRecord is the inverse of appendRecord; it refuses whatever appendRecord
// does not make of so many integers and texts.
func readRecord(table string, value []byte, numbers []*int64, texts ...*string) error {
	if len(value) == 0 || value[0] != recordVersion {
		return fmt.Errorf("table %s has a value that does not begin with the version %d of this assay's records", table, recordVersion)
	}
	words, rest := 8*len(numbers), value[1:]
	if len(rest) < words {
		return fmt.Errorf("table %s has a record that ends within its numbers, after %d bytes", table, len(value))
	}
	if err := readWords(table, rest[:words], numbers...); err != nil {
		return err
	}
	rest = rest[words:]
	for i, text := range texts {
		if len(rest) < 4 || uint64(len(rest)-4) < uint64(binary.BigEndian.Uint32(rest)) {
			return fmt.Errorf("table %s has a record that ends within its text %d, after %d bytes", table, i+1, len(value))
		}
		end := 4 + int(binary.BigEndian.Uint32(rest))
		*text, rest = string(rest[4:end]), rest[end:]
	}
	if len(rest) != 0 {
		return fmt.Errorf("table %s has a record with %d bytes too many", table, len(rest))
	}
	return nil
}
