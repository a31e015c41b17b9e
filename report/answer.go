package report

import "assay/check"

// Answer says whether a threshold, a gate or an objective was kept. All forms of the report take the
// word from it, and the mark from its Verdict.
type Answer uint8

const (
	// NotAnswered: its measurement is invalid, the run's end cut the figure, or there is none.
	NotAnswered Answer = iota
	Kept
	Missed
)

// AnswerOf is NotAnswered unless the figures hold.
func AnswerOf(kept, holds bool) Answer {
	switch {
	case !holds:
		return NotAnswered
	case kept:
		return Kept
	}
	return Missed
}

// String is the word beside the mark, for readers who do not see it.
func (a Answer) String() string { return [...]string{"not answered", "kept", "MISSED"}[a] }

// Verdict is the one whose mark and color the answer has.
func (a Answer) Verdict() check.Verdict {
	return [...]check.Verdict{check.Unknown, check.Valid, check.Violated}[a]
}

func (r *Result) answerOf(t *Threshold) Answer {
	return AnswerOf(t.Kept, !r.Measurement.Invalid() && !t.Undecided)
}

func (r *Result) unanswered(t *Threshold) string {
	if r.Measurement.Invalid() {
		return NotAnswered.String() + ": the measurement that it rests on is invalid"
	}
	if t.Missing != "" {
		return NotAnswered.String() + ": " + t.Text + ", " + t.Missing
	}
	return NotAnswered.String() + ", since the run's end cut the figure: " + missedThreshold(t)
}

// answerOfAll is of all thresholds: a missed one counts first.
func answerOfAll(r *Result) Answer {
	all := Kept
	for i := range r.Thresholds {
		if a := r.answerOf(&r.Thresholds[i]); a == Missed || a == NotAnswered && all == Kept {
			all = a
		}
	}
	return all
}
