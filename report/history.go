package report

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"assay/check"
)

// History is the judgement of a history that another tool recorded.
type History struct {
	Path string `json:"-"`
	// Format is how the file is written, Kind what its operations are.
	Format string `json:"format"`
	Kind   string `json:"kind"`
	Model  string `json:"model"`
	Asked  bool   `json:"asked"`
	// Promise is unknown, since another tool recorded the history.
	Promise Promise       `json:"promise"`
	Verdict check.Verdict `json:"verdict"`
	Reason  string        `json:"reason,omitempty"`
	// Anomalies are those found that the model forbids, Permitted those that it allows.
	Anomalies []string `json:"anomalies"`
	Permitted []string `json:"permitted"`
	// RuledOut are the weakest models ruled out, AlsoNot the stronger ones.
	RuledOut []string         `json:"ruled_out"`
	AlsoNot  []string         `json:"also_not"`
	Evidence []check.Evidence `json:"evidence"`
	Detail   string           `json:"detail"`
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

// JSON writes the judgement, with [] for empty lists.
func (h *History) JSON(w io.Writer) error {
	return Indented(w, copyValue(reflect.ValueOf(*h), "", new([]string)).Interface(), "  ", "judgement")
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
		t.line(h.Path + ": a history without operations")
	} else {
		t.line(fmt.Sprintf("%s: a history of kind %s, written as %s", h.Path, h.Kind, h.Format))
		t.line(h.Detail)
	}
	evidence := check.Result{Name: h.Kind, Evidence: h.Evidence, Found: int64(len(h.Evidence))}
	t.gap()
	switch {
	case len(h.Evidence) > 0 && o.Explain:
		t.explanation(evidence)
	case len(h.Evidence) > 0:
		t.evidence(evidence, len(h.Evidence))
		t.gap()
	}
	for _, list := range []struct {
		label string
		names []string
	}{{"anomalies", h.Anomalies}, {"allowed", h.Permitted}, {"ruled out", h.RuledOut}, {"also not", h.AlsoNot}} {
		t.field(list.label, strings.Join(list.names, ", "))
	}
	t.field("verdict", h.verdict(strings.ToUpper(h.Verdict.String())))
	return t.writeTo(w)
}

// verdict adds what was judged and missed. The vendor's promise is unknown here.
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
