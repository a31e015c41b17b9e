package view

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"assay/report"
	"assay/report/compare"
)

func (s *Server) write(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := s.templates.ExecuteTemplate(&page, name, data); err != nil {
		http.Error(w, "the page could not be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // fails if the browser has gone
}

func (s *Server) problem(w http.ResponseWriter, status int, text string) {
	s.write(w, status, "problem.html", text)
}

// locate returns the folder of an address's path. It is false for none below the shown folder;
// dots and links cannot leave that.
func (s *Server) locate(at string) (folder string, found bool) {
	if at == "" {
		at = "."
	}
	if !fs.ValidPath(at) {
		return "", false
	}
	info, err := s.root.Stat(filepath.FromSlash(at))
	return filepath.Join(s.folder, filepath.FromSlash(at)), err == nil && info.IsDir()
}

// address is the link to a folder, or to a file in it, by one of the server's routes.
func address(route, at, name string) string {
	parts := strings.Split(path.Join("/", route, at, name), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// served are the files that may be opened, with types. Histories and logs are not among them.
func served() map[string]string {
	return map[string]string{
		report.FileReport: "text/html; charset=utf-8", report.FileResult: "application/json", report.FileSeries: "application/json",
		report.FileArticle: "text/html; charset=utf-8", report.FileArticleText: "text/markdown; charset=utf-8", report.FileStudy: "text/plain; charset=utf-8", report.FileRuns: "text/csv; charset=utf-8",
		report.FileEnvironment: "application/json", "sweep.json": "application/json", report.FileScenario: "text/plain; charset=utf-8",
	}
}

// reportPolicy is for reports, which may come from elsewhere: they run apart from this server's
// own pages and reach nothing.
const reportPolicy = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	at := r.PathValue("path")
	kind, known := served()[path.Base(at)]
	if !known || !fs.ValidPath(at) {
		s.problem(w, http.StatusNotFound, "There is no such page. Reports and results of runs are shown, and nothing else.")
		return
	}
	file, err := s.root.Open(filepath.FromSlash(at))
	if err != nil {
		s.problem(w, http.StatusNotFound, fmt.Sprintf("%s cannot be opened: %s.", at, reason(err)))
		return
	}
	defer file.Close() // nothing was written; an error here loses nothing
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		s.problem(w, http.StatusNotFound, at+" is no file.")
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Security-Policy", reportPolicy)
	http.ServeContent(w, r, "", info.ModTime(), file)
}

const home = "/"

const maxCompared = 12

// compare shows runs side by side. Unlike conditions are named at the top and refuse nothing,
// since no gate depends on the page.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	paths := r.URL.Query()["run"]
	if len(paths) < 2 || len(paths) > maxCompared {
		s.problem(w, http.StatusBadRequest, fmt.Sprintf("Choose 2 to %d runs or series in the list to put them side by side; %d were chosen.", maxCompared, len(paths)))
		return
	}
	var groups [][]compare.Group
	for _, at := range paths {
		read, ok := s.groups(w, at)
		if !ok {
			return
		}
		groups = append(groups, read)
	}
	all, err := compare.CompareAll(groups, compare.Options{Allow: []string{"all"}})
	if err != nil {
		s.problem(w, http.StatusUnprocessableEntity, "These cannot be put side by side: "+err.Error())
		return
	}
	var verdicts []report.DocumentVerdict
	for _, c := range all {
		if line, differ := unlike(c); differ {
			verdicts = append(verdicts, line)
		}
	}
	d := compare.Document(all, s.command(paths, len(verdicts) > 0))
	d.Verdicts = append(verdicts, d.Verdicts...)
	s.document(w, d)
}

func (s *Server) command(paths []string, differ bool) string {
	words := []string{"assay", "compare"}
	for _, at := range paths {
		words = append(words, filepath.Join(s.folder, filepath.FromSlash(at)))
	}
	if differ {
		words = append(words, "--allow", "all")
	}
	return report.CommandLine(words)
}

// unlike says in which conditions the sides differ.
func unlike(c *compare.Comparison) (report.DocumentVerdict, bool) {
	var names []string
	for _, d := range c.Differences {
		names = append(names, d.Condition)
	}
	return report.DocumentVerdict{Text: fmt.Sprintf("%s and %s were not made alike: they differ in %s", c.A.Name, c.B.Name, strings.Join(names, ", "))}, len(names) > 0
}

func (s *Server) groups(w http.ResponseWriter, at string) ([]compare.Group, bool) {
	folder, found := s.locate(at)
	if !found {
		s.problem(w, http.StatusNotFound, "There is no folder "+at+" here.")
		return nil, false
	}
	groups, err := compare.Read(folder)
	if err != nil {
		s.problem(w, http.StatusUnprocessableEntity, at+": "+strings.TrimPrefix(err.Error(), folder+": "))
		return nil, false
	}
	return groups, true
}

func (s *Server) series(w http.ResponseWriter, r *http.Request) {
	at := r.PathValue("path")
	groups, ok := s.groups(w, at)
	if !ok {
		return
	}
	for _, g := range groups {
		if len(g.Runs) > 0 {
			s.document(w, compare.Summary(g.Runs[0].Result.Workload, groups))
			return
		}
	}
	s.problem(w, http.StatusUnprocessableEntity, at+" has no run with a result yet.")
}

// document writes a document with its own policy.
func (s *Server) document(w http.ResponseWriter, d report.Document) {
	d.Home = home
	var page bytes.Buffer
	if err := d.HTML(&page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", report.Policy(report.Style())+"; frame-ancestors 'none'")
	_, _ = w.Write(page.Bytes()) // fails if the browser has gone
}
