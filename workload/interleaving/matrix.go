package interleaving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check/cycle"
	"assay/history"
	"assay/store"
)

// Result is what an isolation level does with an anomaly.
type Result string

// NotReached means that the script could not be played to its end.
const (
	Shown      Result = "shown"
	Prevented  Result = "prevented"
	NotReached Result = "not reached"
)

// Cell is one level and one anomaly.
type Cell struct {
	Database string `json:"database"`
	Level    string `json:"level"`
	// Promise is the vendor's model at the level.
	Promise string `json:"promise"`
	Anomaly string `json:"anomaly"`
	Title   string `json:"title"`
	Result  Result `json:"result"`
	// How says how the level prevented it: "blocked", an error class, both, or an old version;
	// or why it was not reached.
	How string `json:"how"`
	// Forbidden is true if the promise forbids the anomaly; Broken if it was shown nonetheless.
	Forbidden bool `json:"forbidden"`
	Broken    bool `json:"broken"`
	// Trace has the steps in the order of their ends.
	Trace []string `json:"trace"`
}

// Play plays all scripts on a created schema with the table Rows, and gives each cell as soon as
// it is known. The error says that the database could not be used, or that ctx ended.
func Play(ctx context.Context, db store.Database, database, level string, give func(Cell)) error {
	model, err := cycle.ParseModel(db.Promises().Model)
	if err != nil {
		return err
	}
	sessions := newPool(db)
	defer sessions.close()
	for _, script := range Scripts() {
		p, err := sessions.play(ctx, &script)
		if err != nil {
			return fmt.Errorf("anomaly %s at %s: %w", script.Anomaly, level, err)
		}
		c := Cell{Database: database, Level: level, Promise: string(model), Anomaly: script.Anomaly, Title: script.Title,
			Forbidden: script.Forbidden(model), Trace: p.trace}
		c.Result, c.How = p.judge(&script)
		c.Broken = c.Forbidden && c.Result == Shown
		give(c)
	}
	return nil
}

func (p *play) judge(script *Script) (result Result, how string) {
	if script.shown(&p.seen) {
		return Shown, ""
	}
	var means []string
	if p.any(func(a *actor) bool { return a.waited }) {
		means = append(means, "blocked")
	}
	for i, a := range p.actors {
		switch {
		case !a.ended:
			return NotReached, fmt.Sprintf("T%d did not end", i+1)
		case a.reply.Outcome == history.Committed, errors.Is(a.reply.Err, errAborted):
		case a.reply.Conflict():
			if !slices.Contains(means, a.reply.Class) {
				means = append(means, a.reply.Class)
			}
		default:
			return NotReached, fmt.Sprintf("T%d: %s: %v", i+1, a.reply.Class, a.reply.Err)
		}
	}
	if len(means) == 0 {
		means = []string{"old version"}
	}
	return Prevented, strings.Join(means, ", ")
}
