package wire

import (
	"encoding/hex"
	"fmt"
	"hash"
	"hash/maphash"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A value is kept as one line of text, by which it is shown and compared. No two values of one type have
// the same text:
//
//	NULL                                     no value
//	it is so                                 a text
//	'NULL', '\x00', '''a', 'and so on...'    a text that would read as something else
//	\x00ff (length 2)                        bytes
//	the beginning...70000 bytes, 0011...     what is longer, by a sum that is the same in one process alone
//
// Numbers and times are as the server writes them. A literal of a statement is as it stands there.

// Null is the absence of a value.
const Null = "NULL"

// maxValue bounds one value, in bytes, and maxBytes one in hexadecimal. cut ends what is not whole.
const (
	maxValue = 200
	maxBytes = 60
	cut      = "..."
)

// MaxValues bounds how many values of a statement are kept.
const MaxValues = 100

// seed is of all sums: what is not shown can be compared, and cannot be found by trying.
var seed = sync.OnceValue(maphash.MakeSeed)

// NewSum sums up a value that comes in pieces.
func NewSum() hash.Hash64 {
	var h maphash.Hash
	h.SetSeed(seed())
	return &h
}

// Sum is that of a whole value.
func Sum(b []byte) uint64 { return maphash.Bytes(seed(), b) }

// Shortened is a text of a bounded length. Longer ones that begin alike differ by their sums.
func Shortened(text string) string {
	if len(text) <= maxValue {
		return strings.Clone(text)
	}
	return Beginning(text, strconv.Itoa(len(text)), maphash.String(seed(), text))
}

// Beginning is a value of so many bytes by what it begins with and its sum.
func Beginning(text, bytes string, sum uint64) string {
	return shortly(text) + fmt.Sprintf("%s bytes, %016x%s", bytes, sum, cut)
}

// shortly is the beginning of a text, which does not tell it from others.
func shortly(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxValue)], "") + cut
}

// Text is a value that was sent as text.
func Text(b []byte) string {
	text := string(b)
	switch {
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unprintable):
		return Bytes(b, "")
	case text == Null || strings.HasPrefix(text, "'") || strings.HasPrefix(text, inBytes) || strings.HasSuffix(text, cut):
		text = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	if len(text) > maxValue {
		return Shortened(text)
	}
	return text
}

func unprintable(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' && c != '\r' }

// inBytes begins a value in hexadecimal.
const inBytes = `\x`

// Bytes is a value in hexadecimal, and more says what is known of its type.
func Bytes(b []byte, more string) string {
	text := inBytes + hex.EncodeToString(b[:min(len(b), maxBytes)])
	if len(b) > maxBytes {
		return fmt.Sprintf("%s%s%d bytes%s, %016x%s", text, cut, len(b), more, Sum(b), cut)
	}
	return fmt.Sprintf("%s (length %d%s)", text, len(b), more)
}

// Float is a number of 32 or 64 bits by the fewest digits that tell it from its neighbours, with an exponent
// where its point would be far from them.
func Float(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	most := 15
	if bits == 32 {
		most = 6
	}
	text := strconv.FormatFloat(v, 'e', -1, bits)
	if exponent, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:]); exponent >= -4 && exponent < most {
		return strconv.FormatFloat(v, 'f', -1, bits)
	}
	return text
}

// Clock is a time of day, or how long something takes.
func Clock(hours, minutes, seconds, microseconds int64) string {
	text := fmt.Sprintf("%02d:%02d:%02d", hours, minutes, seconds)
	if microseconds > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", microseconds), "0")
	}
	return text
}

// Values are those of a statement. Beyond MaxValues, the last one stands for all that are more.
type Values struct {
	kept []string
	more int
	sum  uint64
}

// ValuesAfter are values behind some that are known, which stay as they are.
func ValuesAfter(known []string) Values { return Values{kept: known[:len(known):len(known)]} }

// Full is true if no more values are kept.
func (v *Values) Full() bool { return len(v.kept) >= MaxValues }

// Add takes a value in its text.
func (v *Values) Add(text string) {
	if v.Full() {
		v.More(text)
		return
	}
	v.kept = append(v.kept, text)
}

// More takes something that is not shown.
func (v *Values) More(text string) {
	v.more++
	v.sum = v.sum*1099511628211 ^ maphash.String(seed(), text)
}

// All are the values.
func (v *Values) All() []string {
	if v.more == 0 {
		return v.kept
	}
	rest := Values{kept: v.kept, more: v.more, sum: v.sum}
	if rest.Full() {
		rest.More(rest.kept[MaxValues-1])
		rest.kept = rest.kept[: MaxValues-1 : MaxValues-1]
	}
	return append(rest.kept, fmt.Sprintf("%d more, %016x%s", rest.more, rest.sum, cut))
}

// Exactly is a statement with its values as one text, which no others have.
func (s *Statement) Exactly() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(len(s.Values)) + " " + strconv.Itoa(len(s.Shape)) + " " + s.Shape)
	for _, value := range s.Values {
		b.WriteString(strconv.Itoa(len(value)) + " " + value)
	}
	return b.String()
}
