package cycle

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/check"
	"assay/history"
)

// describe puts the part into words. Its transactions keep their names in the evidence of the
// whole, T1 for the first, and others get the following numbers.
func (s *Smallest) describe(h *History, whole, e *Evidence, model Model) {
	in := newInference(h, Options{})
	names := map[int64]string{}
	others := len(whole.Txns)
	for _, t := range h.byInvocation() {
		number := 1 + slices.IndexFunc(whole.Txns, func(v TxnView) bool { return v.ID == h.id(t) })
		if number == 0 {
			others++
			number = others
		}
		o := check.Operation{
			Name: fmt.Sprintf("T%d", number), ID: h.id(t), Process: int64(h.process(t)),
			Invoke: h.invoke(t), Complete: -1, Outcome: h.outcome(t).String(),
		}
		if h.committed(t) || h.outcome(t) == history.Failed || h.outcome(t) == history.Rejected {
			o.Complete = h.complete(t)
		}
		for _, op := range h.opsOf(t) {
			o.Steps = append(o.Steps, in.opText(op))
		}
		names[o.ID] = o.Name
		s.Excerpt.Operations = append(s.Excerpt.Operations, o)
	}
	text := e.Text
	if len(e.Reasons) > 0 {
		text = strings.TrimSuffix(text, ".") + ". " + strings.Join(e.Reasons, ". ") + "."
	}
	// The excerpt shows which transactions they are.
	if who := strings.LastIndex(text, " (T1 is "); who >= 0 && len(e.Edges) == 0 {
		text = text[:who]
	}
	// The whole history may have such a read outside the part.
	text = strings.ReplaceAll(text, "which no read shows", "which no read here shows")
	s.Excerpt.Why = fmt.Sprintf("%s. %s forbids that (%s).", strings.TrimSuffix(renamed(text, e.Txns, names), "."), model, s.Anomaly)
}

// transactionNames matches the transactions' names in evidence, and strings, which may contain the
// same letters.
var transactionNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\bT\d+\b|\btransaction -?\d+\b|\bthe read at the end\b`)
})

func renamed(text string, txns []TxnView, names map[int64]string) string {
	return transactionNames().ReplaceAllStringFunc(text, func(word string) string {
		var id int64
		switch {
		case word[0] == '"':
			return word
		case word[0] == 'T':
			n, err := strconv.Atoi(word[1:])
			if err != nil || n < 1 || n > len(txns) {
				return word
			}
			id = txns[n-1].ID
		case strings.HasPrefix(word, "transaction "):
			n, err := strconv.ParseInt(strings.TrimPrefix(word, "transaction "), 10, 64)
			if err != nil {
				return word
			}
			id = n
		default:
			id = -1
		}
		if name, known := names[id]; known {
			return name
		}
		return word
	})
}
