package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

// Agent is one of several processes that shared the work.
type Agent struct {
	ID   string `json:"id"`
	Host string `json:"host"`
	// Clients is its share of the run's clients, Operations what they did.
	Clients    int   `json:"clients"`
	Operations int64 `json:"operations"`
	// OffsetMillis is how far its clock was ahead, plus or minus OffsetErrorMillis.
	OffsetMillis      float64 `json:"offset_ms"`
	OffsetErrorMillis float64 `json:"offset_error_ms"`
	Delivered         bool    `json:"delivered"`
	// Lost says why it was given up during the run; empty if it was not.
	Lost string `json:"lost,omitempty"`
}

const mostHosts = 8

// agentsLine is empty where one process did all the work.
func agentsLine(r *Result) string {
	if len(r.Agents) == 0 {
		return ""
	}
	var hosts, missing []string
	worst := 0.0
	for i, a := range r.Agents {
		if !slices.Contains(hosts, a.Host) {
			hosts = append(hosts, a.Host)
		}
		worst = max(worst, a.OffsetErrorMillis)
		switch {
		case a.Lost != "":
			missing = append(missing, fmt.Sprintf("agent %d was lost (%s)", i+1, a.Lost))
		case !a.Delivered:
			missing = append(missing, fmt.Sprintf("agent %d has not delivered all", i+1))
		}
	}
	more := len(hosts) - mostHosts
	text := fmt.Sprintf("%s on %s%s, clocks known to %.3f ms", check.Counted(len(r.Agents), "agent", "agents"),
		strings.Join(hosts[:min(len(hosts), mostHosts)], ", "), when(more > 0, fmt.Sprintf(" and %d more", more)), worst)
	return Joined("; ", append([]string{text}, missing...)...)
}
