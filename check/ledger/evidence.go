package ledger

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

const (
	// shownSteps bounds the steps written out, maxCycleSteps the length of a listed cycle.
	shownSteps    = 6
	maxCycleSteps = 50
)

func (c *versionOrder) isAudit(n node) bool { return n >= c.j.entries.len() }

func (c *versionOrder) audit(n node) *audit { return &c.j.audits.partial[n-c.j.entries.len()] }

func (c *versionOrder) operationID(n node) int64 {
	if c.isAudit(n) {
		return c.j.config.ID(int(c.audit(n).client), c.audit(n).seq)
	}
	return c.j.id(n)
}

// versionAt is the version that an entry gave an account, by id, or that an audit read there.
func (c *versionOrder) versionAt(n node, id uint32) int64 {
	if !c.isAudit(n) {
		version, _ := c.gave(n, id)
		return version
	}
	for _, r := range c.j.audits.of(n - c.j.entries.len()) {
		if r.account == id {
			return r.version
		}
	}
	return 0
}

// nodeNames returns a function that names nodes: in full at first, later in short.
func (c *versionOrder) nodeNames() func(n node) string {
	named := map[node]bool{}
	return func(n node) string {
		if c.isAudit(n) {
			return c.audit(n).name()
		}
		id := c.j.id(n)
		if named[n] {
			return fmt.Sprintf("transfer %d", id)
		}
		named[n] = true
		return c.j.transfer(id)
	}
}

// dependency describes why one node precedes another. For kind see check.Step.
func (c *versionOrder) dependency(x step, name func(n node) string) (kind, text string) {
	from, to := c.versionAt(x.from, x.account), c.versionAt(x.to, x.account)
	switch {
	case c.isAudit(x.from) && c.isAudit(x.to):
		return "rw", fmt.Sprintf("%s read account %d at version %d and did not see what %s saw at version %d",
			name(x.from), x.account, from, name(x.to), to)
	case c.isAudit(x.from):
		return "rw", fmt.Sprintf("%s read account %d at version %d and did not see %s, which gave it version %d",
			name(x.from), x.account, from, name(x.to), to)
	case c.isAudit(x.to):
		return "wr", fmt.Sprintf("%s gave account %d version %d and %s saw that, reading version %d",
			name(x.from), x.account, from, name(x.to), to)
	default:
		return "ww", fmt.Sprintf("%s gave account %d version %d and %s gave it version %d", name(x.from), x.account, from, name(x.to), to)
	}
}

// describeSteps writes steps out and numbers their fields: id_1 precedes the next id on account_1,
// where the two have version_1 and next_version_1.
func (c *versionOrder) describeSteps(steps []step, name func(n node) string, fields map[string]int64) string {
	var parts []string
	for i, x := range steps[:min(len(steps), shownSteps)] {
		_, text := c.dependency(x, name)
		parts = append(parts, text)
		set := func(field string, value int64) { fields[fmt.Sprintf("%s_%d", field, i+1)] = value }
		set("id", c.operationID(x.from))
		set("account", int64(x.account))
		set("version", c.versionAt(x.from, x.account))
		set("next_version", c.versionAt(x.to, x.account))
	}
	if more := len(steps) - shownSteps; more > 0 {
		parts = append(parts, "and "+check.Count(more)+" more")
	}
	fields["steps"] = int64(len(steps))
	return strings.Join(parts, "; ")
}

// cycleEvidence lists a cycle of steps. If the steps are only a path, its last node was
// acknowledged before its first was started; back says so.
func (c *versionOrder) cycleEvidence(steps []step, back string) *check.Cycle {
	if len(steps) == 0 || len(steps) > maxCycleSteps {
		return nil
	}
	nodes := make([]node, 0, len(steps)+1)
	for _, x := range steps {
		nodes = append(nodes, x.from)
	}
	if back != "" {
		nodes = append(nodes, steps[len(steps)-1].to)
	}
	name := func(n node) string {
		letter := "T"
		if c.isAudit(n) {
			letter = "A"
		}
		return fmt.Sprintf("%s%d", letter, slices.Index(nodes, n)+1)
	}
	cycle := &check.Cycle{}
	for i, n := range nodes {
		s := check.Step{Name: name(n), Text: c.describe(n), Kind: "realtime", Why: back}
		if i < len(steps) {
			s.Kind, s.Why = c.dependency(steps[i], name)
		}
		cycle.Steps = append(cycle.Steps, s)
	}
	return cycle
}

