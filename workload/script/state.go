package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"assay/history"
	"assay/workload/definition"
)

// FileState is the saved state's name in a run's folder.
const FileState = "state.json"

// state is kept to judge a run again without database and clients.
type state struct {
	// Invariants and Counts are the final answers, in the script's order.
	Invariants []answer `json:"invariants"`
	Counts     []answer `json:"counts"`
	// Alone counts transactions of a single client before the run that kept the rules; nil in
	// runs of versions without that trial.
	Alone *int64 `json:"alone,omitempty"`
	// Findings are texts of failures during the run. The history has their number.
	Findings []finding `json:"findings"`
	// Templates are the distinct sequences of statements, Noted each transaction's committed
	// attempts among them. Overflown is true if there were too many. Meetings need pauses.
	Templates []template `json:"templates,omitempty"`
	Noted     []int64    `json:"noted,omitempty"`
	Overflown bool       `json:"overflown,omitempty"`
	Meetings  []*Meeting `json:"meetings,omitempty"`
	// Cases are the transactions found to have broken rules.
	Cases []brokenBy `json:"cases,omitempty"`
}

// Save saves the state, and the script beside it.
func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	var s state
	if err := w.recordDefined(ctx); err != nil {
		return err
	}
	err := look(ctx, w.View, func(q Querier) error {
		s = state{Findings: w.findings.list(), Alone: &w.kept}
		w.watch.save(&s)
		for i := range w.program.invariants {
			a, err := ask(ctx, q, w.program.invariants[i].query)
			if err != nil {
				return err
			}
			s.Invariants = append(s.Invariants, a)
		}
		for i := range w.program.counts {
			a, err := w.program.counts[i].ask(ctx, q)
			if err != nil {
				return err
			}
			s.Counts = append(s.Counts, a)
		}
		return w.program.saveLists(ctx, q, folder)
	})
	if err != nil {
		return err
	}
	read(int64(len(s.Invariants) + len(s.Counts)))
	for i := range s.Invariants {
		if w.program.invariants[i].judge(s.Invariants[i]) != "" {
			w.watch.concerned(i, s.Invariants[i])
		}
	}
	w.watch.concernedBy()
	s.Cases = w.watch.cases
	texts := map[string]source{"setup.sql": w.config.SetupText}
	for i, of := range w.config.scripts() {
		name := "script"
		if i > 0 {
			name += "-" + strconv.Itoa(i+1)
		}
		texts[name+filepath.Ext(of.File)] = of.Text
	}
	for name, text := range texts {
		if text != "" {
			if err := history.WriteFile(filepath.Join(folder, name), []byte(text)); err != nil {
				return err
			}
		}
	}
	return history.WriteJSON(filepath.Join(folder, FileState), s)
}

// readState reads a state; why says why there is none.
func readState(path string) (s state, why string, err error) {
	saved, err := definition.ReadJSON[*state](path)
	if err != nil {
		return s, "", err
	}
	if saved == nil {
		return s, "the database was not read back", nil
	}
	return *saved, "", nil
}

// MarshalJSON keeps 1.0 distinct from an integer, and NaN and infinities as texts.
func (a answer) MarshalJSON() ([]byte, error) {
	rows := make([][]any, len(a.Rows))
	for i, row := range a.Rows {
		for _, v := range row {
			if f, is := v.(float64); is {
				text := strconv.FormatFloat(f, 'g', -1, 64)
				switch {
				case math.IsNaN(f) || math.IsInf(f, 0):
					v = text
				case !strings.ContainsAny(text, ".e"):
					v = json.Number(text + ".0")
				default:
					v = json.Number(text)
				}
			}
			rows[i] = append(rows[i], v)
		}
	}
	type plain answer
	return json.Marshal(plain{Rows: rows, Count: a.Count})
}

func (a *answer) UnmarshalJSON(text []byte) error {
	type plain answer
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode((*plain)(a)); err != nil {
		return err
	}
	for _, row := range a.Rows {
		for i, v := range row {
			switch v := v.(type) {
			case map[string]any, []any:
				return errors.New("a value that is none")
			case json.Number:
				if whole, err := v.Int64(); err == nil {
					row[i] = whole
				} else if row[i], err = v.Float64(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
