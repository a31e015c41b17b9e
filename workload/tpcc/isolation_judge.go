package tpcc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/report"
	"assay/workload/definition"
)

type isolationResult struct {
	// kind is the kind of finding, empty for none.
	kind, text string
	// forbid are the weakest models that forbid the finding.
	forbid []cycle.Model
	// how says how the transactions were isolated, if nothing was found.
	how string
}

// Findings of the tests, with the weakest models that forbid them: as for G1a and G1b, P4,
// G-single and PMP in workload/interleaving. Repeatable read (PL-2.99) permits a phantom.

func dirtyRead(format string, of ...any) isolationResult {
	return isolationResult{kind: "dirty read", text: fmt.Sprintf(format, of...), forbid: []cycle.Model{cycle.ReadCommitted}}
}

func lostUpdate(format string, of ...any) isolationResult {
	return isolationResult{kind: "lost update", text: fmt.Sprintf(format, of...), forbid: []cycle.Model{cycle.CursorStability, cycle.UpdateAtomic}}
}

func nonRepeatableRead(format string, of ...any) isolationResult {
	return isolationResult{kind: "non-repeatable read", text: fmt.Sprintf(format, of...), forbid: []cycle.Model{cycle.ConsistentView, cycle.RepeatableRead}}
}

func phantom(format string, of ...any) isolationResult {
	return isolationResult{kind: "phantom", text: fmt.Sprintf(format, of...), forbid: []cycle.Model{cycle.ConsistentView}}
}

// kept is a test without a finding.
func (t *IsolationTest) kept(otherwise string) isolationResult {
	how := otherwise
	if t.Waited {
		how = "waited"
	}
	if t.Refused != "" {
		how += ", " + t.Refused
	}
	return isolationResult{how: how}
}

func judgeReadOrder(t *IsolationTest) isolationResult {
	switch {
	case slices.Equal(t.Seen, t.Before):
		return t.kept("read the state before")
	case slices.Equal(t.Seen, t.Done) && t.First && !t.Early:
		return t.kept("read the state after")
	case t.Seen[0] == t.Done[0] && !t.First:
		return dirtyRead("T2 was shown %s, which T1 has rolled back", showOrder(t.Seen))
	case t.Seen[0] == t.Done[0]:
		return dirtyRead("T2 was shown %s while T1, whose order it is, was not committed; that is %s", showOrder(t.Seen), showOrder(t.Done))
	default:
		return dirtyRead("T2 was shown %s; before it was %s, and T1 entered %s", showOrder(t.Seen), showOrder(t.Before), showOrder(t.Done))
	}
}

