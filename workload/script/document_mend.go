package script

import (
	"slices"
	"strconv"
	"strings"

	"assay/store"
)

// lockField is incremented by a write that only locks.
const lockField = "assay_lock"

// ofDocuments are changes for a database of documents. There no read locks, and writing a
// document that changed since the transaction began is refused (MongoDB manual, "Transactions",
// "In-progress Transactions and Write Conflicts").
func (f *finder) ofDocuments() (all []Change, untried []string) {
	change := Change{Name: ChangeWriteFirst}
	for _, t := range f.sent.templates {
		if kind, known := f.program.kind(t.Transaction); !known || f.program.transactions[kind].reads {
			continue
		}
		for i, text := range t.Statements {
			if strings.HasPrefix(text, Find.String()+" ") && t.changesLater(i) && !slices.Contains(change.Mend.WriteFirst, text) {
				change.Mend.WriteFirst = append(change.Mend.WriteFirst, text)
				change.Texts = append(change.Texts, `{"$inc": {"`+lockField+`": 1}} of what the filter selects comes before `+shortened(text))
			}
		}
	}
	if len(change.Texts) > 0 {
		all = append(all, change)
	} else {
		untried = append(untried, "no change is known to be expressible for MongoDB: no find comes before an update or a delete of its collection in a transaction")
	}
	return all, append(untried, "FOR UPDATE: MongoDB has no read that locks; a write to the documents that are read, which is "+strconv.Quote(ChangeWriteFirst)+", does the same",
		"an atomic update: in a transaction MongoDB refuses a write to a document that has changed since it began, with $inc as with $set; no update is lost that it could mend")
}

// changesLater reports whether a later statement changes documents of the collection.
func (t *template) changesLater(find int) bool {
	for _, o := range t.Operations {
		if o.Statement != find {
			continue
		}
		for _, later := range t.Operations {
			changes := strings.HasPrefix(t.Statements[later.Statement], Update.String()+" ") || strings.HasPrefix(t.Statements[later.Statement], Delete.String()+" ")
			if later.Statement > find && changes && later.Relation == o.Relation && len(later.Writes) > 0 {
				return true
			}
		}
	}
	return false
}

// lockFirst writes to what a command is about to read, if the mend says so.
func (c *call) lockFirst(of *DocumentCommand) error {
	if of == nil || len(c.program.mend.WriteFirst) == 0 || !slices.Contains(c.program.mend.WriteFirst, of.shape()) {
		return nil
	}
	filter := of.Filter
	if filter == nil {
		filter = store.Document{}
	}
	_, err := c.execute(Statement{Command: &DocumentCommand{Verb: Update, Collection: of.Collection, Filter: filter,
		Change: documentWith("$inc", documentWith(lockField, int64(1)))}})
	return err
}
