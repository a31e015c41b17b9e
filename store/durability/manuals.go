package durability

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// manual is one that rules rest on.
type manual struct {
	// name is as rules have it, in front of a page; of is its product, parts are how many numbers
	// of the product's version name a version of the manual, and read is the newest that the rules
	// are known to hold for.
	name, of string
	parts    int
	read     string
}

// manuals are all that rules rest on.
func manuals() []manual {
	return []manual{
		{"PostgreSQL manual", "PostgreSQL", 1, "18"},
		{"MySQL manual", "MySQL", 2, "9.7"},
		// From 12.3 on InnoDB can hold the binary log, which changes what sync_binlog and AFTER_SYNC mean.
		{"MariaDB Galera Cluster documentation", "MariaDB", 2, "12.2"},
		{"MariaDB documentation", "MariaDB", 2, "12.2"},
		{"MongoDB manual", "MongoDB", 2, "8.0"},
		{"Redis documentation", "Redis", 2, "8.8"},
		{"Cassandra documentation", "Cassandra", 2, "5.0"},
		{"etcd manual", "etcd", 2, "3.7"},
		{"SQLite documentation", "SQLite", 2, "3.41"},
		{"CockroachDB documentation", "CockroachDB", 2, "25.3"},
		{"TiDB documentation", "TiDB", 2, "8.5"},
		{"Patroni documentation", "", 2, "4.1"},
		{"repmgr manual", "", 2, "5.5"},
		{"pg_auto_failover documentation", "", 2, "2.2"},
	}
}

// Cite names the manuals in a text with their versions: the version of the server where the manual
// is its product's, unless it is newer than what was read.
func Cite(text, product, version string) string {
	for _, m := range manuals() {
		chosen := m.read
		if m.of == product {
			if own := series(version, m.parts); own != "" && !Newer(own, m.read) {
				chosen = own
			}
		}
		text = strings.ReplaceAll(text, m.name+",", m.name+" "+chosen+",")
	}
	return text
}

// series is the beginning of a version, such as 6.0 of 6.0.5; empty if it is none.
func series(version string, parts int) string {
	numbers := numbersOf(version)
	if len(numbers) == 0 {
		return ""
	}
	var texts []string
	for _, n := range numbers[:min(parts, len(numbers))] {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ".")
}

// Newer reports whether a version comes after another.
func Newer(a, b string) bool { return slices.Compare(numbersOf(a), numbersOf(b)) > 0 }

// numbersOf are the numbers with which a version begins: 10, 11 and 6 of 5.5.5-10.11.6-MariaDB.
func numbersOf(version string) (numbers []int) {
	version = strings.TrimPrefix(strings.TrimPrefix(version, "5.5.5-"), "v")
	for part := range strings.SplitSeq(version, ".") {
		digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
		n, err := strconv.Atoi(part[:digits])
		if err != nil {
			break
		}
		if numbers = append(numbers, n); digits < len(part) {
			break
		}
	}
	return numbers
}

// Cited reports whether a text names a page of a manual with its version.
func Cited(text string) bool {
	_, page, quoted := strings.Cut(text, `"`)
	return quoted && page != "" && slices.ContainsFunc(manuals(), func(m manual) bool {
		_, after, named := strings.Cut(text, m.name+" ")
		return named && len(numbersOf(after)) > 0
	})
}

// Manual is the product's manual at this version; empty if none is known.
func Manual(product, version string) string {
	for _, m := range manuals() {
		if m.of == product && m.of != "" && !strings.Contains(m.name, "Galera") {
			return strings.TrimSuffix(Cite(m.name+",", product, cmp.Or(version, m.read)), ",")
		}
	}
	return ""
}
