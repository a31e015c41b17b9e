package ycsb

import (
	"math"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"assay/workload"
)

// drawn counts what a distribution chooses among so many records.
func drawn(distribution string, records int64, draws int) []float64 {
	config := Defaults()
	config.Distribution = distribution
	of, err := config.core()
	if err != nil {
		panic(err)
	}
	c := newChooser(&of, new(atomic.Int64))
	counts := make([]float64, records)
	r := workload.NewRandom(1, 2)
	for range draws {
		counts[c.choose(&r, records)]++
	}
	return counts
}

// fits is the probability that counts that follow these probabilities are at least as
// far from them as these (Pearson's chi-squared test).
func fits(counts, probabilities []float64) float64 {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	statistic := 0.0
	for i, p := range probabilities {
		statistic += (counts[i] - total*p) * (counts[i] - total*p) / (total * p)
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(statistic)
}

// scrambled are the probabilities of YCSB's ScrambledZipfianGenerator: those of the
// first hundred thousand ranks one by one; what is left, in ranks that each are drawn less than
// once in two million times, is spread by the hash over all records alike.
func scrambled(records int64) []float64 {
	const exact = 100_000
	// The sum over all ranks, YCSB's ZETAN.
	const zeta = 26.46902820178302
	all := make([]float64, records)
	rest := 1.0
	for rank := range uint64(exact) {
		p := math.Pow(float64(rank+1), -0.99) / zeta
		all[fnv(rank)%uint64(records)] += p
		rest -= p
	}
	for i := range all {
		all[i] += rest / float64(records)
	}
	return all
}

// skewed are the probabilities of SkewedLatestGenerator.
func skewed(records int64) []float64 {
	all := make([]float64, records)
	sum := 0.0
	for rank := range records {
		p := math.Pow(float64(rank+1), -0.99)
		all[records-1-rank] = p
		sum += p
	}
	for i := range all {
		all[i] /= sum
	}
	return all
}

func TestDistributionsAreYCSBs(t *testing.T) {
	const records, draws = 500, 200_000
	even, hot := make([]float64, records), make([]float64, records)
	for i := range even {
		even[i] = 1.0 / records
		if hot[i] = 0.2 / 400; i < 100 {
			hot[i] = 0.8 / 100
		}
	}
	laws := map[string][]float64{Uniform: even, Hotspot: hot, Zipfian: scrambled(records), Latest: skewed(records)}
	for distribution, want := range laws {
		counts := drawn(distribution, records, draws)
		if p := fits(counts, want); p < 1e-4 {
			t.Errorf("%s does not follow its law: p = %g", distribution, p)
		}
		// The test tells distributions apart: none follows the law of another.
		for other, law := range laws {
			if p := fits(counts, law); other != distribution && p > 1e-9 {
				t.Errorf("%s follows the law of %s: p = %g", distribution, other, p)
			}
		}
	}
}

func TestTheHashIsYCSBs(t *testing.T) {
	// FNV-1a of 64 bits over eight bytes, as Utils.fnvhash64 has it.
	for n, want := range map[uint64]int64{0: -6284781860667377211, 1: -8517097267634966620} {
		if want < 0 {
			want = -want
		}
		if got := int64(fnv(n)); got != want {
			t.Errorf("hash of %d is %d, want %d", n, got, want)
		}
	}
}

// TestTheNewestAreThoseBelowWhichAllIsOver: an insert that is under way hides those
// behind it, as in YCSB.
func TestTheNewestAreThoseBelowWhichAllIsOver(t *testing.T) {
	s := newSequence(10, 0, 1)
	for want := range int64(4) {
		if got := s.take(); got != 10+want {
			t.Fatalf("the next number is %d", got)
		}
	}
	for _, step := range []struct{ end, records int64 }{{11, 10}, {13, 10}, {10, 12}, {10, 12}, {12, 14}} {
		if s.end(step.end); s.records() != step.records {
			t.Errorf("after %d the records are %d, want %d", step.end, s.records(), step.records)
		}
	}
	if len(s.ended) != 0 {
		t.Errorf("%v is kept", s.ended)
	}
}

// TestDistributionsByProperties are YCSB's: over the records that insertstart and insertcount
// name, behind the newest, or one after the other; and none that is not there yet.
func TestDistributionsByProperties(t *testing.T) {
	const draws = 100_000
	for name, c := range map[string]struct {
		given map[string]string
		// share is how much of the draws is from first to before last.
		share       float64
		first, last int64
		none        int64 // below it nothing is drawn
	}{
		"uniform":     {map[string]string{"requestdistribution": Uniform, "insertstart": "200", "insertcount": "500"}, 0.5, 200, 450, 200},
		"hotspot":     {map[string]string{"requestdistribution": Hotspot, "hotspotdatafraction": "0.1", "hotspotopnfraction": "0.7"}, 0.7, 0, 100, 0},
		"exponential": {map[string]string{"requestdistribution": Exponential, "exponential.percentile": "90", "exponential.frac": "0.2"}, 0.9, 800, 1000, 0},
		"sequential":  {map[string]string{"requestdistribution": Sequential, "insertstart": "500"}, 0.5, 500, 750, 500},
		"zipfian":     {map[string]string{"requestdistribution": Zipfian, "insertstart": "900", "insertproportion": "1", "operationcount": "100"}, 1, 900, 1000, 900},
	} {
		config := Defaults()
		config.Properties = c.given
		of, err := config.core()
		if err != nil {
			t.Fatal(err)
		}
		chooser, r := newChooser(&of, new(atomic.Int64)), workload.NewRandom(3, 4)
		within, below := 0, 0
		for range draws {
			switch place := chooser.choose(&r, 1000); {
			case place < c.none || place >= 1000:
				below++
			case place >= c.first && place < c.last:
				within++
			}
		}
		if share := float64(within) / draws; below > 0 || math.Abs(share-c.share) > 0.01 {
			t.Errorf("%s: %d of the draws are of no record, and %.3f of them from %d to %d", name, below, share, c.first, c.last)
		}
	}
}
