package report

import (
	"fmt"

	"assay/internal/quantity"
)

// CheckDurability is the check of a run that lost everything.
const CheckDurability = "durability"

// Durability is the worth of an acknowledgement by the database's manual, under the settings that
// the server reported.
type Durability struct {
	// Class says what an acknowledged transaction survives: none, process crash, system crash
	// with loss of up to N ms, system crash, loss of some nodes, majority. Then follows what a
	// failover may lose.
	Class string `json:"class"`
	// Window is how old, in milliseconds, acknowledged work may be that is lost when all nodes
	// lose their power; nil if unbounded.
	Window *float64 `json:"window_ms"`
	// OneNode is Window when one node loses its power.
	OneNode *float64 `json:"window_one_node_ms"`
	Source  string   `json:"source"`
	Manual  string   `json:"manual,omitempty"`
	// Tried means that power was cut, or that something acknowledged was found lost for any reason.
	Tried bool `json:"tried"`
}

// Lost is the acknowledged work that power cuts, kills and failovers lost.
type Lost struct {
	Operations int64 `json:"operations"`
	// Beyond is how many the manual does not allow to be lost.
	Beyond int64 `json:"beyond_window"`
	// Newest and Oldest are milliseconds from acknowledgement to that event; nil if none is lost.
	Newest *float64 `json:"newest_ms"`
	Oldest *float64 `json:"oldest_ms"`
	Text   string   `json:"text"`
}

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
