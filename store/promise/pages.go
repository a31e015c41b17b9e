package promise

import "assay/store/durability"

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
		"etcd":        `"etcd API guarantees"`,
		"Redis":       `"Transactions"`,
		"Cassandra":   `"Guarantees"`,
	}[product]
	if title == "" || durability.Manual(product, version) == "" {
		return ""
	}
	return durability.Manual(product, version) + ", " + title
}
