package fault

import (
	"slices"
	"strings"

	"assay/cluster"
)

// Possible are the faults, without times, that a cluster of this spec can be put to again and
// again: by targets that it has, with the disks that it has, and such that it is whole
// afterwards. What changes its members, damages a disk or empties a node is none of them.
func Possible(s cluster.Spec) (all []Fault) {
	for _, a := range Actions() {
		if a.on == nil || a.after != "" || a.Resizes || a.FailsDisk || a.Empties || a.asks {
			continue
		}
		for _, target := range a.targetsOf(s) {
			f := Fault{Action: a.Name, Target: target, At: -1}
			disk := s.Disk == cluster.DiskFaulty || a.disk == nil || a.disk(f) == s.Disk
			if disk && CheckTargets([]Fault{f}, s) == nil {
				all = append(all, f)
			}
		}
	}
	return all
}

// targetsOf are those that the action can name on such a cluster, without names for the same.
func (a Action) targetsOf(s cluster.Spec) (all []string) {
	if s.Nodes+s.Arbiters == 1 && a.aims("n1") {
		all = []string{"n1"}
	} else {
		for _, t := range a.Targets {
			if !strings.Contains(t, " ") {
				all = append(all, t)
			}
		}
		all = append(all, "2", "primary,any", "any,all", "primary,secondary")
	}
	roles := map[string]int{}
	for _, m := range s.Members() {
		if m.Role != "" {
			roles[m.Role]++
		} else {
			all = append(all, m.Name)
		}
	}
	for _, role := range cluster.Roles() {
		if roles[role] > 0 {
			all = append(all, role)
		}
		if roles[role] > 1 {
			all = append(all, "all "+role, "primary,all "+role)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(t string) bool { return !a.aims(t) })
}
