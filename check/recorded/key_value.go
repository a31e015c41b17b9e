package recorded

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"assay/check"
	"assay/history/exchange"
)

// mostMemory bounds the search for an order of one key's operations, in bytes.
const mostMemory = 1 << 30

// keyValues judges a store of texts by key, each empty at first: the key-value histories of
// porcupine and of MIT's course 6.824. The operations of each key must fit in one order that keeps
// real time. An append adds to the text, and a get returns all of it. porcupine searches for the
// order. Without puts every text is a prefix of the longest one read, so there are few states.
type keyValues struct {
	byKey map[exchange.Atom]int
	keys  []exchange.Atom
	of    [][]textStep
	all   tally
	gets  int64
}

type textStep struct {
	by   Operation
	word string
	text string
	sum  textSum
}

const (
	wordGet    = "get"
	wordPut    = "put"
	wordAppend = "append"
)

// newKeyValue judges a :get, :put or :append with a text as value and a field :key.
func newKeyValue() *judge {
	s := &keyValues{byKey: map[exchange.Atom]int{}}
	return &judge{functions: []function{
		{word: wordGet, take: s.take}, {word: wordPut, take: s.take}, {word: wordAppend, take: s.take},
	}, result: s.result}
}

func (s *keyValues) take(o *exchange.Operation, by Operation) error {
	step, v := textStep{by: by, word: o.Word}, &o.Request
	if o.Word == wordGet {
		v = &o.Answer
	}
	if v.Form != exchange.Scalar || o.Word != wordGet && v.IsNil() {
		return unfit("one text")
	}
	if step.text = v.Atom.Text; v.Atom.Kind == exchange.Number {
		step.text = v.String()
	}
	step.sum = textSum{}.add(step.text)
	s.all.add(by.Outcome)
	if !by.Possible() || o.Word == wordGet && !by.Acknowledged() {
		return nil
	}
	if o.Word == wordGet {
		s.gets++
	}
	n, known := s.byKey[o.Key]
	if !known {
		n = len(s.keys)
		s.byKey[o.Key] = n
		s.keys, s.of = append(s.keys, o.Key), append(s.of, nil)
	}
	s.of[n] = append(s.of[n], step)
	return nil
}

func (s *keyValues) result(ctx context.Context) check.Result {
	f := newFindings(kindNoOrder)
	missing := ""
	for n, steps := range s.of {
		if m := s.judge(ctx, s.keys[n], steps, f); m != "" {
			missing = "key " + s.keys[n].String() + ": " + m
		}
	}
	detail := fmt.Sprintf("%s on %s, %s", s.all.describe("operation"), plural(len(s.keys), "key"), plural(s.gets, "get"))
	return f.result("key-value", detail, missing, s.gets == 0, "nothing was read, so nothing can be said")
}

func (s *keyValues) judge(ctx context.Context, key exchange.Atom, steps []textStep, f *findings) (missing string) {
	search := textSearch{ctx: ctx, steps: steps}
	ends := make([]*textStep, 0, len(steps)) // of what was acknowledged
	for i := range steps {
		if steps[i].by.Acknowledged() {
			ends = append(ends, &steps[i])
		}
	}
	slices.SortFunc(ends, func(a, b *textStep) int { return byComplete(&a.by, &b.by) })
	if len(ends) == 0 || search.explains(ends[len(ends)-1].by.Complete) || search.stopped != "" {
		return search.stopped
	}
	first, before := sort.Search(len(ends)-1, func(i int) bool { return !search.explains(ends[i].by.Complete) }), "an order explains all before it"
	if search.stopped != "" { // there is no order of all
		first, before = len(ends)-1, "it is the last"
	}
	did := map[string]string{wordGet: "read", wordPut: "put", wordAppend: "appended"}[ends[first].word]
	f.add(kindNoOrder, &ends[first].by, "%s %q with key %s: %s of that key, and none explains it too", did, excerpt(ends[first].text), key, before)
	return ""
}

type textSearch struct {
	ctx   context.Context
	steps []textStep
	// begin holds the prefixes of the longest text read, which has longest bytes. put means that
	// there are puts, after which a text need not be such a prefix.
	begin   map[textSum]bool
	longest int
	put     bool
	stopped string
}

// readUntil finds the longest text that was read by a moment. A later get tells nothing about the
// operations before that moment: an append of unknown outcome may be its last.
func (s *textSearch) readUntil(until int64) {
	longest := ""
	s.put = false
	for i := range s.steps {
		step := &s.steps[i]
		s.put = s.put || step.word == wordPut
		if step.word == wordGet && step.by.Complete <= until && len(step.text) > len(longest) {
			longest = step.text
		}
	}
	s.begin, s.longest = map[textSum]bool{{}: true}, len(longest)
	for i, sum := 0, (textSum{}); i < len(longest) && !s.put; i++ {
		sum = sum.add(longest[i : i+1])
		s.begin[sum] = true
	}
}

// explains reports whether an order explains everything up to a moment.
func (s *textSearch) explains(until int64) bool {
	s.readUntil(until)
	var all []porcupine.Operation
	for i := range s.steps {
		step := &s.steps[i]
		end := step.by.Complete
		if end > until {
			end = never
		}
		if step.by.Invoke <= until && (end != never || step.word != wordGet) {
			all = append(all, porcupine.Operation{Input: step, Call: step.by.Invoke, Return: end})
		}
	}
	left, taken := int64(mostMemory), 0
	return porcupine.CheckOperations(porcupine.Model{
		Init: func() any { return textSum{} },
		Step: func(state, input, _ any) (bool, any) {
			if taken++; taken%1024 == 0 && s.ctx.Err() != nil {
				s.stopped = "not judged to its end: the time limit ended before the search; allow more time, or judge a shorter history"
			}
			if s.stopped != "" {
				return false, state
			}
			after, ok := s.apply(state.(textSum), input.(*textStep))
			if left -= int64(len(all)/8) + 200; ok && left < 0 { // a set of operations and a state
				s.stopped = "not judged to its end: the search needed more memory than it is given; judge a history with fewer operations at a time"
			}
			return ok, after
		},
		Equal: func(a, b any) bool { return a == b },
		Hash:  func(state any) uint64 { return state.(textSum).hash },
	}, all)
}

// apply returns the text after an operation; ok is false if the operation cannot stand here.
func (s *textSearch) apply(held textSum, step *textStep) (after textSum, ok bool) {
	switch {
	case step.word == wordGet:
		return held, held == step.sum
	case step.word == wordPut:
		return step.sum, true
	case held == beyond(): // nobody reads what is appended there
		return held, true
	}
	after = held.add(step.text)
	if s.put || s.begin[after] {
		return after, true
	}
	return beyond(), after.length > s.longest
}

func excerpt(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return "..." + text[len(text)-most:]
}

// textSum stands for a text: its length and its polynomial hash modulo 2^61-1. Two different texts
// have the same sum with a probability of their length in 2^61.
type textSum struct {
	length int
	hash   uint64
}

// beyond stands for all texts longer than any that was read.
func beyond() textSum { return textSum{length: -1} }

const (
	hashModulus = 1<<61 - 1
	hashBase    = 0x1234567_89abcdef % hashModulus
)

func (s textSum) add(text string) textSum {
	for i := range len(text) {
		hi, lo := bits.Mul64(s.hash, hashBase)
		_, s.hash = bits.Div64(hi, lo, hashModulus)
		s.hash = (s.hash + uint64(text[i]) + 1) % hashModulus
	}
	s.length += len(text)
	return s
}
