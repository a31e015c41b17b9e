package ledger

import (
	"math/big"
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

// The kinds of evidence that only some isolation levels forbid. G0, G1a and so on are names of A. Adya, "Weak Consistency: A
// Generalized Theory and Optimistic Implementations for Distributed
// Transactions", 1999, and of the checker Elle (K. Kingsbury, P. Alvaro,
// "Elle: Inferring Isolation Anomalies from Experimental Observations", 2020).
const (
	// Of order. A lost update: two transfers gave an account one version, so
	// that one of them did not see the other.
	KindLostUpdate = "lost-update"
	// A dirty write, G0: a cycle of transfers, each of which changed an
	// account before the next.
	KindDirtyWrite = "dirty-write"
	// Not real time: a transfer comes before one that had been acknowledged
	// when it was first started. In snapshots: as an audit between them shows.
	KindStaleOrder = "stale-order"
	// A version that no transfer gave, though later ones were given.
	KindMissingVersion = "missing-version"
	// A version that the account cannot have had.
	KindImpossibleVersion = "impossible-version"
	// A balance was acknowledged that the order of the account does not give.
	KindAcknowledgedBalance = "acknowledged-balance"

	// Of snapshots. Read skew, G-single: an audit saw a transfer, or what came
	// after it, and did not see all of it.
	KindReadSkew = "read-skew"
	// A long fork, G-nonadjacent: several audits saw transfers in orders that
	// exclude each other.
	KindLongFork = "long-fork"
	// A dirty read, G1a: an audit saw a balance that was never committed.
	KindDirtyRead = "dirty-read"
	// An audit saw what a transfer without an answer had done, and that is gone: a server
	// showed what the others never took over.
	KindGoneRead = "gone-read"
	// A version was read that no transfer gave.
	KindNoSuchVersion = "no-such-version"
	// Not real time: an audit missed what was acknowledged before it started.
	KindStaleRead = "stale-read"
	// Not real time: an audit saw what started after it had ended.
	KindFutureRead = "future-read"
	// A full audit found another sum of balances than was loaded, another
	// number of accounts, or versions that whole transfers cannot give.
	KindAuditSum      = "audit-sum"
	KindAuditCount    = "audit-count"
	KindAuditVersions = "audit-versions"
)

// The kinds of each check, most telling first.
const (
	totalKinds    = kindSum + " " + kindNegative + " " + kindMissingAccount + " " + kindDoubledAccount + " " + kindForeignAccount + " " + kindUnordered
	accountKinds  = kindBalance + " " + kindVersion
	transferKinds = kindLost + " " + kindAppliedFailed + " " + kindAppliedRejected + " " + kindDoubled + " " + kindAltered + " " + kindForeign + " " + kindAcknowledged
	orderKinds    = KindLostUpdate + " " + KindDirtyWrite + " " + KindStaleOrder + " " + KindMissingVersion + " " + KindImpossibleVersion + " " + KindAcknowledgedBalance
	snapshotKinds = KindReadSkew + " " + KindLongFork + " " + KindDirtyRead + " " + KindGoneRead + " " + KindNoSuchVersion + " " + KindStaleRead + " " + KindFutureRead + " " +
		KindStaleOrder + " " + KindAuditSum + " " + KindAuditCount + " " + KindAuditVersions
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

// add counts one finding; describe is called only while there is room for it.
func (f findings) add(kind string, describe func() check.Evidence) { f.addMany(kind, 1, describe) }

// addMany counts n findings that are described as one.
func (f findings) addMany(kind string, n int64, describe func() check.Evidence) {
	for i := range f {
		if f[i].kind != kind || n == 0 {
			continue
		}
		f[i].found += n
		if len(f[i].evidence) < check.MaxEvidence {
			e := describe()
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
func (f findings) addTo(r *check.Result) {
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
	for i, k := range f {
		for _, e := range k.evidence[:quota[i]] {
			r.Add(e)
		}
		r.AddUnlisted(k.kind, k.found-int64(quota[i]))
	}
}

// String counts the kinds: "2 lost, 1 altered".
func (f findings) String() string {
	var parts []string
	for _, k := range f {
		if k.found > 0 {
			parts = append(parts, check.Count(k.found)+" "+k.kind)
		}
	}
	return strings.Join(parts, ", ")
}

// bigSum is a sum without overflow.
type bigSum struct {
	small int64
	large big.Int
}

func (a *bigSum) add(x int64) {
	sum := a.small + x
	if (sum > a.small) != (x > 0) { // overflow
		a.large.Add(&a.large, big.NewInt(a.small))
		sum = x
	}
	a.small = sum
}

func (a *bigSum) value() *big.Int {
	return new(big.Int).Add(&a.large, big.NewInt(a.small))
}
