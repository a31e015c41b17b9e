package histories

import (
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle"
	"assay/history/exchange"
	"assay/report"
)

// sayWhatOrderIsUnknown says what could not be judged if operations name no process, or completions
// have no invocation. A verdict that is valid only for that reason becomes unknown.
func sayWhatOrderIsUnknown(h *report.History, unnamed, uninvoked bool) {
	var missing []string
	if unnamed {
		missing = append(missing, "its operations name no process, so that the order of each client is not known")
	}
	if uninvoked {
		missing = append(missing, "it has completions without invocations, so that it is not known what was over before they began")
	}
	if len(missing) == 0 {
		return
	}
	text := strings.Join(missing, "; ")
	h.Detail += "; " + text
	if h.Verdict == check.Valid && restsOnOrder(h, unnamed, uninvoked) {
		advice := "Name a weaker model with --model, or record the whole history"
		if !ofTransactions(h) {
			advice = "Record invocations, and the process of each operation"
		}
		h.Verdict, h.Reason = check.Unknown, text+": "+h.Model+" was not put to the test. "+advice
	}
}

// ofTransactions reports whether the history is judged by a consistency model of transactions.
func ofTransactions(h *report.History) bool {
	return h.Kind == exchange.ListAppend.String() || h.Kind == exchange.ReadWrite.String()
}

// restsOnOrder reports whether the rule or the model depends on an order that the history does not tell.
func restsOnOrder(h *report.History, unnamed, uninvoked bool) bool {
	if !ofTransactions(h) {
		blind := []string{exchange.Bank.String(), "unique-ids", "long-fork", "sequential", "adya-g2", "causal"} // to real time
		return uninvoked && !slices.Contains(blind, h.Kind) || unnamed && h.Kind == "kafka"
	}
	model, err := cycle.ParseModel(h.Model)
	if err != nil {
		return true
	}
	ofTime := model.Includes(cycle.StrongReadUncommitted)
	ofClients := model.Includes(cycle.SessionReadUncommitted) || model.Includes(cycle.Causal)
	return uninvoked && ofTime || unnamed && ofClients && !ofTime
}
