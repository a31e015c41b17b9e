package durability

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

type manual struct {
	// name is as rules cite it, before a page. of is the product, or the program that leads the
	// nodes. parts is how many numbers of its version name a version of the manual. read is the
	// newest version checked against the rules.
	name, of string
	parts    int
	read     string
}

func manuals() []manual {
	return []manual{
		{"PostgreSQL manual", "PostgreSQL", 1, "18"},
		{"MySQL manual", "MySQL", 2, "9.7"},
		// From 12.3 InnoDB can hold the binary log, which changes sync_binlog and AFTER_SYNC.
		{"MariaDB Galera Cluster documentation", "MariaDB", 2, "12.2"},
		{"MariaDB documentation", "MariaDB", 2, "12.2"},
		{"MongoDB manual", "MongoDB", 2, "8.0"},
		{"Redis documentation", "Redis", 2, "8.8"},
		{"Cassandra documentation", "Cassandra", 2, "5.0"},
		{"etcd manual", "etcd", 2, "3.7"},
		{"SQLite documentation", "SQLite", 2, "3.41"},
		{"CockroachDB documentation", "CockroachDB", 2, "25.3"},
		{"TiDB documentation", "TiDB", 2, "8.5"},
		{"Patroni documentation", "Patroni", 2, "4.1"},
		{"repmgr manual", "repmgr", 2, "5.5"},
		{"pg_auto_failover documentation", "pg_auto_failover", 2, "2.2"},
	}
}

// Cite adds versions to the manuals named in a text. The manual of the product, or of the program
// that leads the nodes by the settings, gets the version in use, unless that is newer than the one
// checked.
func Cite(text, product, version string, reported []Setting) string {
	leader, managerVersion := "", ""
	for _, r := range reported {
		switch r.Name {
		case store.SettingLedBy:
			leader = r.Value
		case store.SettingManagerVersion:
			managerVersion = r.Value
		}
	}
	for _, m := range manuals() {
		chosen, version := m.read, version
		if m.of == leader {
			version = managerVersion
		}
		if m.of == product || m.of == leader {
			if own := series(version, m.parts); own != "" && !Newer(own, m.read) {
				chosen = own
			}
		}
		text = strings.ReplaceAll(text, m.name+",", m.name+" "+chosen+",")
	}
	return text
}

// series shortens a version, such as 6.0.5 to 6.0; empty if it is none.
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

// numbersOf returns a version's first numbers: 10, 11 and 6 of 5.5.5-10.11.6-MariaDB.
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

// Manual names the product's manual at this version; empty if none is known.
func Manual(product, version string) string {
	for _, m := range manuals() {
		if m.of == product && m.of != "" && !strings.Contains(m.name, "Galera") {
			return strings.TrimSuffix(Cite(m.name+",", product, cmp.Or(version, m.read), nil), ",")
		}
	}
	return ""
}
