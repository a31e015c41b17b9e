package fault

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/cluster"
	"assay/internal/expect"
)

func nodes(withData, arbiters int) []member {
	var all []member
	for i := range withData + arbiters {
		all = append(all, member{name: fmt.Sprintf("n%d", i+1), arbiter: i >= withData})
	}
	return all
}

func TestChoice(t *testing.T) {
	seen := map[string]map[string]bool{}
	for seed := range uint64(200) {
		for target, allowed := range map[string]string{
			"primary": "n2", "secondary": "n1 n3", "any": "n1 n2 n3", "all": "n1,n2,n3,n4", "n4": "n4", "n1 or n3": "n1 n3",
		} {
			f := Fault{Action: "kill", Target: target}
			o := Occurrence{Fault: 1, Round: 2}
			c, err := choose(f, nodes(3, 1), "n2", randomness(seed, o))
			expect.NoError(t, err)
			again, err := choose(f, nodes(3, 1), "n2", randomness(seed, o))
			if err != nil || !reflect.DeepEqual(c, again) {
				t.Fatalf("the same seed chose %v and %v, %v", c, again, err)
			}
			chosen := strings.Join(c.nodes, ",")
			if !slices.Contains(strings.Fields(allowed), chosen) {
				t.Fatalf("%s chose %s", target, chosen)
			}
			if seen[target] == nil {
				seen[target] = map[string]bool{}
			}
			seen[target][chosen] = true
		}
	}
	if len(seen["any"]) != 3 || len(seen["n1 or n3"]) != 2 || len(seen["secondary"]) != 2 {
		t.Errorf("no chance in it: %v", seen)
	}
}

