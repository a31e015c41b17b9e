package ycsb

import (
	"cmp"
	"strconv"
	"strings"

	"assay/store"
	"assay/workload"
)

// A key is a number under a permutation of 62-bit numbers by the seed: records come in no order,
// like YCSB's "hashed" ones, and each key tells its number.
const keyBits = 62

const (
	keyMask   = 1<<keyBits - 1
	keyFactor = 0x1e3779b97f4a7c15 // odd, so that it has an inverse
)

// keys are a permutation or, if texts is true, YCSB's: "user" and the number, or its hash if
// hashed is true, padded with zeros (CoreWorkload, insertorder and zeropadding). A text's key is
// the number behind "user".
type keys struct {
	offset, inverse uint64
	texts, hashed   bool
	padding         int
}

func newKeys(seed uint64) keys {
	k := keys{offset: workload.Mix(seed) & keyMask, inverse: 1}
	for range 6 { // Newton's method doubles the bits that are right each time
		k.inverse *= 2 - keyFactor*k.inverse
	}
	return k
}

// keyOf takes numbers from 0 to 2^62-1.
func (k keys) keyOf(number int64) int64 {
	switch {
	case k.texts && k.hashed:
		return int64(fnv(uint64(number)))
	case k.texts:
		return number
	}
	x := (uint64(number) ^ k.offset) & keyMask
	for range 2 {
		x ^= x >> (keyBits / 2)
		x = x * keyFactor & keyMask
	}
	return int64(x ^ x>>(keyBits/2))
}

// number is the inverse of keyOf; -1 for an impossible key and for a hash (see judge.numberOf).
func (k keys) number(key int64) int64 {
	switch {
	case key < 0 || key > keyMask && !k.texts || k.texts && k.hashed:
		return -1
	case k.texts:
		return key
	}
	x := uint64(key)
	x ^= x >> (keyBits / 2)
	for range 2 {
		x = x * k.inverse & keyMask
		x ^= x >> (keyBits / 2)
	}
	return int64(x ^ k.offset)
}

const keyPrefix = "user"

// text is a key as shown to people, and as stored if texts is true.
func (k keys) text(key int64) string {
	digits := strconv.FormatInt(key, 10)
	if !k.texts {
		return digits
	}
	return keyPrefix + strings.Repeat("0", max(k.padding-len(digits), 0)) + digits
}

func (k keys) value(key int64) store.Value {
	if k.texts {
		return store.OfText(k.text(key))
	}
	return store.OfInt(key)
}

// read is the key of a text; -1 if it is none.
func (k keys) read(text string) int64 {
	digits, is := strings.CutPrefix(text, keyPrefix)
	key, err := strconv.ParseInt(digits, 10, 64)
	if !is || err != nil || key < 0 || k.text(key) != text {
		return -1
	}
	return key
}

// compare orders keys as the database does: texts digit by digit.
func (k keys) compare(a, b int64) int {
	if !k.texts {
		return cmp.Compare(a, b)
	}
	x, long := k.rank(a)
	y, longer := k.rank(b)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(long, longer))
}

const mostDigits = 19

// rank shifts a key left to the digits of an int64, and returns its number of digits.
func (k keys) rank(key int64) (left uint64, digits int) {
	digits = 1
	for n := key; n >= 10; n /= 10 {
		digits++
	}
	digits = min(max(digits, k.padding), mostDigits)
	left = uint64(key)
	for range mostDigits - digits {
		left *= 10
	}
	return left, digits
}

// length bounds a key's characters.
func (k keys) length() int { return len(keyPrefix) + max(mostDigits, k.padding) }
