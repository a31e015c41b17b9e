package view

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/quantity"
	"assay/report"
)

// livePage is for the templates "follow.html" and "live".
type livePage struct {
	Path string
	*report.Live
	// Share is the stage's progress in percent; -1 if unknown.
	Share       int
	Left        string
	Charts      []report.DrawnChart
	Recent      []report.LivePoint
	Events      string
	Uncommitted int64
}

const recentPoints = 10

func newLivePage(at string, l *report.Live) livePage {
	p := livePage{Path: at, Live: l, Share: -1, Events: address("events", at, ""), Uncommitted: l.Outcomes.Total() - l.Outcomes.Committed}
	if share, known := l.Share(); known {
		p.Share = int(100 * share)
	}
	if left, known := l.Left(); known {
		p.Left = quantity.Seconds(left.Seconds())
	}
	speed := report.LineChart{Title: "Committed per second", Across: "seconds of the work", Up: "committed a second", Format: quantity.Short, Lines: []report.ChartLine{{Name: "committed/s"}}}
	times := report.LineChart{Title: "Response time", Across: "seconds of the work", Up: "response time of committed operations", Logarithmic: true, Format: quantity.Milliseconds,
		Lines: []report.ChartLine{{Name: "p50"}, {Name: "p99"}}}
	for _, x := range l.Points {
		speed.Lines[0].Points = append(speed.Lines[0].Points, [2]float64{x.Second, x.PerSecond})
		times.Lines[0].Points = append(times.Lines[0].Points, [2]float64{x.Second, x.P50})
		times.Lines[1].Points = append(times.Lines[1].Points, [2]float64{x.Second, x.P99})
	}
	if len(l.Points) > 1 {
		p.Charts = []report.DrawnChart{speed.Draw("throughput"), times.Draw("latency")}
	}
	for i := len(l.Points) - 1; i >= 0 && len(p.Recent) < recentPoints; i-- {
		p.Recent = append(p.Recent, l.Points[i])
	}
	return p
}

// live returns false if the run is not going on.
func (s *Server) live(at string) (livePage, bool) {
	folder, found := s.locate(at)
	if !found {
		return livePage{}, false
	}
	l, err := report.ReadLive(folder)
	if err != nil || time.Since(l.Updated) > staleAfter {
		return livePage{}, false
	}
	return newLivePage(at, l), true
}

// follow shows a running run, and redirects to the report of an ended one.
func (s *Server) follow(w http.ResponseWriter, r *http.Request) {
	at := r.PathValue("path")
	if p, running := s.live(at); running {
		s.write(w, http.StatusOK, "follow.html", p)
		return
	}
	folder, found := s.locate(at)
	if !found {
		s.problem(w, http.StatusNotFound, "There is no folder "+at+" here.")
		return
	}
	if _, err := s.root.Stat(filepath.Join(filepath.FromSlash(at), report.FileReport)); err == nil {
		http.Redirect(w, r, address("files", at, report.FileReport), http.StatusSeeOther)
		return
	}
	why := "Nothing is known of it."
	if h, err := report.ReadJSON(filepath.Join(folder, report.FileResult)); err != nil {
		why = reason(err) + "."
	} else if len(h.Measurement.Reasons) > 0 {
		why = strings.Join(h.Measurement.Reasons, "; ") + "."
	}
	s.problem(w, http.StatusOK, fmt.Sprintf("%s is not being made now and has no report: %s The command assay check %s judges what a killed run left.", at, why, folder))
}

// events sends fragments of the page as server-sent events each second, and "end" at last.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.following <- struct{}{}:
		defer func() { <-s.following }()
	default:
		http.Error(w, "too many pages follow runs", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(event string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(eventTimeout)) // every server of ours can
		_, err := w.Write([]byte(event))
		return err == nil && out.Flush() == nil
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		p, running := s.live(r.PathValue("path"))
		var fragment bytes.Buffer
		if !running || s.templates.ExecuteTemplate(&fragment, "live", p) != nil {
			send("event: end\ndata:\n\n")
			return
		}
		if !send("data: " + strings.ReplaceAll(fragment.String(), "\n", "\ndata: ") + "\n\n") {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
