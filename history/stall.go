package history

import (
	"encoding/json"
	"fmt"
	"slices"
)

// EventStalled is a time in which assay did not run. Its Detail is a Stall.
const EventStalled = "stalled"

// Stall is a time in which assay's own clock did not run. A gap or a slow operation in it says
// nothing about the database. Times are nanoseconds since the start of the run.
type Stall struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Busy is true if assay used the processors meanwhile: its own work starved it, and neither
	// the process nor the machine stood still.
	Busy bool `json:"busy,omitempty"`
	// Processes is the number of processes that shared the run's clients, and Clients are the
	// clients of the one that stood still. Both are empty for a run in one process.
	Processes int             `json:"processes,omitempty"`
	Clients   []ClientNumbers `json:"clients,omitempty"`
}

// ClientNumbers are Count clients, from number First on.
type ClientNumbers struct {
	First int `json:"first"`
	Count int `json:"count"`
}

// Of reports whether the client stood still.
func (s *Stall) Of(client int) bool {
	return s.Processes == 0 || slices.ContainsFunc(s.Clients, func(n ClientNumbers) bool { return client >= n.First && client-n.First < n.Count })
}

// Event returns the event that keeps the stall.
func (s Stall) Event() (Event, error) {
	text, err := json.Marshal(s)
	return Event{At: s.From, Name: EventStalled, Detail: string(text)}, err
}

// StallOf reads a stall from an event; is is false for other events.
func StallOf(e Event) (s Stall, is bool, err error) {
	if e.Name != EventStalled {
		return s, false, nil
	}
	if err = json.Unmarshal([]byte(e.Detail), &s); err != nil || s.To < s.From {
		return s, true, fmt.Errorf("the history's record of a stall of assay's cannot be read: %q", e.Detail)
	}
	return s, true, nil
}
