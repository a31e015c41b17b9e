package promise

import "strings"

// Page is the page of a product's manual that says what its isolation levels promise, with the
// version; empty of a product that is not known.
func Page(product, version string) string {
	title := map[string]string{
		"PostgreSQL":  `"Transaction Isolation"`,
		"MariaDB":     `"SET TRANSACTION"`,
		"MySQL":       `"Transaction Isolation Levels"`,
		"MongoDB":     `"Transactions"`,
		"SQLite":      `"Isolation In SQLite"`,
		"CockroachDB": `"Transactions"`,
		"TiDB":        `"TiDB Transaction Isolation Levels"`,
		"etcd":        `"KV API guarantees"`,
		"Redis":       `"Transactions"`,
		"Cassandra":   `"Guarantees"`,
	}[product]
	if title == "" {
		return ""
	}
	number, _, _ := strings.Cut(version, " ")
	parts := strings.Split(strings.TrimPrefix(number, "v"), ".")
	if product != "PostgreSQL" && len(parts) > 1 {
		number = parts[0] + "." + parts[1]
	} else {
		number = parts[0]
	}
	return strings.TrimSpace(product + " manual " + number + ", " + title)
}
