package exchange

import (
	"encoding/binary"
	"math/bits"
)

// mostDigits is how long a plain number may be: such fit into 64 bits.
const mostDigits = 18

// number reads a whole number in the form in which every writer has it.
func (d *plainDecoder) number(into *int64) bool {
	at := d.at
	negative := at < len(d.text) && d.text[at] == '-'
	if negative {
		at++
	}
	var padded [25]byte // one more than three times eight
	text := d.text[at:]
	if len(text) < len(padded) {
		copy(padded[:], text)
		text = padded[:]
	}
	text = text[:len(padded)]
	v, n := eightDigits(binary.LittleEndian.Uint64(text))
	for more := 8; n == more && more < 24; more += 8 {
		next, digits := eightDigits(binary.LittleEndian.Uint64(text[more:]))
		v = powersOfTen[digits]*v + next
		n += digits
	}
	if n == 0 || n > mostDigits || text[0] == '0' && (n > 1 || negative) {
		return false
	}
	if negative {
		v = -v
	}
	*into, d.at = v, at+n
	return d.ends()
}

var powersOfTen = [9]int64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000}

// eightDigits is the number that the first digits of eight bytes make, the first in
// the lowest byte, and how many digits they are. Neighbours are put together: digits,
// then pairs, then fours (Lemire, "Number parsing at a gigabyte per second", Software:
// Practice and Experience 2021).
func eightDigits(text uint64) (v int64, digits int) {
	const zeros, toHighBit, highBits = 0x3030303030303030, 0x7676767676767676, 0x8080808080808080
	text ^= zeros
	// The high bit of a byte is set if it is no digit; what is carried into the bytes
	// behind it does not matter.
	digits = bits.TrailingZeros64((text+toHighBit|text)&highBits) / 8
	text <<= 64 - 8*uint(digits) // zeros come before the digits
	text = (text*10 + text>>8) & 0x00ff00ff00ff00ff
	text = (text*100 + text>>16) & 0x0000ffff0000ffff
	return int64((text*10_000 + text>>32) & 0xffffffff), digits
}
