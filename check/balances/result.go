package balances

import (
	"fmt"
	"math/big"
	"strings"

	"assay/check"
)

// Result returns the answer over all that was seen so far.
func (j *Judge) Result() check.Result {
	r := check.Result{Name: "balances"}
	should := total{}.plus(j.o.Total)
	if !j.o.TotalKnown {
		should = j.usual()
	}
	wrong := j.wrong(&r, should)
	for _, e := range j.missing {
		r.Add(e)
	}
	for _, e := range j.negative {
		r.Add(e)
	}
	for _, e := range j.accounts.evidence {
		r.Add(e)
	}
	if r.Found > 0 { // what was not listed counts as well
		r.AddUnlisted("", wrong+j.without+j.negatives+j.accounts.lacking+j.accounts.foreign-r.Found)
	}
	r.Detail = fmt.Sprintf("%s of all accounts, %s (%s that may have taken effect); ",
		plural(j.reads, "read"), plural(j.transfers, "transfer"), check.CountOrNone(j.possible))
	switch {
	case r.Verdict == check.Violated:
		r.Detail += j.violationDetail(should, wrong)
	case j.reads == 0:
		r.Detail += "no read was answered, so nothing can be said"
	case j.reads == 1 && !j.o.TotalKnown:
		r.Detail += "one read alone does not show whether its total is right; give the total, or read more often"
	case j.possible == 0:
		r.Detail += "no money was moved, so nothing was put to the test"
	case j.accounts.undecided() != "":
		r.Detail += j.accounts.undecided()
	default:
		r.Verdict = check.Valid
		r.Detail += fmt.Sprintf("each read saw a total of %s", should.big())
		if !j.o.NegativeAllowed {
			r.Detail += " and no account below zero"
		}
	}
	if j.unanswered > 0 {
		r.Detail += fmt.Sprintf("; %s without accounts in the history", plural(j.unanswered, "more read"))
	}
	return r
}

// usual returns the total that most reads saw, of equals the first.
func (j *Judge) usual() total {
	var most readsOfTotal
	for _, s := range j.order {
		if s.reads > most.reads {
			most = *s
		}
	}
	return most.total
}

// wrong adds the reads that saw another total than they should, one of each
// total first, and returns how many there are.
func (j *Judge) wrong(r *check.Result, should total) int64 {
	wrong := j.beyond
	for _, s := range j.order {
		if s.total != should {
			wrong += s.reads
		}
	}
	for depth := range perTotal {
		for _, s := range j.order {
			if s.total == should || depth >= len(s.first) {
				continue
			}
			e := check.Evidence{Kind: kindTotal, Fields: s.first[depth].fields,
				Text: fmt.Sprintf("%s, %s", s.first[depth].text, j.compare(s.total, should))}
			if v := s.total.big(); v.IsInt64() {
				e.Fields["total"] = v.Int64()
			}
			r.Add(e)
		}
	}
	return wrong
}

// compare describes by how much a total is off, and from what.
func (j *Judge) compare(is, should total) string {
	off := new(big.Int).Sub(is.big(), should.big())
	word := "more"
	if off.Sign() < 0 {
		word = "less"
	}
	from := "that there are"
	if !j.o.TotalKnown {
		from = "that " + plural(j.totals[should].reads, "read") + " saw"
	}
	return fmt.Sprintf("%s %s than the %s %s", off.Abs(off), word, should.big(), from)
}

func (j *Judge) violationDetail(should total, wrong int64) string {
	var parts []string
	if wrong > 0 {
		parts = append(parts, fmt.Sprintf("%s saw another total than %s", check.Count(wrong), should.big()))
	}
	if j.without > 0 {
		parts = append(parts, check.Count(j.without)+" missed a balance")
	}
	if j.accounts.lacking > 0 {
		parts = append(parts, check.Count(j.accounts.lacking)+" lacked an account")
	}
	if j.accounts.foreign > 0 {
		parts = append(parts, check.Count(j.accounts.foreign)+" saw an account that is none of the bank's")
	}
	if j.negatives > 0 {
		parts = append(parts, check.Counted(j.negatives, "time", "times")+" an account was below zero")
	}
	return strings.Join(parts, ", ")
}

func plural(n int64, what string) string { return check.Counted(n, what, what+"s") }
