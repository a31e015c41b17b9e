package mysql

import (
	"testing"

	"assay/cluster/server"
)

// TestKnownPrimary: whom most full members name. A member that stood still names itself at first.
func TestKnownPrimary(t *testing.T) {
	m := &Cluster{}
	for port := range 3 {
		m.nodes = append(m.nodes, &member{Node: &server.Node{Host: "n", Port: port + 1}})
	}
	names := func(primary string) view { return view{state: "ONLINE", primary: primary, size: 3, reached: 3} }
	joins := view{state: "RECOVERING", primary: "n:1", size: 2, reached: 2}
	for name, c := range map[string]struct {
		views  map[int]view
		silent int
		early  bool
		want   int // -1 for none
	}{
		"one of three stood still":                     {map[int]view{0: names("n:1"), 1: names("n:2"), 2: names("n:2")}, 0, false, 1},
		"all agree":                                    {map[int]view{0: names("n:1"), 1: names("n:1"), 2: names("n:1")}, 0, true, 0},
		"it has answered first":                        {map[int]view{0: names("n:1")}, 2, true, -1},
		"two disagree":                                 {map[int]view{0: names("n:1"), 1: names("n:2")}, 1, false, -1},
		"two agree, and the third is cut off":          {map[int]view{0: names("n:1"), 1: names("n:1")}, 1, true, 0},
		"the only one, and a second joins":             {map[int]view{0: {state: "ONLINE", primary: "n:1", size: 2, reached: 2}, 1: joins}, 0, false, 0},
		"the one that they name is no full member yet": {map[int]view{0: joins, 1: names("n:1"), 2: names("n:1")}, 0, false, -1},
	} {
		for range 100 { // the order of a map's keys is random
			primary, is := m.known(c.views, c.silent, c.early)
			if is != (c.want >= 0) || is && primary != c.want {
				t.Fatalf("%s: %d, %v", name, primary, is)
			}
		}
	}
}
