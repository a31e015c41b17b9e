package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"assay/check"
)

// History is the judgement of a history that another tool recorded.
type History struct {
	// Path is the file as it was named.
	Path string `json:"-"`
	// Format and Kind are how it is written and what it is a history of.
	Format string `json:"format"`
	Kind   string `json:"kind"`
	// Model is what it was judged against; Asked is true if the user named it.
	Model string `json:"model"`
	Asked bool   `json:"asked"`
	// Promise is what the vendor of the database promises: nobody knows, of a
	// history that another tool recorded.
	Promise Promise       `json:"promise"`
	Verdict check.Verdict `json:"verdict"`
	// Reason says why the verdict is unknown; empty otherwise.
	Reason string `json:"reason,omitempty"`
	// Anomalies are the names of those found that the model forbids, Permitted
	// of those that it allows.
	Anomalies []string `json:"anomalies"`
	Permitted []string `json:"permitted"`
	// RuledOut are the weakest models that are ruled out, AlsoNot those above.
	RuledOut []string `json:"ruled_out"`
	AlsoNot  []string `json:"also_not"`
	// Evidence proves the anomalies, one of each.
	Evidence []check.Evidence `json:"evidence"`
	// Detail is one sentence with figures.
	Detail string `json:"detail"`
}

// Exit is the code that assay ends with.
func (h *History) Exit() int {
	switch h.Verdict {
	case check.Valid:
		return ExitValid
	case check.Violated:
		return ExitViolated
	default:
		return ExitNoVerdict
	}
}

// JSON writes the judgement, with [] for lists that are empty.
func (h *History) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(copyValue(reflect.ValueOf(*h), "", new([]string)).Interface())
}

// Line writes the judgement as one line.
func (h *History) Line(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n", plain(h.Path), plain(h.verdict(h.Verdict.String())))
	return err
}

// Text writes the judgement with its evidence for the terminal.
func (h *History) Text(w io.Writer, o TextOptions) error {
	t := newTextWriter(o)
	t.complete = "--json"
	if h.Kind == "" {
		t.line(bold, h.Path+": a history without operations")
	} else {
		t.line(bold, fmt.Sprintf("%s: a history of kind %s, written as %s", h.Path, h.Kind, h.Format))
		t.line(noColor, h.Detail)
	}
	evidence := check.Result{Name: h.Kind, Evidence: h.Evidence, Found: int64(len(h.Evidence))}
	switch {
	case len(h.Evidence) > 0 && o.Explain:
		t.gap()
		t.explanation(evidence)
	case len(h.Evidence) > 0:
		t.gap()
		t.evidence(evidence, len(h.Evidence))
		t.gap()
	default:
		t.gap()
	}
	for _, list := range []struct {
		label string
		names []string
	}{{"anomalies", h.Anomalies}, {"allowed", h.Permitted}, {"ruled out", h.RuledOut}, {"also not", h.AlsoNot}} {
		if len(list.names) > 0 {
			t.field(list.label, strings.Join(list.names, ", "))
		}
	}
	t.painted(verdictColor(h.Verdict), "verdict", h.verdict(strings.ToUpper(h.Verdict.String())))
	return t.writeTo(w)
}

// verdict adds to the word what was judged, and what was missed. That the vendor
// promises it is not known of another tool's history.
func (h *History) verdict(word string) string {
	if h.Reason != "" {
		word += ": " + h.Reason
	}
	if h.Model == "" {
		return word // nothing was judged
	}
	model := "judged against " + h.Model
	if h.Asked {
		model += ", as asked"
	}
	if h.Verdict == check.Violated {
		model = "not " + h.Model + "; " + model + "; what the vendor promises is not known"
	}
	return word + " (" + model + ")"
}
