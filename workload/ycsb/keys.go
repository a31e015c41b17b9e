package ycsb

import (
	"cmp"
	"strconv"
	"strings"

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

// keys are the keys of one run: the permutation of a seed or, where texts is true, YCSB's own
// texts, "user" and the number, or the number's hash where hashed is true, with zeros before
// it up to padding digits (CoreWorkload, insertorder and zeropadding). What is called a key
// is then the number behind "user".
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

// keyOf is the key of a number from 0 to 2^62-1.
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

// number is the inverse of of; -1 for what is no key, and for a hash, whose number only the
// judge looks for.
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

// keyPrefix begins the keys that are texts.
const keyPrefix = "user"

// text is a key as the database has it, or as people read it.
func (k keys) text(key int64) string {
	digits := strconv.FormatInt(key, 10)
	if !k.texts {
		return digits
	}
	return keyPrefix + strings.Repeat("0", max(k.padding-len(digits), 0)) + digits
}

// value is a key as the database takes it.
func (k keys) value(key int64) store.Value {
	if k.texts {
		return store.OfText(k.text(key))
	}
	return store.OfInt(key)
}

// read is the key that a text is; -1 if it is none.
func (k keys) read(text string) int64 {
	digits, is := strings.CutPrefix(text, keyPrefix)
	key, err := strconv.ParseInt(digits, 10, 64)
	if !is || err != nil || key < 0 || k.text(key) != text {
		return -1
	}
	return key
}

// compare compares two keys as the database orders them: texts digit by digit.
func (k keys) compare(a, b int64) int {
	if !k.texts {
		return cmp.Compare(a, b)
	}
	x, long := k.rank(a)
	y, longer := k.rank(b)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(long, longer))
}

// mostDigits is how many an int64 has at most.
const mostDigits = 19

// rank is a key with its digits moved to the left, and how many it has.
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

// length is the most characters that a key has.
func (k keys) length() int { return len(keyPrefix) + max(mostDigits, k.padding) }
