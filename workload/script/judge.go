package script

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"assay/check"
	"assay/history"
	"assay/workload/definition"
)

// The checks.
const (
	CheckInvariants = "invariants"
	CheckCounted    = "counted"
	CheckListed     = "listed"
	CheckExpected   = "expected"
)

// Judge implements definition.Config. Without a state verdicts are unknown; malformed files give
// a *history.FormatError.
func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	program, err := c.compile(0)
	if err != nil {
		return definition.Judgement{}, err
	}
	j := &judge{program: program, seed: seed, evidence: e, clients: map[int]*progress{}, effects: make([]effects, len(program.transactions)),
		observed: make([]int64, len(program.invariants)), lists: make([]listed, len(program.lists))}
	s, why, err := readState(e.State)
	if err != nil {
		return definition.Judgement{}, err
	}
	j.state = s
	if err := j.readHistory(); err != nil {
		return definition.Judgement{}, err
	}
	if why == "" && (len(s.Invariants) != len(program.invariants) || len(s.Counts) != len(program.counts)) {
		return definition.Judgement{}, &history.FormatError{Path: e.State, Reason: "it has other invariants or counts than the script"}
	}
	unlisted, err := j.readLists()
	if err != nil {
		return definition.Judgement{}, err
	}
	j.missing, j.unlisted = cmp.Or(why, e.InFlight), cmp.Or(why, unlisted, e.InFlight)
	return j.judgement(), nil
}

type judge struct {
	program  *program
	seed     uint64
	evidence definition.Evidence
	state    state
	// missing says why the state is incomplete.
	missing string
	// unlisted says why the lists are incomplete.
	unlisted     string
	lists        []listed
	clients      map[int]*progress
	effects      []effects
	counts       history.Counts
	observations int64
	// observed counts, by invariant, the observations in which it did not hold.
	observed             []int64
	expected, unexpected int64
}

type progress struct {
	next, reserved uint64
	// committed and unknown are the attempts of the current operation.
	committed, unknown int64
}

// effects count transactions that certainly took effect, and further ones that may have.
type effects struct{ certain, possible int64 }

func (j *judge) client(n int) *progress {
	p := j.clients[n]
	if p == nil {
		p = &progress{}
		j.clients[n] = p
	}
	return p
}

func (j *judge) readHistory() error {
	ending, err := history.Read(j.evidence.History, history.Visitor{
		Op: j.op,
		Reservation: func(r history.Reservation) error {
			j.client(r.Client).reserved = r.UpTo
			return nil
		},
	})
	if err != nil || ending.Whole {
		return err
	}
	// A killed tester leaves reserved operations without records; they may have been done.
	for number, c := range j.clients {
		for seq := c.next; seq < c.reserved; seq++ {
			random := randomOf(j.seed, number, seq)
			kind := j.program.choose(&random)
			attempts := int64(1)
			if seq == c.next {
				attempts += c.unknown // recorded attempts of the operation in flight
			}
			j.effects[kind].possible += attempts
			j.list(kind, number, seq, 0, attempts)
			j.counts.Add(history.Unknown, 1)
		}
	}
	return nil
}

func (j *judge) op(op *history.Op) error {
	malformed := &history.FormatError{Path: j.evidence.History, Reason: "an operation that cannot be understood"}
	if op.Kind == KindObserve {
		if op.Outcome != history.Committed {
			return nil
		}
		j.observations++
		for _, i := range op.Values {
			if i < 0 || i >= int64(len(j.observed)) {
				return malformed
			}
			j.observed[i]++
		}
		return nil
	}
	if op.Kind < 1 || int(op.Kind) > len(j.effects) {
		return malformed
	}
	j.dated(op)
	e, c := &j.effects[op.Kind-1], j.client(op.Client)
	switch op.Outcome {
	case history.Committed:
		if len(op.Values) != 2 {
			return malformed
		}
		j.expected += op.Values[0]
		j.unexpected += op.Values[1]
		c.committed++
	case history.Unknown:
		c.unknown++
	}
	if !op.Last {
		return nil
	}
	// The operation was found done: an attempt of unknown outcome had its effect.
	if op.Final == history.Committed && c.committed == 0 && c.unknown > 0 {
		c.committed, c.unknown = 1, c.unknown-1
	}
	e.certain += c.committed
	e.possible += c.unknown
	j.list(int(op.Kind-1), op.Client, op.Seq, c.committed, c.unknown)
	*c = progress{next: op.Seq + 1, reserved: c.reserved}
	j.counts.Add(op.Final, 1)
	return nil
}

func (j *judge) judgement() definition.Judgement {
	out := definition.Judgement{Counts: j.counts, Permitted: j.permitted}
	if j.state.Alone != nil {
		if out.Alone = *j.state.Alone; out.Alone == 0 {
			out.Unproven = "the script's rules were not seen to hold with one client alone"
		}
	}
	if len(j.program.invariants) > 0 {
		out.Results = append(out.Results, j.invariants())
	}
	if len(j.program.counts) > 0 {
		out.Results = append(out.Results, j.counted())
	}
	if len(j.program.lists) > 0 {
		out.Results = append(out.Results, j.listedResult(j.unlisted))
	}
	if j.expected > 0 {
		out.Results = append(out.Results, j.expectations())
	}
	if len(out.Results) == 0 {
		out.Unasked = "no invariant was declared, nothing is known of what the transactions did"
	}
	var parts []string
	for i, t := range j.program.transactions {
		parts = append(parts, fmt.Sprintf("%s %s", check.Count(j.effects[i].certain), t.name))
	}
	out.Notes = append(out.Notes, "committed: "+strings.Join(parts, ", "))
	return out
}

