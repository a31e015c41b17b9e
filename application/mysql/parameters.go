package mysql

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"assay/application/wire"
)

// values are the parameters as text. Their count comes first where the client can name them, and then
// what comes behind those of the statement is of the query (MySQL 8.4 source documentation,
// "COM_STMT_EXECUTE").
func (p *prepared) values(b []byte, named bool) (all []string) {
	count := p.parameters
	if named {
		n, size := number(b)
		count, b = int(min(n, uint64(len(b)))), b[size:]
	}
	nulls := (count + 7) / 8
	if len(b) <= nulls {
		return nil
	}
	null, rest := b[:nulls], b[nulls+1:]
	if b[nulls] == 1 {
		p.types, rest = types(rest, count, named)
	}
	for i := 0; i < min(p.parameters, count, len(p.types), maxBindDisplay); i++ {
		if sent := p.long[uint16(i)]; sent != nil {
			all = append(all, sent.String())
			continue
		}
		if null[i/8]>>(i%8)&1 == 1 {
			all = append(all, "NULL")
			continue
		}
		v, n := parameter(rest, p.types[i])
		all, rest = append(all, v), rest[n:]
	}
	return all
}

// types are those of parameters, without the byte that says whether they are signed, and without the
// names.
func types(b []byte, count int, named bool) (all, rest []byte) {
	for range count {
		if len(b) < 2 {
			return all, nil
		}
		all, b = append(all, b[0]), b[2:]
		if named {
			length, n := number(b)
			b = b[n+int(min(length, uint64(len(b)-n))):]
		}
	}
	return all, b
}

// behindAttributes is the text of a query that has some before it (MySQL 8.4 source documentation,
// "COM_QUERY").
func behindAttributes(b []byte) string {
	n, size := number(b)
	b = b[size:]
	_, size = number(b) // how many sets there are, which is one
	b = b[size:]
	count := int(min(n, uint64(len(b))))
	if count == 0 {
		return string(b)
	}
	nulls := (count + 7) / 8
	if len(b) <= nulls {
		return ""
	}
	null, rest := b[:nulls], b[nulls+1:]
	kinds, rest := types(rest, count, true)
	for i, kind := range kinds {
		if null[i/8]>>(i%8)&1 == 0 {
			_, n := parameter(rest, kind)
			rest = rest[n:]
		}
	}
	return string(rest)
}

// placeholders counts the parameters of a text before the server has.
func placeholders(text string) (n int) {
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '?':
			n++
		case c == '\'' || c == '"' || c == '`':
			i += quoted(rest) - 1
		case c == '#' || strings.HasPrefix(rest, "-- "):
			i += upTo(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += upTo(rest, "*/")
		}
	}
	return n
}

// upTo is where an end begins.
func upTo(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i
	}
	return len(text)
}

// parameter is one value and how many bytes it takes.
func parameter(b []byte, kind byte) (string, int) {
	width := map[byte]int{1: 1, 2: 2, 13: 2, 3: 4, 4: 4, 9: 4, 5: 8, 8: 8, 6: 0}
	if n, fixed := width[kind]; fixed {
		if len(b) < n {
			return "", len(b)
		}
		if kind == 5 {
			return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64), n
		}
		var v uint64
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | uint64(b[i])
		}
		shift := 64 - 8*n
		return strconv.FormatInt(int64(v<<shift)>>shift, 10), n
	}
	if kind == 7 || kind == 10 || kind == 11 || kind == 12 { // dates and times
		n := 1 + int(first(b))
		return fmt.Sprintf("%x", b[:min(n, len(b))]), min(n, len(b))
	}
	length, n := number(b)
	end := min(n+int(min(length, uint64(len(b)))), len(b))
	return wire.Shortened(string(b[n:end])), end
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// number is a number of a length of its own, and how many bytes that is.
func number(b []byte) (uint64, int) {
	n := map[byte]int{0xfc: 3, 0xfd: 4, 0xfe: 9}[first(b)]
	if n == 0 || len(b) < n {
		return uint64(first(b)), min(1, len(b))
	}
	var v uint64
	for i := n - 1; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, n
}
