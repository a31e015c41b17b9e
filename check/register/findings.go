package register

import "assay/check"

type finding struct {
	kind string
	// subject is the wrong operation; with prove it, in an order that the kind defines.
	subject *op
	with    []*op
	// value is the value that subject observed. other is the second value of kindOrder.
	value, other int32
	// could are the values possible for subject; order explains the operations before it.
	could []int32
	order []*op
	// changes is how often the register changed to value, writes how often value was written.
	changes, writes int
}

func newFindings() check.Findings {
	return check.NewFindings(kindGarbage, kindDirty, kindFuture, kindDuplicate, kindLost, kindStale, kindOrder, kindFew, kindUnexplained)
}

func (s *sequence) add(f check.Findings, one finding) {
	f.Add(one.kind, func() check.Evidence { return s.evidence(&one) })
}
