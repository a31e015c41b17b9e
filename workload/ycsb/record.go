package ycsb

import (
	"fmt"

	"assay/store"
	"assay/workload"
)

// A record's key is its number under a permutation of the numbers of 62 bits that
// depends on the seed, so that records come in no order, as YCSB's do that are
// inserted "hashed", and each key tells its number.
const keyBits = 62

const (
	keyMask   = 1<<keyBits - 1
	keyFactor = 0x1e3779b97f4a7c15 // odd, so that it has an inverse
)

// keys is the permutation of one seed.
type keys struct{ offset, inverse uint64 }

func newKeys(seed uint64) keys {
	k := keys{offset: workload.Mix(seed) & keyMask, inverse: 1}
	for range 6 { // Newton's method doubles the bits that are right each time
		k.inverse *= 2 - keyFactor*k.inverse
	}
	return k
}

// of is the key of a number from 0 to 2^62-1.
func (k keys) of(number int64) int64 {
	x := (uint64(number) ^ k.offset) & keyMask
	for range 2 {
		x ^= x >> (keyBits / 2)
		x = x * keyFactor & keyMask
	}
	return int64(x ^ x>>(keyBits/2))
}

// number is the inverse of of; -1 for what is no key.
func (k keys) number(key int64) int64 {
	if key < 0 || key > keyMask {
		return -1
	}
	x := uint64(key)
	x ^= x >> (keyBits / 2)
	for range 2 {
		x = x * k.inverse & keyMask
		x ^= x >> (keyBits / 2)
	}
	return int64(x ^ k.offset)
}

// A version says who wrote what a record holds: a client, its operation, and the
// attempt. What is loaded is the version of the client loader whose operation is the
// record's number, and attempt 1. A version has 62 bits.
type version int64

const (
	attemptBits = 10
	seqBits     = 38
	clientBits  = 14

	maxAttempt = 1<<attemptBits - 1
	maxSeq     = 1<<seqBits - 1
	loader     = 1<<clientBits - 1
)

// What a read found where it is no version.
const (
	// absent: there is no record of the key.
	absent version = -1 - iota
	// garbled: at least one field holds what nobody can have written.
	garbled
	// mixed: each field is one that somebody can have written, and not all are of
	// one version.
	mixed
)

// versionOf is the version of an attempt; ok is false if it has none.
func versionOf(client int, seq uint64, attempt int) (v version, ok bool) {
	if client < 0 || client >= loader || seq > maxSeq || attempt < 1 || attempt > maxAttempt {
		return 0, false
	}
	return version(client)<<(seqBits+attemptBits) | version(seq)<<attemptBits | version(attempt), true
}

// loadedVersion is the version of a record that was loaded.
func loadedVersion(number int64) version {
	return loader<<(seqBits+attemptBits) | version(number)<<attemptBits | 1
}

func (v version) split() (client int, seq uint64, attempt int) {
	return int(v >> (seqBits + attemptBits)), uint64(v) >> attemptBits & maxSeq, int(v & maxAttempt)
}

// String says who wrote it.
func (v version) String() string {
	client, seq, attempt := v.split()
	switch {
	case v == absent:
		return "no record"
	case v < 0:
		return "what nobody wrote"
	case client == loader:
		return "what was loaded"
	case attempt == 1:
		return fmt.Sprintf("what operation %d of client %d wrote", seq, client)
	default:
		return fmt.Sprintf("what attempt %d of operation %d of client %d wrote", attempt, seq, client)
	}
}

// alphabet are the characters of fields, six bits each.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-"

// versionChars is how many characters hold a version.
const versionChars = 11

// contents makes and recognizes the fields of records, for one seed. A field holds
// the version, and behind it characters that follow from seed, key, version and field
// alone. It is safe for concurrent use.
type contents struct {
	seed          uint64
	fields, bytes int
	values        [256]int8 // of the characters of alphabet; -1 of others
}

func newContents(c Config, seed uint64) *contents {
	of := &contents{seed: seed, fields: c.Fields, bytes: c.FieldBytes}
	for i := range of.values {
		of.values[i] = -1
	}
	for i := range alphabet {
		of.values[alphabet[i]] = int8(i)
	}
	return of
}

// record is the record of a key in a version, as a row.
func (c *contents) record(key int64, v version) []store.Value {
	row := append(make([]store.Value, 0, 1+c.fields), store.OfInt(key))
	buffer := make([]byte, c.bytes)
	for field := range c.fields {
		c.field(buffer, key, v, field)
		row = append(row, store.OfText(string(buffer)))
	}
	return row
}

// field makes the text of a field.
func (c *contents) field(into []byte, key int64, v version, field int) {
	for i := range versionChars {
		into[i] = alphabet[v>>(6*i)&63]
	}
	random := workload.NewRandom(c.seed^workload.Mix(uint64(key)), workload.Mix(uint64(v))+uint64(field))
	for rest := into[versionChars:]; len(rest) > 0; {
		bits := random.Next()
		n := min(10, len(rest))
		for i := range n {
			rest[i] = alphabet[bits>>(6*i)&63]
		}
		rest = rest[n:]
	}
}

// scan reads a row: its key, and its version, or garbled or mixed.
func (c *contents) scan(row store.Row) (key int64, v version, err error) {
	texts, into := make([]string, c.fields), make([]any, 1, 1+c.fields)
	into[0] = &key
	for i := range texts {
		into = append(into, &texts[i])
	}
	if err := row.Scan(into...); err != nil {
		return 0, garbled, err
	}
	return key, c.recognize(key, texts), nil
}

// recognize is the version of the fields of a record.
func (c *contents) recognize(key int64, fields []string) version {
	buffer := make([]byte, c.bytes)
	found, differ := garbled, false
	for field, text := range fields {
		if len(text) != c.bytes {
			return garbled
		}
		v := version(0)
		for i := range versionChars {
			v |= version(c.values[text[i]]) << (6 * i) // -1 sets all bits above, so that nothing is below 0 by chance
		}
		if v < 0 {
			return garbled
		}
		if c.field(buffer, key, v, field); string(buffer) != text {
			return garbled
		}
		differ = differ || field > 0 && v != found
		found = v
	}
	if differ {
		return mixed
	}
	return found
}
