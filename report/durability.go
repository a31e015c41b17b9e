package report

import (
	"fmt"

	"assay/internal/quantity"
)

// CheckDurability is the check of a run of which nothing is left: the run's whole, not a part of it.
const CheckDurability = "durability"

// Durability is what an acknowledgement of the database is worth by its manual, under
// the settings that the server itself has reported.
type Durability struct {
	// Class is what an acknowledged transaction survives: none, process crash, system
	// crash with loss of up to N ms, system crash, loss of some nodes, majority; behind it what a
	// failover may lose.
	Class string `json:"class"`
	// Window is for how many milliseconds before a loss of power of all nodes what was
	// acknowledged may be lost; nil if there is no bound.
	Window *float64 `json:"window_ms"`
	// OneNode is the same of a loss of power of one node.
	OneNode *float64 `json:"window_one_node_ms"`
	// Source is the settings that decide it, Manual the chapter that says so.
	Source string `json:"source"`
	Manual string `json:"manual,omitempty"`
	// Tried is true if the power of a node was cut in this run.
	Tried bool `json:"tried"`
}

// Lost is what was lost by power cuts of what had been acknowledged.
type Lost struct {
	Operations int64 `json:"operations"`
	// Beyond is how many of them the manual does not allow to be lost.
	Beyond int64 `json:"beyond_window"`
	// Newest and Oldest are how many milliseconds before the cut the last and the first
	// of them were acknowledged; nil if none is lost.
	Newest *float64 `json:"newest_ms"`
	Oldest *float64 `json:"oldest_ms"`
	// Text says it in a sentence.
	Text string `json:"text"`
}

// durabilityLine says what an acknowledgement is worth, and whether that was tried.
func durabilityLine(r *Result) string {
	d := r.Durability
	if d == nil {
		return ""
	}
	text := fmt.Sprintf("%s (%s)", d.Class, d.Source)
	switch {
	case !d.Tried:
		return text + ", not tried in this run"
	case r.Lost == nil:
		return text + ", tried in this run"
	case r.Lost.Operations == 0:
		return text + ", tried in this run: nothing acknowledged was lost"
	}
	return fmt.Sprintf("%s, tried in this run: %s acknowledged and lost", text, quantity.Grouped(fmt.Sprint(r.Lost.Operations)))
}
