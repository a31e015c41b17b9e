package ledger

import (
	"strings"

	"assay/check"
)

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

// The kinds of evidence that only some isolation levels forbid. G0, G1a and so on are names of
// A. Adya, "Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed
// Transactions", 1999, and of the checker Elle (K. Kingsbury, P. Alvaro, "Elle: Inferring
// Isolation Anomalies from Experimental Observations", 2020). The checks order and snapshots
// report them.
const (
	// KindLostUpdate is two transfers that gave an account the same version: one did not see the
	// other. It and the next kinds are of order.
	KindLostUpdate = "lost-update"
	// KindDirtyWrite, G0, is a cycle of transfers that each changed an account before the next.
	KindDirtyWrite = "dirty-write"
	// KindStaleOrder breaks real time: a transfer precedes one acknowledged before it was first
	// started. In snapshots an audit between the two shows it.
	KindStaleOrder = "stale-order"
	// KindMissingVersion is a version that no transfer gave, although later ones were given.
	KindMissingVersion = "missing-version"
	// KindImpossibleVersion is a version that the account cannot have had.
	KindImpossibleVersion = "impossible-version"
	// KindAcknowledgedBalance is an acknowledged balance that the account's order does not give.
	KindAcknowledgedBalance = "acknowledged-balance"

	// KindReadSkew, G-single, is an audit that saw a transfer, or a later one, only in part. It
	// and the next kinds are of snapshots.
	KindReadSkew = "read-skew"
	// KindLongFork, G-nonadjacent, is several audits that saw transfers in contradictory orders.
	KindLongFork = "long-fork"
	// KindDirtyRead, G1a, is an audit that saw a balance that was never committed.
	KindDirtyRead = "dirty-read"
	// KindGoneRead is an audit that saw an unanswered transfer that is gone: one server showed it
	// and the others never got it.
	KindGoneRead = "gone-read"
	// KindNoSuchVersion is a version that was read and that no transfer gave.
	KindNoSuchVersion = "no-such-version"
	// KindStaleRead breaks real time: an audit missed a transfer acknowledged before it started.
	KindStaleRead = "stale-read"
	// KindFutureRead breaks real time: an audit saw a transfer started after it had ended.
	KindFutureRead = "future-read"
	// KindAuditSum and the next two are full audits with a wrong sum of balances, with a wrong
	// number of accounts, or with versions that whole transfers cannot give.
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

func newFindings(kinds string) check.Findings { return check.NewFindings(strings.Fields(kinds)...) }
