package report

// Answer is what a threshold, a gate or an objective got. Table, text, page and test report take
// mark, word and colour from it.
type Answer uint8

const (
	// NotAnswered: the measurement that it rests on is invalid, or the run's end cut the figure.
	NotAnswered Answer = iota
	Kept
	Missed
)

// AnswerOf is the answer of something that was kept or not, by figures that hold or not.
func AnswerOf(kept, holds bool) Answer {
	switch {
	case !holds:
		return NotAnswered
	case kept:
		return Kept
	}
	return Missed
}

// Mark stands before it.
func (a Answer) Mark() string { return [...]string{"?", mark(true), mark(false)}[a] }

// String says beside the mark what it means, for those who do not see it.
func (a Answer) String() string { return [...]string{"not answered", "kept", "MISSED"}[a] }

// Class is the one of its box in pages.
func (a Answer) Class() string { return [...]string{"unsure", "valid", "violated"}[a] }

func (a Answer) color() string { return [...]string{yellow, green, red}[a] }

// Verdict is a line of a document about it.
func (a Answer) Verdict(text string) DocumentVerdict {
	return DocumentVerdict{Text: text, Good: a == Kept, Unsure: a == NotAnswered}
}

// answerOf is whether a threshold of the run was kept.
func (r *Result) answerOf(t *Threshold) Answer {
	return AnswerOf(t.Kept, !r.Measurement.Invalid() && !t.Undecided)
}

// unanswered is why a threshold of the run is.
func (r *Result) unanswered(t *Threshold) string {
	if r.Measurement.Invalid() {
		return NotAnswered.String() + ": the measurement that it rests on is invalid"
	}
	return NotAnswered.String() + ", since the run's end cut the figure: " + missedThreshold(t)
}

// answerOfAll is whether all thresholds of the run were: one that is missed counts first.
func answerOfAll(r *Result) Answer {
	all := Kept
	for i := range r.Thresholds {
		if a := r.answerOf(&r.Thresholds[i]); a == Missed || a == NotAnswered && all == Kept {
			all = a
		}
	}
	return all
}
