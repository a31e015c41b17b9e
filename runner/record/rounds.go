package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"assay/history"
	"assay/load"
	"assay/measure"
)

// EventRound begins or ends a round. Detail is a measure.RoundScope; the last of a name holds.
const EventRound = "round"

// MarkRound writes that a round began or, if its end is known, ended.
func MarkRound(to load.Recorder, scope measure.RoundScope) error {
	text, err := json.Marshal(scope)
	if err != nil {
		return err
	}
	at := scope.Start
	if scope.End > 0 {
		at = scope.End
	}
	return to.Mark(history.Event{At: at, Name: EventRound, Detail: string(text)})
}

// Rounds finds the rounds of a history.
type Rounds struct {
	Scopes []measure.RoundScope
}

// Event takes one event of the history. It fails if the event cannot be right.
func (r *Rounds) Event(e history.Event) error {
	if e.Name != EventRound {
		return nil
	}
	var scope measure.RoundScope
	if err := json.Unmarshal([]byte(e.Detail), &scope); err != nil {
		return fmt.Errorf("the history's record of a round cannot be read: %w", err)
	}
	if scope.Clients < 0 || scope.Clients > load.MaxClients || scope.First < 0 || scope.First > math.MaxInt32 {
		return fmt.Errorf("the history's record of round %s cannot be right", scope.Name)
	}
	i := slices.IndexFunc(r.Scopes, func(old measure.RoundScope) bool { return old.Name == scope.Name })
	if i < 0 {
		r.Scopes = append(r.Scopes, scope)
	} else {
		r.Scopes[i] = scope
	}
	return nil
}
