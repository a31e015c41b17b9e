package ycsb

import (
	"math"
	"sync"
	"sync/atomic"

	"assay/workload"
)

// The distributions of YCSB (package site.ycsb.generator).
const (
	// Zipfian is ScrambledZipfianGenerator: a Zipf law with exponent 0.99 over 10,000,000,000
	// ranks. The record is the rank's hash modulo the number of records, so favourites can
	// coincide.
	Zipfian = "zipfian"
	// Uniform chooses all records alike.
	Uniform = "uniform"
	// Latest is SkewedLatestGenerator: a Zipf law over all records, the newest first.
	Latest = "latest"
	// Hotspot is HotspotIntegerGenerator: a fifth of the records has four fifths of the
	// operations.
	Hotspot = "hotspot"
)

func distributions() []string { return []string{Zipfian, Uniform, Latest, Hotspot} }

const (
	// Exponential is ExponentialGenerator: distances from the newest record are exponential.
	Exponential = "exponential"
	// Sequential is SequentialGenerator: one record after another over all clients, and again.
	Sequential = "sequential"
)

// allDistributions are the values of YCSB's property requestdistribution.
func allDistributions() []string { return append(distributions(), Exponential, Sequential) }

const (
	zipfExponent = 0.99
	// ScrambledZipfianGenerator.ITEM_COUNT.
	zipfRanks = 10_000_000_000
	// Defaults of hotspotdatafraction and hotspotopnfraction.
	hotRecords    = 0.2
	hotOperations = 0.8
	// Defaults of exponential.percentile and exponential.frac.
	exponentialPercent  = 95
	exponentialFraction = 0.8571428571
)

// chooser chooses records. It is not safe for concurrent use.
type chooser struct {
	*core
	ranks workload.Zipf
	// latest is the law over known records.
	latest workload.Zipf
	known  int64
	// next counts sequential choices of all clients.
	next *atomic.Int64
}

func newChooser(of *core, next *atomic.Int64) chooser {
	return chooser{core: of, ranks: workload.NewZipf(zipfRanks, zipfExponent), next: next}
}

// choose draws a place below places, at least 1. Without YCSB's properties, distributions range
// over all places. With them, the range is insertstart and insertcount, and for Zipfian also the
// expected inserts: it draws again while a place has no record, so that favourites stay
// (CoreWorkload.init, nextKeynum).
func (c *chooser) choose(r *workload.Random, places int64) int64 {
	first, n := int64(0), places
	if c.keys.texts {
		first, n = c.start, min(c.count, places)
	}
	switch c.distribution {
	case Zipfian:
		if c.keys.texts {
			n = c.count + c.expected + 1
		}
		for {
			if place := first + int64(fnv(uint64(c.ranks.Rank(r)-1))%uint64(n)); place < places {
				return place
			}
		}
	case Latest:
		if c.known != places {
			c.latest, c.known = workload.NewZipf(places, zipfExponent), places
		}
		return places - c.latest.Rank(r)
	case Hotspot:
		hot := int64(c.hotRecords * float64(n))
		if !c.keys.texts {
			hot = max(hot, 1)
		}
		if hot > 0 && (r.Float() < c.hotOperations || hot == n) {
			return first + int64(r.Below(uint64(hot)))
		}
		return first + hot + int64(r.Below(uint64(n-hot)))
	case Exponential:
		scale := float64(c.records) * c.exponential / -math.Log(1-c.exponentialPercent/100)
		for {
			if behind := -math.Log(1-r.Float()) * scale; behind < float64(places) {
				return places - 1 - int64(behind)
			}
		}
	case Sequential:
		return first + (c.next.Add(1)-1)%n
	default:
		return first + int64(r.Below(uint64(n)))
	}
}

// fnv is YCSB's Utils.hash: 64-bit FNV-1a over eight bytes, lowest first, without the sign.
func fnv(n uint64) uint64 {
	h := uint64(workload.FNVBasis.Number(n))
	if int64(h) < 0 {
		h = -h
	}
	return h & (1<<63 - 1)
}

// sequence numbers inserts. Operations choose below the number up to which all inserts ended, as
// with YCSB's AcknowledgedCounterGenerator. With several processes, each gives every so many-th
// number and knows its own inserts alone. It is safe for concurrent use.
type sequence struct {
	loaded int64
	// share counts from 0.
	share, shares int64

	mu sync.Mutex
	// next and over count loaded records and the inserts of this share.
	next, over int64
	// ended are inserts that ended beyond over, at most one per client.
	ended map[int64]bool
}

func newSequence(records int64, share, shares int) *sequence {
	return &sequence{loaded: records, share: int64(share), shares: int64(shares), next: records, over: records, ended: map[int64]bool{}}
}

// number is the record at this place of the share, from 0.
func (s *sequence) number(place int64) int64 {
	if place < s.loaded {
		return place
	}
	return s.loaded + (place-s.loaded)*s.shares + s.share
}

func (s *sequence) take() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.number(s.next - 1)
}

// end marks an insert as ended. The few failed ones leave numbers without a record.
func (s *sequence) end(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := s.loaded + (number-s.loaded-s.share)/s.shares
	if place < s.over {
		return
	}
	s.ended[place] = true
	for s.ended[s.over] {
		delete(s.ended, s.over)
		s.over++
	}
}

// records is the number of places below which all inserts have ended.
func (s *sequence) records() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
