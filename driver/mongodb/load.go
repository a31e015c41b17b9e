package mongodb

import (
	"cmp"
	"context"

	"assay/store"
)

// bulkRows is how many rows Load is best given: with fewer the wait for a majority takes a good
// part of the time.
const bulkRows = 10_000

// BulkRows implements store.Bulk.
func (d *database) BulkRows() int { return bulkRows }

// Load puts rows in, in any order.
func (d *database) Load(ctx context.Context, rows store.Rows) error {
	n, err := d.insertInto(outside(ctx), d.database, rows, false)
	return failed("load "+rows.Table+"s", cmp.Or(err, rows.Taken(n)))
}
