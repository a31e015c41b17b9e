package promise

import "assay/store/durability"

// Page cites the manual's page on isolation levels; empty for an unknown product.
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
