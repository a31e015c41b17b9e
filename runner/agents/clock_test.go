package agents

import (
	"math/rand/v2"
	"testing"
)

// skewed is two clocks: the coordinator's is ahead by an offset that drifts back and forth.
type skewed struct{ offset, drift float64 }

func (s skewed) at(agent int64) int64 {
	phase := agent % 20e9
	wander := min(phase, 20e9-phase) // up and down again
	return agent + int64(s.offset+s.drift*float64(wander))
}

// TestTimesAreMappedWithinTheirError, whatever the delays.
func TestTimesAreMappedWithinTheirError(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		clocks := skewed{offset: (random.Float64() - 0.5) * 1e13, drift: (random.Float64()*2 - 1) * maxDrift}
		var samples []sample
		for sent := int64(1e9); sent < 60e9; sent += 200e6 {
			there, back := int64(random.ExpFloat64()*300e3), int64(random.ExpFloat64()*300e3)
			if random.IntN(10) == 0 {
				there += 50e6 // a busy machine
			}
			heard := sent + there + back
			samples = append(samples, compared(sent, clocks.at(sent+there), clocks.at(sent+there), heard))
		}
		m := newMapping(samples)
		limit := m.error(1e9, 60e9)
		near := 0
		for at := int64(1e9); at < 60e9; at += 7e6 {
			mapped, next := m.to(at, near)
			near = next
			if off := mapped - clocks.at(at); max(off, -off) > limit {
				t.Fatalf("seed %d: at %d mapped %d ns from the truth, beyond its error of %d", seed, at, off, limit)
			}
		}
		if limit > 5e6 {
			t.Errorf("seed %d: the error is %d ns; ten of a hundred slow answers should not spoil it", seed, limit)
		}
	}
}

// TestContradictingSamplesWidenTheError: a clock set during the run exceeds normal drift.
func TestContradictingSamplesWidenTheError(t *testing.T) {
	samples := []sample{{At: 0, Offset: 0, Error: 1000}, {At: 1e9, Offset: 1e9, Error: 1000}, {At: 2e9, Offset: 1e9, Error: 1000}}
	m := newMapping(samples)
	for _, s := range samples {
		mapped, _ := m.to(s.At, 0)
		if off := mapped - s.At - s.Offset; max(off, -off) > m.error(0, 2e9) {
			t.Errorf("at %d it is %d ns off, beyond %d", s.At, off, m.error(0, 2e9))
		}
	}
	if m.error(0, 2e9) < 250e6 {
		t.Errorf("after a second's jump the error is %d ns", m.error(0, 2e9))
	}
}