// invariants judges each observation and the end.
func (j *judge) invariants() check.Result {
	r := check.Result{Name: CheckInvariants}
	for i := range j.program.invariants {
		n := &j.program.invariants[i]
		if j.observed[i] > 0 {
			left := j.observed[i] - j.addTexts(&r, "observed", i, j.observed[i])
			addRest(&r, left, check.Evidence{Kind: "observed", Text: n.name + " did not hold; what it was is not kept", Fields: map[string]int64{"index": int64(i)}})
		}
		if len(j.state.Invariants) > 0 {
			if wrong := n.judge(j.state.Invariants[i]); wrong != "" {
				r.Add(j.proven(check.Evidence{Kind: "end", Text: wrong + ", at the end", Fields: map[string]int64{"invariant": int64(i)}}, r.Name, i))
			}
		}
	}
	r.Detail = fmt.Sprintf("%s looked at in %s while transactions went on, and at the end",
		check.Counted(len(j.program.invariants), "invariant was", "invariants were"), check.Counted(j.observations, "state", "states"))
	r.Finish(j.missing, false, "")
	return r
}

// addTexts adds the kept texts of a check's findings, at most so many, and returns their number.
func (j *judge) addTexts(r *check.Result, kind string, index int, most int64) (added int64) {
	for _, f := range j.state.Findings {
		if f.Check == r.Name && f.Index == index && added < most {
			r.Add(j.proven(check.Evidence{Kind: kind, Text: f.Text, Fields: map[string]int64{"index": int64(index)}}, r.Name, index))
			added++
		}
	}
	return added
}

// addRest counts findings beyond the kept texts; e stands for them if there is no text.
func addRest(r *check.Result, left int64, e check.Evidence) {
	if left > 0 && len(r.Evidence) == 0 {
		r.Add(e)
		left--
	}
	r.AddUnlisted(e.Kind, left)
}

// kindHalf is of a transaction of unknown outcome that left some of its rows, and not all.
const kindHalf = "half done"

// torn reports whether rows cannot be of whole transactions that each leave so many. A script whose
// parts may be committed alone may have done some of them.
func (t *transaction) torn(rows any, start, each int64) bool {
	n, is := rows.(int64)
	return is && each > 0 && (n-start)%each != 0 && (t.texts == nil || !t.texts.parts)
}

// counted compares rows with what was acknowledged.
func (j *judge) counted() check.Result {
	r, committed := check.Result{Name: CheckCounted}, int64(0)
	var parts []string
	for i := range j.program.counts {
		c := &j.program.counts[i]
		kind, _ := j.program.kind(c.transaction)
		e := j.effects[kind]
		committed += e.certain
		least, most := c.start+c.each*e.certain, c.start+c.each*(e.certain+e.possible)
		if len(j.state.Counts) == 0 {
			continue
		}
		got, _ := j.state.Counts[i].value()
		there := show(got)
		if n, is := got.(int64); is {
			there = check.Counted(n, "row", "rows")
		}
		text := fmt.Sprintf("%s has %s after %s committed and %s unknown of %s", c.name, there, check.Count(e.certain), check.CountOrNone(e.possible), c.transaction)
		low, high := compareInts(got, least), compareInts(got, most)
		fields := map[string]int64{"count": int64(i), "least": least, "most": most}
		switch {
		case low == -2:
			r.Add(check.Evidence{Kind: "none", Text: c.name + ": the query gives no number", Fields: fields})
		case low < 0:
			r.Add(check.Evidence{Kind: "lost", Text: fmt.Sprintf("%s: at least %s were to be there", text, check.Count(least)), Fields: fields})
		case high > 0:
			r.Add(check.Evidence{Kind: "surplus", Text: fmt.Sprintf("%s: at most %s were to be there", text, check.Count(most)), Fields: fields})
		case j.program.transactions[kind].torn(got, c.start, c.each):
			r.Add(check.Evidence{Kind: kindHalf, Text: fmt.Sprintf("%s: each was to leave %s, or none", text, check.Counted(c.each, "row", "rows")), Fields: fields})
		default:
			parts = append(parts, text)
		}
	}
	r.Detail = strings.Join(parts, "; ")
	if r.Detail == "" {
		r.Detail = check.Counted(len(j.program.counts), "count", "counts") + " declared"
	}
	r.Finish(j.missing, committed == 0, "no transaction that is counted was committed")
	return r
}

// expectations judges the answers to committed transactions.
func (j *judge) expectations() check.Result {
	r := check.Result{Name: CheckExpected}
	left := j.unexpected
	for i := range j.program.transactions {
		left -= j.addTexts(&r, "expected", i, left)
	}
	addRest(&r, left, check.Evidence{Kind: "expected", Text: "expectations did not hold; what they were is not kept"})
	met := "all of them met"
	if j.unexpected > 0 {
		met = check.Count(j.unexpected) + " of them not met"
	}
	r.Detail = fmt.Sprintf("%s of committed transactions, %s", check.Counted(j.expected, "expectation", "expectations"), met)
	r.Finish(j.evidence.InFlight, false, "")
	return r
}
