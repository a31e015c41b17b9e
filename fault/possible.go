package fault

import (
	"slices"
	"strings"

	"assay/cluster"
)

// Possible are the faults, without times, that this cluster can have again and again: with its
// targets and disks, and such that it is whole afterwards. So none changes members, damages a disk
// or empties a node.
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

// targetsOf are the action's targets on this cluster, each under one name.
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
