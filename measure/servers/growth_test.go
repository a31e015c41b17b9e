package servers

import (
	"math"
	"strings"
	"testing"
)

// longRecord is a record of minutes in which three nodes' files, and the memory of n1, are as given.
func longRecord(minutes int, files, memory func(at float64) float64) *Record {
	r := &Record{Header: Header{Nodes: []Node{{Name: "assay", Tester: true}, {Name: "n1", MemoryLimit: 1 << 30}, {Name: "n2"}, {Name: "n3"}}}}
	for i := range 60*minutes + 1 {
		at := float64(i)
		s := Sample{At: at, Looks: 1, Nodes: map[string]Usage{"assay": {Memory: 1 << 20}}}
		for _, n := range r.Nodes[1:] {
			s.Nodes[n.Name] = Usage{Memory: int64(memory(at)), Files: int64(files(at)), Free: 60 << 30}
		}
		r.Samples = append(r.Samples, s)
	}
	return r
}

func TestWhatIsSaidOfGrowth(t *testing.T) {
	steady := func(perSecond float64) func(float64) float64 {
		return func(at float64) float64 { return 1e9 + perSecond*at + 5e6*math.Sin(at/7) }
	}
	flat := steady(0)
	for _, test := range []struct {
		name          string
		minutes       int
		files, memory func(float64) float64
		want          []string
	}{
		{"files of three nodes on one disk", 10, steady(1e5), flat, []string{"the files of all nodes grow by ", ": the disk is full in ", " days at this rate"}},
		{"what a short run cannot say", 4, steady(1e5), flat, nil},
		{"what rises and falls", 10, flat, func(at float64) float64 { return 5e8 + 1e8*math.Mod(at, 95)/95 }, nil},
		{"memory with a limit", 10, flat, func(at float64) float64 { return 5e8 + 1e5*at }, []string{"the memory of n1 grows by ", ": its limit is reached in 8", " minutes at this rate", "the memory of n2 grows", "the memory of n3 grows"}},
		{"a server that was started again and lost its cache", 10, flat, func(at float64) float64 { return 5e8 + 1e6*math.Mod(at, 300) }, nil},
		{"a little", 10, steady(100), flat, nil},
	} {
		r := longRecord(test.minutes, test.files, test.memory)
		all := r.growths(Conditions{From: 10, To: float64(60 * test.minutes)})
		var texts []string
		for _, g := range all {
			if most := map[string]float64{GrowthFiles: 3e5, GrowthMemory: 1.01e5}[g.What]; g.Low > most || g.High < 0.99*most {
				t.Errorf("%s: %+v", test.name, g)
			}
			texts = append(texts, g.Text())
		}
		text := strings.Join(texts, "\n")
		if (len(all) > 0) != (test.want != nil) {
			t.Errorf("%s: %s", test.name, text)
		}
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %s; want %s", test.name, text, want)
			}
		}
	}
}
