package ycsb

import (
	"math"
	"sync"
	"sync/atomic"

	"assay/workload"
)

// The distributions of the records that operations choose, as YCSB has them (package
// site.ycsb.generator).
const (
	// Zipfian is YCSB's ScrambledZipfianGenerator: a rank is drawn by the Zipf law with
	// exponent 0.99 over 10,000,000,000 ranks, however many records there are, and the
	// record is the rank's hash modulo their number. So the favourites are spread over
	// all keys, stay favourites when records are inserted, and can coincide.
	Zipfian = "zipfian"
	// Uniform chooses all records alike.
	Uniform = "uniform"
	// Latest is YCSB's SkewedLatestGenerator: the record inserted last is the favourite,
	// and the one before it the next, by the Zipf law over all records.
	Latest = "latest"
	// Hotspot is YCSB's HotspotIntegerGenerator: the first fifth of the records gets four
	// fifths of the operations, and all within each part are chosen alike.
	Hotspot = "hotspot"
)

func distributions() []string { return []string{Zipfian, Uniform, Latest, Hotspot} }

const (
	// Exponential is YCSB's ExponentialGenerator: how far the record is behind the newest
	// follows an exponential law.
	Exponential = "exponential"
	// Sequential is YCSB's SequentialGenerator: one record after the other, over all clients,
	// and again from the first.
	Sequential = "sequential"
)

// allDistributions are the distributions of YCSB's property requestdistribution.
func allDistributions() []string { return append(distributions(), Exponential, Sequential) }

const (
	zipfExponent = 0.99
	// zipfRanks is ScrambledZipfianGenerator.ITEM_COUNT.
	zipfRanks = 10_000_000_000
	// hotRecords and hotOperations are the defaults of hotspotdatafraction and
	// hotspotopnfraction.
	hotRecords    = 0.2
	hotOperations = 0.8
	// exponentialPercent and exponentialFraction are those of exponential.percentile and
	// exponential.frac: so many percent of operations are on so much of the records.
	exponentialPercent  = 95
	exponentialFraction = 0.8571428571
)

// chooser chooses records. It is a value without state but what it has worked out of
// the number of records; it is used by one goroutine.
type chooser struct {
	*core
	ranks workload.Zipf
	// latest is the law over so many records.
	latest workload.Zipf
	known  int64
	// next counts the choices that are sequential, of all clients.
	next *atomic.Int64
}

func newChooser(of *core, next *atomic.Int64) chooser {
	return chooser{core: of, ranks: workload.NewZipf(zipfRanks, zipfExponent), next: next}
}

// choose draws the place of a record below places, which is at least 1. Without YCSB's
// properties Zipfian, Uniform and Hotspot are over all places, which grow as records are
// inserted; with them over the records that insertstart and insertcount name, and Zipfian
// over those and the inserts that are expected: a place that is none yet is drawn again, so
// that the favourites stay (CoreWorkload.init, nextKeynum).
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

// fnv is YCSB's Utils.hash: FNV-1a of 64 bits over the eight bytes of a number, the
// lowest first, without its sign.
func fnv(n uint64) uint64 {
	h := uint64(0xcbf29ce484222325)
	for range 8 {
		h = (h ^ n&0xff) * 1099511628211
		n >>= 8
	}
	if int64(h) < 0 {
		h = -h
	}
	return h & (1<<63 - 1)
}

// sequence gives out the numbers of inserted records and knows up to which all
// inserts are over, as YCSB's AcknowledgedCounterGenerator does: operations choose
// among these. Of several processes each gives every so many-th number, and knows of
// its own inserts alone. It is safe for concurrent use.
type sequence struct {
	loaded int64
	// share is which of the shares of the numbers this one has, from 0.
	share, shares int64

	mu sync.Mutex
	// next and over count the records that were loaded and the inserts of this share.
	next, over int64
	// ended are the inserts that are over beyond over; as many as clients at most.
	ended map[int64]bool
}

func newSequence(records int64, share, shares int) *sequence {
	return &sequence{loaded: records, share: int64(share), shares: int64(shares), next: records, over: records, ended: map[int64]bool{}}
}

// number is the number of the record with this place among those of the share, from 0.
func (s *sequence) number(place int64) int64 {
	if place < s.loaded {
		return place
	}
	return s.loaded + (place-s.loaded)*s.shares + s.share
}

// take is the number of the next record to be inserted.
func (s *sequence) take() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.number(s.next - 1)
}

// end says that the insert of this number is over, however it ended: one that failed
// is a number without a record, of which there are few.
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

// records is how many places there are below which all inserts are over.
func (s *sequence) records() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
