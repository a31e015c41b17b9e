package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/check"
)

// strikes begins the names in Data.Rows that count effects of seeded bugs, not rows.
const strikes = "strikes of "

// RowsOf is the number of rows in all tables of Data.Rows.
func RowsOf(tables map[string]int64) (n int64) {
	for name, rows := range tables {
		if !strings.HasPrefix(name, strikes) {
			n += rows
		}
	}
	return n
}

func dataLines(r *Result) []string {
	var lines, rows []string
	if r.Data.Bytes > 0 {
		lines = append(lines, dataSize(r))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Data.Rows)) {
		if strings.HasPrefix(name, strikes) {
			continue // a note says so
		}
		rows = append(rows, check.Counted(r.Data.Rows[name], "row", "rows")+" in "+name)
	}
	if len(rows) > 0 {
		lines = append(lines, strings.Join(rows, ", "))
	}
	if r.Data.Kept != "" {
		lines = append(lines, "kept in "+r.Data.Kept)
	}
	if len(lines) == 0 {
		lines = append(lines, "unknown")
	}
	return lines
}

func dataLabel(r *Result) string {
	if r.Data.Measured != "" {
		return "data size"
	}
	return "data on disk"
}

// dataInShort leaves out the rows if there is a size, and the place if it is the address.
func dataInShort(r *Result) []string {
	if r.Data.Bytes <= 0 {
		return dataLines(r)
	}
	lines := []string{dataSize(r)}
	if kept := r.Data.Kept; kept != "" && kept != r.Database.Address {
		lines = append(lines, "kept in "+kept)
	}
	return lines
}

func dataSize(r *Result) string {
	d := &r.Data
	line := size(d.Bytes)
	if d.Measured != "" {
		line += " of " + d.Measured
	}
	if d.Tables > 0 || d.Indexes > 0 {
		line += fmt.Sprintf(": tables %s, indexes %s", size(d.Tables), size(d.Indexes))
	}
	return Joined("; ", line, growth(r))
}

// leastGrowth is in bytes. Databases grow in steps of some ten pages for each table and index, so
// less growth says nothing about the bytes of a row.
const leastGrowth = 1 << 20

// growth says what each transfer added to the data since the accounts were loaded; empty if the
// size after loading is unknown or nothing was added.
func growth(r *Result) string {
	n := transfers(r)
	if r.Data.Loaded == nil || n == nil || *n == 0 {
		return ""
	}
	added := r.Data.Bytes - *r.Data.Loaded
	switch {
	case added <= 0:
		return "no larger than after loading, so that bytes per transfer cannot be told"
	case added < leastGrowth:
		return size(added) + " more than after loading, too little to tell bytes per transfer"
	}
	return size((added+*n/2) / *n) + " added per transfer"
}
