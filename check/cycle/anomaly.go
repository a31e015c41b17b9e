package cycle

import (
	"math/bits"
	"slices"
)

// anomaly is a kind of anomaly. The G names are Adya's (PhD thesis, MIT 1999; G-nonadjacent after
// Cerone and Gotsman, "Analysing Snapshot Isolation", PODC 2016), the words are from Kingsbury and
// Alvaro, "Elle", VLDB 2020. The suffix -item means that no predicate is involved, as in all
// anomalies here. -process and -realtime mean that the cycle needs the order of one client's
// transactions, or real time.
type anomaly uint8

const (
	g0 anomaly = iota
	g1a
	g1b
	g1c
	gSingleItem
	gNonadjacentItem
	g2Item
	g0Process
	g1cProcess
	gSingleItemProcess
	gNonadjacentItemProcess
	g2ItemProcess
	g0Realtime
	g1cRealtime
	gSingleItemRealtime
	gNonadjacentItemRealtime
	g2ItemRealtime
	duplicateElements
	cyclicVersions
	incompatibleOrder
	garbageRead
	dirtyUpdate
	futureRead
	// ownUnseen: a transaction reads something else than it has written itself. Adya excludes
	// this from every history (thesis, section 3.1.2): no model allows it.
	ownUnseen
	// internal: a read contradicts an earlier read of the same transaction.
	internal
	lostUpdate

	// The next are cycles in every order of each key's versions, if the named model is broken.
	gCursor            // cursor stability
	gMonotonic         // monotonic view
	gMSR               // monotonic snapshot reads
	gUpdate            // update serializability
	mavViolation       // monotonic atomic view
	fracturedRead      // read atomic
	updateConflict     // update atomic
	causalityViolation // causal, even without the order of each client
	causalityProcess   // causal
	longFork           // prefix

	// g1 is g1a, g1b or g1c; definitions of models use it.
	g1

	// The last two are findings: wrong, but no anomaly of any model here.
	lostAppend
	staleRead

	anomalies // how many there are

	foundAnomalies = g1
)

type trait struct {
	name    string
	implies anomalySet
}

// traits returns the implications of Elle's lattice, restricted to the anomalies found here, with
// two exceptions. A garbage read, which Elle does not have, reads a value that no committed
// transaction wrote, so it is G1a. Cyclic versions of a register are circular information flow, so
// they are G1c. In Elle they rule out read uncommitted. But they show only that a transaction
// writes after it read, and read uncommitted promises nothing about that.
func traits() *[anomalies]trait {
	return &[anomalies]trait{
		g0:                       {"G0", set(g1c, g0Process)},
		g0Process:                {"G0-process", set(g1cProcess, g0Realtime)},
		g0Realtime:               {"G0-realtime", set(g1cRealtime)},
		g1a:                      {"G1a", set(g1)},
		g1b:                      {"G1b", set(g1)},
		g1c:                      {"G1c", set(g1, g1cProcess)},
		g1cProcess:               {"G1c-process", set(g1cRealtime)},
		g1cRealtime:              {"G1c-realtime", 0},
		g1:                       {"G1", 0},
		gSingleItem:              {"G-single-item", set(gNonadjacentItem, gSingleItemProcess, gUpdate)},
		gSingleItemProcess:       {"G-single-item-process", set(gNonadjacentItemProcess, gSingleItemRealtime)},
		gSingleItemRealtime:      {"G-single-item-realtime", set(gNonadjacentItemRealtime)},
		gNonadjacentItem:         {"G-nonadjacent-item", set(g2Item, gNonadjacentItemProcess)},
		gNonadjacentItemProcess:  {"G-nonadjacent-item-process", set(g2ItemProcess, gNonadjacentItemRealtime)},
		gNonadjacentItemRealtime: {"G-nonadjacent-item-realtime", set(g2ItemRealtime)},
		g2Item:                   {"G2-item", set(g2ItemProcess)},
		g2ItemProcess:            {"G2-item-process", set(g2ItemRealtime)},
		g2ItemRealtime:           {"G2-item-realtime", 0},
		duplicateElements:        {"duplicate-elements", 0},
		cyclicVersions:           {"cyclic-versions", set(g1c)},
		incompatibleOrder:        {"incompatible-order", set(g1a)},
		garbageRead:              {"garbage-read", set(g1a)},
		dirtyUpdate:              {"dirty-update", set(g1a)},
		futureRead:               {"future-read", set(g1c)},
		ownUnseen:                {"own-write-not-seen", set(internal)},
		internal:                 {"internal", 0},
		lostUpdate:               {"lost-update", set(gCursor)},
		gCursor:                  {"G-cursor", set(gSingleItem, updateConflict)},
		gMonotonic:               {"G-monotonic", set(gSingleItem)},
		gMSR:                     {"G-MSR", set(gNonadjacentItem)},
		gUpdate:                  {"G-update-item", set(g2Item)},
		mavViolation:             {"monotonic-atomic-view-violation", set(gMonotonic, gMSR, fracturedRead)},
		fracturedRead:            {"fractured-read", set(updateConflict, causalityViolation)},
		updateConflict:           {"update-conflict", set(gSingleItem)},
		causalityViolation:       {"causality-violation", set(gSingleItem, longFork, causalityProcess)},
		causalityProcess:         {"causality-violation-process", set(gSingleItemProcess)},
		longFork:                 {"long-fork", set(gNonadjacentItem)},
		lostAppend:               {"lost-append", 0},
		staleRead:                {"stale-read", 0},
	}
}

func (a anomaly) String() string { return traits()[a].name }

type anomalySet uint64

func set(members ...anomaly) anomalySet {
	var s anomalySet
	for _, a := range members {
		s |= 1 << a
	}
	return s
}

func (s anomalySet) has(a anomaly) bool { return s>>a&1 != 0 }

func (s anomalySet) implied() anomalySet {
	known := traits()
	for todo := s; todo != 0; {
		a := anomaly(bits.TrailingZeros64(uint64(todo)))
		todo &^= set(a)
		todo |= known[a].implies &^ s
		s |= known[a].implies
	}
	return s
}

func (s anomalySet) names() []string {
	var names []string
	for a := range foundAnomalies {
		if s.has(a) {
			names = append(names, a.String())
		}
	}
	slices.Sort(names)
	return names
}
