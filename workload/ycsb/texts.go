package ycsb

import (
	"context"

	"assay/report"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// textRows is the state of records with text keys: key, unit and version of each unit.
func textRows() definition.RowFile {
	return definition.RowFile{Magic: "ASSAYY02", First: 1, Columns: []int{3}, End: 2}
}

func saveTexts(ctx context.Context, db store.Database, of store.Schema, c *contents, path string, read func(rows int64)) error {
	units := c.units()
	return textRows().Save(path, func(rows int64) { read(rows / units) }, func(w *definition.RowWriter) error {
		var versions []version
		return keyvalue.Read(ctx, db, of, func(row store.Row) error {
			key, found, err := c.scan(row, everyField, versions[:0])
			if versions = found; err != nil {
				return err
			}
			for unit, v := range found {
				if err := w.Put(0, key, int64(unit), int64(v)); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// judged returns settings for the report that say what is judged, unless everything is.
func (c *core) judged() (notes []report.Setting) {
	add := func(text string) { notes = append(notes, report.Setting{Name: "judged", Value: text}) }
	switch {
	case c.fixed && c.existing:
		add("records that this run inserts, by what their keys say; neither updates nor the records that were there, whose fields do not say who wrote them")
	case c.fixed:
		add("every field by what its key says, and every insert; not which update a read saw, since fields do not say who wrote them")
	case c.existing:
		add("answers from the first write of a field on; what this run has not written may be anything")
	case c.units() > 1:
		add("the history of each field, since an update writes one of them; not that an insert or a read is of one moment for all fields")
	}
	return notes
}
