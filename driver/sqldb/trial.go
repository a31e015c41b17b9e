package sqldb

import (
	"context"
	"strings"
)

// trial makes the server refuse now what it would refuse later: each kind of statement, on each
// table, without rows. Late keys and indexes are part of the trial only if that can be undone.
func (n *Namespace) trial(ctx context.Context, c Conn) error {
	const savepoint = "assay_trial"
	late := n.SQL.Late(n.Schema.Tables)
	if n.Catalog.stepwise() {
		return all(ctx, c, n.trialOf(len(late) > 0))
	}
	return all(ctx, c, append(append(append([]string{"SAVEPOINT " + savepoint}, late...), n.trialOf(false)...), "ROLLBACK TO SAVEPOINT "+savepoint))
}

// trialOf returns a trial's statements. A table without its key may refuse updates; withoutLate
// leaves out tables whose key is made later.
func (n *Namespace) trialOf(withoutLate bool) (statements []string) {
	for _, t := range n.Schema.Tables {
		var columns []string
		for _, c := range t.Columns {
			columns = append(columns, c.Name)
		}
		name, list, last := n.table(t.Name), strings.Join(columns, ", "), columns[len(columns)-1]
		statements = append(statements, "INSERT INTO "+name+" ("+list+") SELECT "+list+" FROM "+name+" WHERE 1 = 0")
		if t.LateKey && n.SQL.LateKey != "" && withoutLate {
			continue
		}
		statements = append(statements, "UPDATE "+name+" SET "+last+" = "+last+" WHERE 1 = 0", "DELETE FROM "+name+" WHERE 1 = 0")
	}
	return statements
}