func (c *versionOrder) describe(n node) string {
	if !c.isAudit(n) {
		id := c.j.id(n)
		source, destination, amount := c.j.config.Expect(id)
		return fmt.Sprintf("%s: %d from account %d to %d", c.j.transfer(id), amount, source, destination)
	}
	var read []string
	for _, r := range c.j.audits.of(n - c.j.entries.len()) {
		read = append(read, fmt.Sprintf("account %d at version %d", r.account, r.version))
	}
	return fmt.Sprintf("%s read %s", c.audit(n).name(), strings.Join(read, ", "))
}

func (s *topologicalSort) addDirtyWrite(cycle []step) {
	s.found.Add(KindDirtyWrite, func() check.Evidence {
		fields := map[string]int64{}
		text := check.Count(len(cycle)) + " transfers each come before the next and the last before the first (dirty write, G0): "
		return check.Evidence{Text: text + s.describeSteps(cycle, s.nodeNames(), fields), Fields: fields, Cycle: s.cycleEvidence(cycle, "")}
	})
}

// addSkew reports a cycle that begins with an audit.
func (s *topologicalSort) addSkew(cycle []step) {
	audits := 0
	for _, x := range cycle {
		if s.isAudit(x.from) {
			audits++
		}
	}
	audit := cycle[0].from - s.j.entries.len()
	if audits == 1 && len(cycle) == 2 {
		s.audits.addTornRead(cycle)
		return
	}
	kind, what := KindReadSkew, "an audit did not see what came before something that it saw (read skew, G-single): "
	if audits > 1 {
		kind, what = KindLongFork, "audits saw transfers in orders that exclude each other (long fork, G-nonadjacent): "
	}
	s.audits.convict(audit, kind, func() check.Evidence {
		fields := map[string]int64{}
		return check.Evidence{Text: what + s.describeSteps(cycle, s.nodeNames(), fields), Fields: fields, Cycle: s.cycleEvidence(cycle, "")}
	})
}

// addTornRead reports an audit that saw only one side of a transfer: a cycle of the two.
func (a *auditCheck) addTornRead(cycle []step) {
	missed, saw, n := cycle[0], cycle[1], cycle[1].from
	audit := missed.from - a.j.entries.len()
	a.convict(audit, KindReadSkew, func() check.Evidence {
		fields := map[string]int64{}
		a.describeSteps(cycle, a.nodeNames(), fields)
		on := func(x step) string {
			return fmt.Sprintf("account %d (it gave version %d, version %d was read)",
				x.account, a.versionAt(n, x.account), a.versionAt(missed.from, x.account))
		}
		return check.Evidence{
			Text: fmt.Sprintf("%s saw %s on %s and not on %s: read skew (G-single)",
				a.audits.partial[audit].name(), a.j.transfer(a.j.id(n)), on(saw), on(missed)),
			Fields: fields, Cycle: a.cycleEvidence(cycle, ""),
		}
	})
}

// addStale reports that early follows late, although it had ended before late was started.
func (s *topologicalSort) addStale(late, early node) {
	start, _ := s.span(late)
	_, end := s.span(early)
	kind, into := KindStaleOrder, s.found
	if s.audits != nil {
		into = s.audits.found
		switch {
		case s.isAudit(late):
			kind = KindStaleRead
		case s.isAudit(early):
			kind = KindFutureRead
		}
	}
	into.Add(kind, func() check.Evidence {
		name := s.nodeNames()
		fields := map[string]int64{"early_id": s.operationID(early), "acknowledged_ns": end, "late_id": s.operationID(late), "started_ns": start}
		// The path can only contain nodes still in flight when late started: an earlier one would
		// have been reported itself.
		way := merge(search(late, early, func(n node, visit func(step) bool) {
			for k := 0; ; k++ {
				x, some := s.before(n, k)
				_, acknowledged := s.span(x.from)
				if !some || (acknowledged >= start || x.from == late) && !visit(x) {
					return
				}
			}
		}))
		back := fmt.Sprintf("%s had ended at %s when %s was started at %s", name(early), seconds(end), name(late), seconds(start))
		how := "over many others"
		if way != nil {
			how = s.describeSteps(way, name, fields)
		}
		return check.Evidence{Text: back + ", and yet comes after it: " + how, Fields: fields, Cycle: s.cycleEvidence(way, back)}
	})
}

func seconds(ns int64) string { return fmt.Sprintf("%.6f s", float64(ns)/1e9) }
