package tpcc

import (
	"assay/workload"
)

type random struct{ workload.Random }

// between draws from x to y, both included.
func (r *random) between(x, y int64) int64 { return x + int64(r.Below(uint64(y-x+1))) }

// percent is true with a chance of n %.
func (r *random) percent(n int64) bool { return r.between(1, 100) <= n }

// nonUniform is NURand(a, x, y) with the constant c (clause 2.1.6).
func (r *random) nonUniform(a, c, x, y int64) int64 {
	return ((r.between(0, a)|r.between(x, y))+c)%(y-x+1) + x
}

const (
	digits       = "0123456789"
	alphanumeric = digits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// text has from least to most characters (clause 4.3.2.2).
func (r *random) text(least, most int64) string {
	return r.characters(alphanumeric, r.between(least, most))
}

func (r *random) number(n int64) string { return r.characters(digits, n) }

// characters draws eight characters from each 64 random bits.
func (r *random) characters(from string, n int64) string {
	b := make([]byte, n)
	var bits uint64
	for i := range b {
		if i%8 == 0 {
			bits = r.Next()
		}
		b[i] = from[int(bits&0xff)*len(from)>>8]
		bits >>= 8
	}
	return string(b)
}

// original has the word ORIGINAL in one text of ten.
func (r *random) original(least, most int64) string {
	s := r.text(least, most)
	if !r.percent(10) {
		return s
	}
	const word = "ORIGINAL"
	at := r.between(0, int64(len(s)-len(word)))
	return s[:at] + word + s[at+int64(len(word)):]
}

func (r *random) zip() string { return r.number(4) + "11111" }

// LastName is the last name of a number from 0 to 999 (clause 4.3.2.3).
func LastName(number int64) string {
	syllables := [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
	return syllables[number/100%10] + syllables[number/10%10] + syllables[number%10]
}

// constants are NURand's for a run (clause 2.1.6.1).
type constants struct {
	// loaded is for last names in loaded rows, last for those in inputs.
	loaded, last, customer, item int64
}

// The constants for last names must differ by 65 to 119, but not by 96 or 112 (clause 2.1.6.1).
func drawConstants(seed uint64) (c constants) {
	r := random{workload.NewRandom(seed, constantsKey)}
	c.customer, c.item = r.between(0, 1023), r.between(0, 8191)
	for {
		c.loaded, c.last = r.between(0, 255), r.between(0, 255)
		delta := max(c.loaded-c.last, c.last-c.loaded)
		if delta >= 65 && delta <= 119 && delta != 96 && delta != 112 {
			return c
		}
	}
}
