package exchange

import "encoding/binary"

// number reads a whole number in the form in which every writer has it.
func (d *plainDecoder) number(into *int64) bool {
	text, at := d.text, d.at
	negative := at < len(text) && text[at] == '-'
	if negative {
		at++
	}
	start := at
	var v int64
	for len(text)-at >= 8 && at-start <= 8 {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(text[at:]))
		if !ok {
			break
		}
		v = 100_000_000*v + eight
		at += 8
	}
	for at < len(text) {
		digit := text[at] - '0'
		if digit > 9 {
			break
		}
		v = 10*v + int64(digit)
		at++
	}
	if n := at - start; n == 0 || n > 18 || text[start] == '0' && (n > 1 || negative) {
		return false
	}
	if negative {
		v = -v
	}
	*into, d.at = v, at
	return d.ends()
}

// eightDigits is the number of eight digits, the first in the lowest byte. ok is
// false if one is none. Neighbours are put together: digits, then pairs, then
// fours (Lemire, "Number parsing at a gigabyte per second", Software: Practice and
// Experience 2021).
func eightDigits(text uint64) (v int64, ok bool) {
	const zeros, upper = 0x3030303030303030, 0xf0f0f0f0f0f0f0f0
	if text&upper != zeros || (text+0x0606060606060606)&upper != zeros {
		return 0, false
	}
	text -= zeros
	text = (text*10 + text>>8) & 0x00ff00ff00ff00ff
	text = (text*100 + text>>16) & 0x0000ffff0000ffff
	return int64((text*10_000 + text>>32) & 0xffffffff), true
}
