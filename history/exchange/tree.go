package exchange

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type nodeKind uint8

const (
	nilNode nodeKind = iota
	boolNode
	intNode
	bigNode     // a whole number beyond 64 bits
	inexactNode // any other number: 1.5, 2/3
	stringNode
	keywordNode
	symbolNode // and characters
	listNode   // vectors and lists
	setNode
	mapNode // its children are key, value, key, value, ...
)

// node is one form, followed by its children, so an operation is one flat array, which is reused.
type node struct {
	kind nodeKind
	// size counts the nodes of the form, including itself.
	size int32
	// num is a number, or the start and end of a text.
	num int64
}

// Bounds of an operation: 2^22 forms take 64 MiB.
const (
	maxNodes = 1 << 22
	maxText  = 64 << 20
	maxDepth = 500
)

type tree struct {
	nodes []node
	text  []byte
	// asked is the request of the transaction read last.
	asked        []MicroOp
	accountsSeen map[Atom]struct{}
	// keyed means that independent keys were written. only is the kind given to Typed, or NoKind.
	keyed bool
	only  Kind
	// keywords holds each keyword read once.
	keywords map[string]string
}

func (t *tree) reset() { t.nodes, t.text = t.nodes[:0], t.text[:0] }

// open begins a form with children; close ends it.
func (t *tree) open(kind nodeKind) int {
	t.nodes = append(t.nodes, node{kind: kind, size: 1})
	return len(t.nodes) - 1
}

func (t *tree) close(at int) { t.nodes[at].size = int32(len(t.nodes) - at) }

func (t *tree) add(kind nodeKind, num int64) {
	t.nodes = append(t.nodes, node{kind: kind, size: 1, num: num})
}

// addText adds a form with the text in t.text from start on.
func (t *tree) addText(kind nodeKind, start int) {
	t.add(kind, int64(start)<<32|int64(len(t.text)))
}

// addNumber adds the number with the text from start on; false if it is no number.
func (t *tree) addNumber(start int, exact, inexact func([]byte) bool) bool {
	digits := t.text[start:]
	if !exact(digits) {
		if !inexact(digits) {
			return false
		}
		t.addText(inexactNode, start)
		return true
	}
	digits = trimNumber(digits)
	t.text = t.text[:start+len(digits)]
	if v, ok := wholeNumber(digits); ok {
		t.text = t.text[:start]
		t.add(intNode, v)
	} else {
		t.addText(bigNode, start)
	}
	return true
}

// trimNumber brings a whole number, in place, to its shortest form: no plus, leading zeros or N.
func trimNumber(digits []byte) []byte {
	n := len(digits)
	if digits[n-1] == 'N' {
		n--
	}
	i, negative := 0, digits[0] == '-'
	if negative || digits[0] == '+' {
		i = 1
	}
	for i < n-1 && digits[i] == '0' {
		i++
	}
	if negative {
		i--
		digits[i] = '-'
	}
	return digits[:copy(digits, digits[i:n])]
}

// wholeNumber returns the number; false if it needs more than 64 bits.
func wholeNumber(digits []byte) (int64, bool) {
	if len(digits) < 19 { // cannot overflow
		var v int64
		i := 0
		if digits[0] == '-' {
			i = 1
		}
		for _, c := range digits[i:] {
			v = 10*v + int64(c-'0')
		}
		if i == 1 {
			v = -v
		}
		return v, true
	}
	v, err := strconv.ParseInt(string(digits), 10, 64)
	return v, err == nil
}

func (t *tree) bytes(at int) []byte {
	n := t.nodes[at]
	switch n.kind {
	case bigNode, inexactNode, stringNode, keywordNode, symbolNode:
		return t.text[n.num>>32 : n.num&(1<<32-1)]
	}
	return nil
}

// word returns a keyword's or string's text. As names they mean the same: JSON has no keywords.
func (t *tree) word(at int) (string, bool) {
	if k := t.nodes[at].kind; k != keywordNode && k != stringNode {
		return "", false
	}
	return string(t.bytes(at)), true
}

func (t *tree) is(at int, kind nodeKind) bool { return t.nodes[at].kind == kind }

func (t *tree) children(at int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for child, end := at+1, t.after(at); child < end && yield(child); child = t.after(child) {
		}
	}
}

// after returns the place after the form at at.
func (t *tree) after(at int) int { return at + int(t.nodes[at].size) }

// pair returns both elements of a list of two; ok is false for anything else.
func (t *tree) pair(at int) (first, second int, ok bool) {
	if !t.is(at, listNode) {
		return 0, 0, false
	}
	end := t.after(at)
	if first = at + 1; first >= end {
		return 0, 0, false
	}
	if second = t.after(first); second >= end {
		return 0, 0, false
	}
	return first, second, t.after(second) == end
}

// asPair makes the form at at, if it is a map of two entries, the list of their values. It must be
// the tree's last form. Records such as {:key 1, :value 2} are pairs.
func (t *tree) asPair(at int) {
	if !t.is(at, mapNode) || t.nodes[at].size < 5 {
		return
	}
	first := t.after(at + 1)
	second := t.after(first)
	if second >= len(t.nodes) || t.after(t.after(second)) != len(t.nodes) {
		return
	}
	t.nodes = slices.Delete(t.nodes, second, t.after(second))
	t.nodes = slices.Delete(t.nodes, at+1, first)
	t.nodes[at].kind = listNode
	t.close(at)
}

// atom returns the form as an Atom; false if it cannot be a key or a value.
func (t *tree) atom(at int) (Atom, bool) {
	n := t.nodes[at]
	switch n.kind {
	case nilNode:
		return Atom{}, true
	case intNode:
		return Atom{Kind: Number, Int: n.num}, true
	case boolNode:
		return Atom{Kind: Bool, Int: n.num}, true
	case bigNode:
		return Atom{Kind: Big, Text: string(t.bytes(at))}, true
	case stringNode:
		return Atom{Kind: String, Text: string(t.bytes(at))}, true
	case keywordNode:
		return Atom{Kind: Keyword, Text: t.keyword(t.bytes(at))}, true
	}
	return Atom{}, false
}

func (t *tree) keyword(text []byte) string {
	const most = 1 << 12
	known, ok := t.keywords[string(text)]
	if !ok {
		known = string(text)
		if t.keywords == nil {
			t.keywords = map[string]string{}
		}
		if len(t.keywords) < most && len(known) < 1<<8 {
			t.keywords[known] = known
		}
	}
	return known
}

func (t *tree) describe(at int) string {
	switch n := t.nodes[at]; n.kind {
	case nilNode:
		return "nil"
	case boolNode:
		return strconv.FormatBool(n.num != 0)
	case intNode:
		return strconv.FormatInt(n.num, 10)
	case listNode:
		return "a list"
	case setNode:
		return "a set"
	case mapNode:
		return "a map"
	case keywordNode:
		return ":" + short(t.bytes(at))
	case stringNode:
		return strconv.Quote(short(t.bytes(at)))
	default:
		return short(t.bytes(at))
	}
}

func short(text []byte) string {
	const most = 40
	s := strings.ToValidUTF8(string(text[:min(len(text), most)]), "")
	if len(text) > most {
		s += "..."
	}
	return s
}

// whole reports whether a text is UTF-8, which all the formats require.
func whole(text []byte) bool { return utf8.Valid(text) }