func showOrder(order []int64) string {
	return fmt.Sprintf("order %d with %d lines of %d in all", order[0], order[1], order[2])
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func judgeOrderTwice(t *IsolationTest) isolationResult {
	want := t.Before[0] + one(t.First)
	switch {
	case t.Seen[0] == want && t.After[0] == want+1:
		return t.kept("did not wait")
	case t.First && t.Seen[0] == t.Done[0]:
		return lostUpdate("T1 and T2 have both entered order %d, and D_NEXT_O_ID is %d", t.Seen[0], t.After[0])
	case !t.First && t.Seen[0] == t.Done[0]+1:
		return dirtyRead("T2 has entered order %d, after order %d, which T1 has rolled back", t.Seen[0], t.Done[0])
	default:
		return lostUpdate("T2 has entered order %d where %d came next, and D_NEXT_O_ID is %d", t.Seen[0], want, t.After[0])
	}
}

func judgeDeliverAndPay(t *IsolationTest) isolationResult {
	delivered, paid := t.Done[0], t.Seen[0]
	want := t.Before[0] + one(t.First)*delivered - paid
	switch {
	case t.After[0] == want:
		return t.kept("did not wait")
	case !t.First && t.After[0] == t.Before[0]+delivered-paid:
		return dirtyRead("C_BALANCE is %d, with %d that T1 has rolled back", t.After[0], delivered)
	default:
		return lostUpdate("C_BALANCE is %d, where %d less %d paid and, of a committed T1, with %d delivered is %d", t.After[0], t.Before[0], paid, delivered, want)
	}
}

func judgeReadPrices(t *IsolationTest) isolationResult {
	left := t.Before
	if t.Second {
		left = t.Done
	}
	switch {
	case !slices.Equal(t.Seen, t.Before) || t.Again != nil && !slices.Equal(t.Again, t.Before):
		return nonRepeatableRead("T2 has read the prices %d and then %d, where T1 had read %d", t.Seen, t.Again, t.Before)
	case !slices.Equal(t.After, left):
		return lostUpdate("T4 has read the prices %d, and they are to be %d", t.After, left)
	case !t.First:
		return isolationResult{how: "case B: T2 refused, " + t.Refused}
	case !t.Second:
		return isolationResult{how: "case C: T3 refused, " + t.Refused}
	case t.Waited:
		return isolationResult{how: "case A: T3 waited"}
	default:
		return isolationResult{how: "case D: T2 read the state before"}
	}
}

func judgePhantom(t *IsolationTest) isolationResult {
	switch {
	case t.Again != nil && !slices.Equal(t.Again, t.Seen):
		return phantom("T1 has found order %d and, when it read the same again, order %d, which T2 has entered meanwhile", t.Seen[0], t.Again[0])
	case t.Refused != "":
		return isolationResult{how: "another case: refused, " + t.Refused}
	case t.Waited:
		return isolationResult{how: "case A: T2 waited"}
	default:
		return isolationResult{how: "case B: T1 read the state before"}
	}
}

// readIsolation reads the tests' record. A run of an earlier version has none.
func readIsolation(folder string) (record isolationRecord, err error) {
	path := filepath.Join(folder, FileIsolation)
	if record, err = definition.ReadJSON[isolationRecord](path); err != nil {
		return record, err
	}
	if len(record.Tests) == 0 && record.NotTried == "" {
		record.NotTried = "the run has no record of them"
	}
	for i := range record.Tests {
		if !record.Tests[i].whole() {
			return record, &history.FormatError{Path: path, Reason: fmt.Sprintf("what is there of test %d is not what such a test leaves", record.Tests[i].Test)}
		}
	}
	return record, nil
}

// whole reports whether the record has the numbers that the judge needs.
func (t *IsolationTest) whole() bool {
	if t.Test < 1 || t.Test > isolationTests {
		return false
	}
	if t.NotPlayed != "" {
		return true
	}
	again := t.Again == nil || len(t.Again) == len(t.Seen)
	switch t.Test {
	case 1, 2:
		return len(t.Before) == 3 && len(t.Done) == 3 && len(t.Seen) == 3
	case 8, 9:
		return len(t.Seen) == 1 && again
	default:
		return len(t.Before) > 0 && len(t.After) > 0 && len(t.Seen) > 0 && (len(t.Done) > 0 || t.Test == 7) && again
	}
}

// judgeIsolation judges by the promised model. If no test was tried, note says why.
func judgeIsolation(folder, promise string) (result *check.Result, tests []report.IsolationTest, note string, err error) {
	record, err := readIsolation(folder)
	if err != nil {
		return nil, nil, "", err
	}
	if record.NotTried != "" {
		return nil, nil, "isolation tests of clause 3.4.2: not tried: " + record.NotTried, nil
	}
	model, unknown := cycle.ParseModel(promise)
	result = &check.Result{Name: CheckIsolation}
	var missing, isolated []string
	passed := 0
	scripts := isolationScripts()
	for i := range record.Tests {
		t := &record.Tests[i]
		script := scripts[t.Test-1]
		out := report.IsolationTest{Test: t.Test, Between: script.Between, Phenomenon: script.Phenomenon, Steps: t.Steps}
		if t.NotPlayed != "" {
			out.Result, out.How = report.IsolationNotPlayed, t.NotPlayed
			missing = append(missing, fmt.Sprintf("isolation test %d could not be played: %s", t.Test, t.NotPlayed))
			tests = append(tests, out)
			continue
		}
		is := script.judge(t)
		out.Result, out.How = report.IsolationPassed, is.how
		if is.kind == "" {
			passed++
		} else { // clause 3.4.1 wants level 3 of isolation, which the vendor need not promise
			out.Result, out.How = report.NotIsolated, is.kind+": "+is.text
			out.Forbidden = unknown == nil && slices.ContainsFunc(is.forbid, model.Includes)
			isolated = append(isolated, fmt.Sprintf("%d (%s)", t.Test, is.kind))
			result.AddIf(out.Forbidden || unknown != nil, check.Evidence{Kind: is.kind, Fields: map[string]int64{"test": int64(t.Test)},
				Text: fmt.Sprintf("isolation test %d (%s): %s. %s", t.Test, script.Between, is.text, strings.Join(t.Steps, "; "))})
		}
		tests = append(tests, out)
	}
	result.Detail = fmt.Sprintf("%d of %d isolation tests of clause 3.4.2 passed", passed, isolationTests)
	if len(isolated) > 0 {
		result.Detail += "; not isolated: test " + strings.Join(isolated, ", ")
	}
	if unknown != nil {
		for i := range result.Findings {
			result.Findings[i].Source = "which model the vendor promises is not known"
		}
	}
	if len(record.Tests) < isolationTests && len(missing) == 0 {
		missing = append(missing, fmt.Sprintf("%d tests were played", len(record.Tests)))
	}
	result.Finish(strings.Join(missing, "; "), false, "")
	return result, tests, note, nil
}