func TestChoiceOfNothing(t *testing.T) {
	for target, want := range map[string]string{"primary": "no primary", "secondary": "no primary", "n9": "no node n9", "n8 or n9": "no node n8 or n9"} {
		if _, err := choose(Fault{Action: "kill", Target: target}, nodes(3, 0), "", randomness(1, Occurrence{})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := choose(Fault{Action: "kill", Target: "secondary"}, nodes(1, 0), "n1", randomness(1, Occurrence{})); err == nil {
		t.Error("a secondary of one node")
	}
}

// sees tells from the cuts whether packets pass.
func sees(c choice, to, from string) bool {
	for _, cut := range c.cuts {
		if cut.node == to && slices.Contains(cut.from, from) || !cut.inOnly && cut.node == from && slices.Contains(cut.from, to) {
			return false
		}
	}
	return true
}

func TestPartitions(t *testing.T) {
	for n := 2; n <= 7; n++ {
		all := names(nodes(n, 0))
		for seed := range uint64(20) {
			random := randomness(seed, Occurrence{})
			halves, err := choose(Fault{Action: "partition", Target: shapeHalves}, nodes(n, 0), "", random)
			if err != nil || len(halves.nodes) != n/2 {
				t.Fatalf("%d: %+v, %v", n, halves, err)
			}
			one, err := choose(Fault{Action: "partition", Target: shapeOne}, nodes(n, 0), "n2", random)
			if err != nil || !slices.Equal(one.nodes, []string{"n2"}) {
				t.Fatalf("%d: %+v, %v", n, one, err)
			}
			oneway, err := choose(Fault{Action: "partition", Target: shapeOneway}, nodes(n, 0), "n1", random)
			expect.NoError(t, err)
			for _, a := range all {
				for _, b := range all {
					if a == b {
						continue
					}
					if same := slices.Contains(halves.nodes, a) == slices.Contains(halves.nodes, b); sees(halves, a, b) != same {
						t.Errorf("halves %+v: %s sees %s: %v", halves, a, b, !same)
					}
					if sees(one, a, b) != (a != "n2" && b != "n2") {
						t.Errorf("one %+v: %s, %s", one, a, b)
					}
					if sees(oneway, a, b) != (a != "n1") {
						t.Errorf("oneway %+v: %s, %s", oneway, a, b)
					}
				}
			}
			if got := slices.Sorted(slices.Values(halves.affected())); !slices.Equal(got, all) {
				t.Errorf("halves take hold of %v", got)
			}
		}
	}
}

// TestPairs: the two sides do not see each other, and all others see both.
func TestPairs(t *testing.T) {
	random := randomness(3, Occurrence{})
	for _, c := range []struct{ target, nodes, blind string }{
		{"n1,n3", "n1 n3", "n1<n3 n3<n1"},
		{"n3>n1", "n1 n3", "n1<n3"},
		{"primary,n3", "n2 n3", "n2<n3 n3<n2"},
		{"n1>primary", "n1 n2", "n2<n1"},
		{"primary,all", "n2", "n1<n2 n2<n1 n2<n3 n2<n4 n3<n2 n4<n2"},
		{"all>n4", "n4", "n4<n1 n4<n2 n4<n3"},
		{"n4>all", "n4", "n1<n4 n2<n4 n3<n4"},
		{"2,all", "", ""},
		{"any,any", "", ""},
		{"secondary,primary", "", ""},
		{"all[role=a],all[role=b]", "n1 n2", "n1<n3 n2<n3 n3<n1 n3<n2"},
	} {
		members := nodes(4, 0)
		for i, role := range []string{"a", "a", "b"} {
			members[i].labels = map[string]string{"role": role}
		}
		f := parse(t, "partition "+c.target)[0]
		expect.NoError(t, checkTarget(f, members))
		chosen, err := choose(f, members, "n2", random)
		expect.NoError(t, err)
		var blind []string
		for _, a := range names(members) {
			for _, b := range names(members) {
				if a != b && !sees(chosen, a, b) {
					blind = append(blind, a+"<"+b)
				}
			}
		}
		if c.nodes == "" { // chosen by chance
			if len(blind) < 2 || chosen.detail == "" || len(chosen.nodes) == 0 {
				t.Errorf("%s: %+v", c.target, chosen)
			}
			continue
		}
		if strings.Join(blind, " ") != c.blind || strings.Join(slices.Sorted(slices.Values(chosen.nodes)), " ") != c.nodes {
			t.Errorf("%s: %v of %+v", c.target, blind, chosen)
		}
	}
	for target, want := range map[string]string{"primary,n2": "cannot be parted from itself", "n2>primary": "n2 is on both sides"} {
		if _, err := choose(parse(t, "partition "+target)[0], nodes(3, 0), "n2", random); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

// TestNumbers chooses the requested number of nodes with the requested labels.
func TestNumbers(t *testing.T) {
	members := nodes(5, 1)
	for i := range members[:3] {
		members[i].labels = map[string]string{"role": "standby"}
	}
	counts := map[string]map[int]bool{}
	for seed := range uint64(100) {
		for _, target := range []string{"2", "50%", "0..50%", "100%", "2[role=standby]", "all[role=standby]"} {
			c, err := choose(Fault{Action: "kill", Target: target}, members, "n1", randomness(seed, Occurrence{}))
			if err != nil && !(target == "0..50%" && strings.Contains(err.Error(), "is none")) {
				t.Fatalf("%s: %v", target, err)
			}
			if counts[target] == nil {
				counts[target] = map[int]bool{}
			}
			counts[target][len(c.nodes)] = true
			if strings.Contains(target, "[") && (slices.Contains(c.nodes, "n4") || slices.Contains(c.nodes, "n5")) || slices.Contains(c.nodes, "n6") {
				t.Fatalf("%s chose %v", target, c.nodes)
			}
			if !slices.IsSorted(c.nodes) || len(slices.Compact(slices.Clone(c.nodes))) != len(c.nodes) {
				t.Fatalf("%s chose %v", target, c.nodes)
			}
		}
	}
	want := map[string]map[int]bool{"2": {2: true}, "50%": {2: true}, "0..50%": {0: true, 1: true, 2: true}, "100%": {5: true},
		"2[role=standby]": {2: true}, "all[role=standby]": {3: true}}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("%v", counts)
	}
}

func TestRing(t *testing.T) {
	if _, err := choose(Fault{Action: "partition", Target: shapeRing}, nodes(3, 0), "", randomness(1, Occurrence{})); err == nil {
		t.Error("a ring of three parts nobody")
	}
	for n := 4; n <= 7; n++ {
		c, err := choose(Fault{Action: "partition", Target: shapeRing}, nodes(n, 0), "", randomness(1, Occurrence{}))
		expect.NoError(t, err)
		all := names(nodes(n, 0))
		for i, a := range all {
			for j, b := range all {
				near := i == j || (i+1)%n == j || (j+1)%n == i
				if sees(c, a, b) != near {
					t.Errorf("ring of %d: %s, %s: %v", n, a, b, !near)
				}
			}
		}
	}
}

func TestCheckTarget(t *testing.T) {
	for text, want := range map[string]string{
		"kill n7":          "there is no node n7; want one of n1, n2, n3",
		"partition ring":   "with 3 nodes it parts nobody; want at least 4 nodes",
		"kill n3":          "",
		"partition n1,n7":  "there is no node n7",
		"partition n1,n2":  "",
		"kill 4":           "there are only 3 nodes with data; want at most 3",
		"kill 20%":         "20% of 3 nodes with data is none",
		"kill 0..20%":      "is none",
		"kill any[a=b]":    "no node has the labels a=b",
		"partition halves": "",
	} {
		err := checkTarget(parse(t, text)[0], nodes(3, 0))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := checkTarget(parse(t, "kill secondary")[0], nodes(1, 1)); err == nil {
		t.Error("a secondary beside one node and an arbiter")
	}
}

// TestRoles: a role means only servers beside the nodes, and nothing else means them.
func TestRoles(t *testing.T) {
	members := nodes(3, 0)
	for _, name := range []string{"pooler", "dcs1", "dcs2", "dcs3"} {
		members = append(members, member{name: name, role: cluster.RoleOf(name)})
	}
	for text, want := range map[string]string{
		"kill pooler": "pooler", "kill all dcs": "dcs1,dcs2,dcs3", "kill dcs2": "dcs2", "kill all": "n1,n2,n3", "kill 3": "n1,n2,n3", "kill 100% dcs": "dcs1,dcs2,dcs3",
		"rolling-restart": "n1,n2,n3", "partition primary,all dcs": "n2,dcs1,dcs2,dcs3", "partition one": "n2",
	} {
		f := parse(t, text)[0]
		expect.NoError(t, checkTarget(f, members))
		c, err := choose(f, members, "n2", randomness(1, Occurrence{}))
		if got := strings.Join(c.nodes, ","); err != nil || got != want {
			t.Errorf("%s chose %s, %v; want %s", text, got, err, want)
		}
	}
	for seed := range uint64(50) {
		for text, want := range map[string]int{"kill dcs": 1, "kill 2 dcs": 2, "kill any": 1, "kill secondary": 1} {
			c, err := choose(parse(t, text)[0], members, "n2", randomness(seed, Occurrence{}))
			role := ""
			if strings.Contains(text, "dcs") {
				role = "dcs"
			}
			if err != nil || len(c.nodes) != want || slices.ContainsFunc(c.nodes, func(n string) bool { return cluster.RoleOf(n) != role }) {
				t.Fatalf("%s chose %v, %v", text, c.nodes, err)
			}
		}
	}
	c, err := choose(parse(t, "partition n1,all dcs")[0], members, "n2", randomness(1, Occurrence{}))
	if err != nil || sees(c, "n1", "dcs2") || sees(c, "dcs3", "n1") || !sees(c, "n1", "n2") || !sees(c, "n2", "dcs1") || !sees(c, "n1", "pooler") {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"kill 4 dcs": "there are only 3 servers that are its dcs", "kill monitor": "the cluster has no monitor", "kill dcs4": "want one of dcs1, dcs2, dcs3",
		"partition n1,proxy": "the cluster has no proxy", "kill n4": "want one of n1, n2, n3",
	} {
		if err := checkTarget(parse(t, text)[0], members); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
