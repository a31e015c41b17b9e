package sqldb

// BankSchema is the Schema of workload bank. The tables have one unique key that a
// transfer can violate, one CHECK constraint, and one reason for a null, by which a
// transfer knows what refused it. No index covers balance or version.
func BankSchema() Schema {
	return Schema{Workload: "bank", Transactions: true, Tables: []Table{
		{
			Name: "account", Columns: []Column{{Name: "id"}, {Name: "balance"}, {Name: "version"}},
			Checks: []string{"CONSTRAINT account_not_overdrawn CHECK (balance >= 0)"},
			Loaded: true, LateKey: true, Updated: true,
		},
		{
			Name: "transfer", Columns: []Column{
				{Name: "id"}, {Name: "source"}, {Name: "destination"}, {Name: "amount"},
				{Name: "source_version", Derived: true}, {Name: "destination_version", Derived: true},
			},
		},
	}}
}
