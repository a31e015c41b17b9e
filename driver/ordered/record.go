package ordered

import (
	"encoding/binary"
	"fmt"
)

// uuidCode is the type code of a UUID; sixteen bytes follow (FoundationDB, design/tuple.md).
const uuidCode = 0x30

// recordVersion is a record's first byte, so that other versions' records are refused.
const recordVersion = 1

// appendRecord appends the version, each integer in eight bytes, and each text after its length in
// four bytes, all big endian.
func appendRecord(value []byte, numbers []int64, texts ...string) []byte {
	value = appendWords(append(value, recordVersion), numbers...)
	for _, text := range texts {
		value = append(binary.BigEndian.AppendUint32(value, uint32(len(text))), text...)
	}
	return value
}

// readRecord reverses appendRecord. It refuses any other count of integers and texts.
func readRecord(table string, value []byte, numbers []int64, texts []string) error {
	if len(value) == 0 || value[0] != recordVersion {
		return fmt.Errorf("table %s has a value that does not begin with the version %d of this assay's records", table, recordVersion)
	}
	words, rest := 8*len(numbers), value[1:]
	if len(rest) < words {
		return fmt.Errorf("table %s has a record that ends within its numbers, after %d bytes", table, len(value))
	}
	if err := readWords(table, rest[:words], numbers); err != nil {
		return err
	}
	rest = rest[words:]
	for i := range texts {
		if len(rest) < 4 || uint64(len(rest)-4) < uint64(binary.BigEndian.Uint32(rest)) {
			return fmt.Errorf("table %s has a record that ends within its text %d, after %d bytes", table, i+1, len(value))
		}
		end := 4 + int(binary.BigEndian.Uint32(rest))
		texts[i], rest = string(rest[4:end]), rest[end:]
	}
	if len(rest) != 0 {
		return fmt.Errorf("table %s has a record with %d bytes too many", table, len(rest))
	}
	return nil
}
