package view

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const pageLength = 200

type filter struct {
	Text, Workload, Database, Verdict string
	// Sort is the name of a column, Order "up" or "down".
	Sort, Order string
	Page        int
}

func filterOf(q url.Values) filter {
	f := filter{Text: q.Get("q"), Workload: q.Get("workload"), Database: q.Get("database"), Verdict: q.Get("verdict"),
		Sort: q.Get("sort"), Order: q.Get("order")}
	at := slices.IndexFunc(columns(), func(c column) bool { return c.Key == f.Sort })
	if at < 0 {
		f.Sort, at = "started", 1
	}
	if f.Order != "up" && f.Order != "down" {
		f.Order = columns()[at].first()
	}
	f.Page, _ = strconv.Atoi(q.Get("page"))
	f.Page = max(f.Page, 1)
	return f
}

func (f filter) link() string {
	q := url.Values{}
	for name, value := range map[string]string{"q": f.Text, "workload": f.Workload, "database": f.Database, "verdict": f.Verdict, "sort": f.Sort, "order": f.Order} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Page > 1 {
		q.Set("page", strconv.Itoa(f.Page))
	}
	return "/?" + q.Encode()
}

func (f filter) takes(e entry) bool {
	if f.Workload != "" && e.Workload != f.Workload || f.Database != "" && e.Database != f.Database || f.Verdict != "" && e.Verdict != f.Verdict {
		return false
	}
	all := strings.ToLower(strings.Join([]string{e.Path, e.Workload, e.Database, e.Configuration, e.Verdict, e.Problem, e.Version}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(f.Text)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

type column struct {
	Key, Title string
	Words      bool
	compare    func(a, b entry) int
}

// first is a column's first order: words ascending, figures and times descending.
func (c column) first() string {
	if c.Words && c.Key != "started" {
		return "up"
	}
	return "down"
}

func columns() []column {
	return []column{
		{"name", "Run", true, func(a, b entry) int { return cmp.Compare(a.Path, b.Path) }},
		{"started", "Started (UTC)", true, func(a, b entry) int { return a.Started.Compare(b.Started) }},
		{"workload", "Workload", true, func(a, b entry) int { return cmp.Compare(a.Workload, b.Workload) }},
		{"database", "Database", true, func(a, b entry) int { return cmp.Compare(a.Database, b.Database) }},
		{"verdict", "Verdict", true, func(a, b entry) int { return cmp.Compare(a.Verdict, b.Verdict) }},
		{"clients", "Clients", false, func(a, b entry) int { return cmp.Compare(a.Clients, b.Clients) }},
		{"throughput", "Committed/s", false, func(a, b entry) int { return cmp.Compare(a.PerSecond, b.PerSecond) }},
		{"p50", "p50", false, func(a, b entry) int { return cmp.Compare(a.P50, b.P50) }},
		{"p99", "p99", false, func(a, b entry) int { return cmp.Compare(a.P99, b.P99) }},
	}
}

// heading is a link that sorts by its column or reverses the order.
type heading struct {
	column
	Link string
	// Sorted is aria-sort's value, empty if the list is sorted by another column.
	Sorted string
}

type listPage struct {
	Folder    string
	Filter    filter
	Headings  []heading
	Entries   []entry
	Workloads []string
	Databases []string
	Verdicts  []string
	// First to Last of the Matching folders, after the filter, are on this page.
	All, Matching, First, Last int
	Previous, Next             string
	Cut, Running               bool
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all, cut, err := s.entries()
	if err != nil {
		s.problem(w, http.StatusNotFound, err.Error())
		return
	}
	f := filterOf(r.URL.Query())
	p := listPage{Folder: s.folder, All: len(all), Cut: cut}
	p.Workloads = distinct(all, func(e entry) string { return e.Workload })
	p.Databases = distinct(all, func(e entry) string { return e.Database })
	p.Verdicts = distinct(all, func(e entry) string { return e.Verdict })
	for _, e := range all {
		p.Running = p.Running || e.Verdict == stateRunning
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return !f.takes(e) })
	for _, c := range columns() {
		h := heading{column: c}
		by := f
		by.Sort, by.Order, by.Page = c.Key, c.first(), 1
		if c.Key == f.Sort {
			h.Sorted = map[string]string{"up": "ascending", "down": "descending"}[f.Order]
			by.Order = map[string]string{"up": "down", "down": "up"}[f.Order]
			slices.SortStableFunc(all, func(a, b entry) int {
				order := cmp.Or(c.compare(a, b), a.Started.Compare(b.Started), cmp.Compare(a.Path, b.Path))
				if f.Order == "down" {
					return -order
				}
				return order
			})
		}
		h.Link = by.link()
		p.Headings = append(p.Headings, h)
	}
	pages := max((len(all)+pageLength-1)/pageLength, 1)
	f.Page = min(f.Page, pages)
	from := (f.Page - 1) * pageLength
	p.Filter, p.Matching, p.Entries = f, len(all), all[from:min(from+pageLength, len(all))]
	p.First, p.Last = from+1, from+len(p.Entries)
	if f.Page > 1 {
		p.Previous = f.at(f.Page - 1)
	}
	if f.Page < pages {
		p.Next = f.at(f.Page + 1)
	}
	s.write(w, http.StatusOK, "list.html", p)
}

func (f filter) at(page int) string {
	f.Page = page
	return f.link()
}

func distinct(all []entry, of func(entry) string) []string {
	seen := map[string]bool{}
	var values []string
	for _, e := range all {
		if v := of(e); v != "" && !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}
