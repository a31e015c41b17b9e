package history

import (
	"encoding/json"
	"fmt"
)

// EventStalled is a time in which assay did not run; Detail is a Stall.
const EventStalled = "stalled"

// Stall is a time in which assay's own clock did not run: nothing that an operation, or the
// absence of one, shows of it is the database's. Times are nanoseconds since the start of the
// run.
type Stall struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Busy is true if assay used the processors meanwhile: it was starved by its own work, and
	// neither stopped nor on a machine that stood still.
	Busy bool `json:"busy,omitempty"`
}

// Event is the stall as the history keeps it.
func (s Stall) Event() (Event, error) {
	text, err := json.Marshal(s)
	return Event{At: s.From, Name: EventStalled, Detail: string(text)}, err
}

// StallOf reads an event; is is false of others.
func StallOf(e Event) (s Stall, is bool, err error) {
	if e.Name != EventStalled {
		return s, false, nil
	}
	if err = json.Unmarshal([]byte(e.Detail), &s); err != nil || s.To < s.From {
		return s, true, fmt.Errorf("the history's record of a stall of assay's cannot be read: %q", e.Detail)
	}
	return s, true, nil
}
