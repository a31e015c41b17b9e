package ledger

import (
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

// newFindings has no findings of the kinds of a check.
func newFindings(kinds string) check.Findings { return check.NewFindings(strings.Fields(kinds)...) }
