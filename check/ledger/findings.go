package ledger

import (
	"math/big"
	"strconv"
	"strings"

	"assay/check"
)

// The kinds of evidence.
const (
	kindSum            = "sum"
	kindNegative       = "negative"
	kindMissingAccount = "missing-account"
	kindDoubledAccount = "doubled-account"
	kindForeignAccount = "foreign-account"
	kindUnordered      = "unordered"

	kindBalance = "balance"
	kindVersion = "version"

	kindLost            = "lost"
	kindAppliedFailed   = "applied-though-failed"
	kindAppliedRejected = "applied-though-rejected"
	kindDoubled         = "doubled"
	kindAltered         = "altered"
	kindForeign         = "foreign"
	kindAcknowledged    = "acknowledged"
)

// The kinds of each check, most telling first.
const (
	totalKinds    = kindSum + " " + kindNegative + " " + kindMissingAccount + " " + kindDoubledAccount + " " + kindForeignAccount + " " + kindUnordered
	accountKinds  = kindBalance + " " + kindVersion
	transferKinds = kindLost + " " + kindAppliedFailed + " " + kindAppliedRejected + " " + kindDoubled + " " + kindAltered + " " + kindForeign + " " + kindAcknowledged
)

// findings gathers evidence by kind, bounded, so that a flood of one kind does
// not hide the others.
type findings []finding

type finding struct {
	kind     string
	found    int64
	evidence []check.Evidence
}

func newFindings(kinds string) findings {
	var f findings
	for _, kind := range strings.Fields(kinds) {
		f = append(f, finding{kind: kind})
	}
	return f
}

// add counts one finding; tell is called only while there is room for it.
func (f findings) add(kind string, tell func() check.Evidence) {
	for i := range f {
		if f[i].kind != kind {
			continue
		}
		f[i].found++
		if len(f[i].evidence) < check.MaxEvidence {
			e := tell()
			e.Kind = kind
			f[i].evidence = append(f[i].evidence, e)
		}
	}
}

// clone lets evidence be added to a copy.
func (f findings) clone() findings {
	out := make(findings, len(f))
	for i, k := range f {
		out[i] = finding{kind: k.kind, found: k.found, evidence: append([]check.Evidence(nil), k.evidence...)}
	}
	return out
}

// into puts all findings into r. Each kind has an equal share of the listed
// evidence, and what one does not need goes to the others in their order.
func (f findings) into(r *check.Result) {
	present := 0
	for _, k := range f {
		if k.found > 0 {
			present++
		}
	}
	if present == 0 {
		return
	}
	quota := make([]int, len(f))
	left := check.MaxEvidence
	for i, k := range f {
		quota[i] = min(len(k.evidence), check.MaxEvidence/present)
		left -= quota[i]
	}
	for i, k := range f {
		more := min(len(k.evidence)-quota[i], left)
		quota[i] += more
		left -= more
	}
	var unlisted int64
	for i, k := range f {
		for _, e := range k.evidence[:quota[i]] {
			r.Add(e)
		}
		unlisted += k.found - int64(quota[i])
	}
	r.Found += unlisted
}

// String counts the kinds: "2 lost, 1 altered".
func (f findings) String() string {
	var said []string
	for _, k := range f {
		if k.found > 0 {
			said = append(said, figure(k.found)+" "+k.kind)
		}
	}
	return strings.Join(said, ", ")
}

// adder is a sum without overflow.
type adder struct {
	small int64
	large big.Int
}

func (a *adder) add(x int64) {
	sum := a.small + x
	if (sum > a.small) != (x > 0) { // overflow
		a.large.Add(&a.large, big.NewInt(a.small))
		sum = x
	}
	a.small = sum
}

func (a *adder) value() *big.Int {
	return new(big.Int).Add(&a.large, big.NewInt(a.small))
}

// figure writes a number with its thousands apart: 1,204.
func figure(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

func grouped(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
