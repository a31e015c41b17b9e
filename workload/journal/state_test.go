package journal

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
)

// TestAStateOfAnEarlierVersion has the columns that earlier versions read back, and no other.
func TestAStateOfAnEarlierVersion(t *testing.T) {
	now := State{Tables: []Table{{Name: "one", Columns: []string{"id"}, Also: []store.Column{{Name: "text", Type: store.String}}}},
		RowFile: definition.RowFile{Magic: "ASSAYZ02", End: 0xff}, Former: "ASSAYZ01"}
	before := State{Tables: []Table{{Name: "one", Columns: []string{"id"}}}, RowFile: definition.RowFile{Magic: now.Former, End: 0xff}}
	for _, c := range []struct {
		by   State
		want []int64
	}{{now, []int64{7, 9}}, {before, []int64{7}}} {
		path := filepath.Join(t.TempDir(), "state")
		err := c.by.Save(t.Context(), path, func(_ context.Context, row func(Row) error) error { return row(Row{Values: c.want}) }, func(int64) {})
		expect.NoError(t, err)
		rows := 0
		expect.NoError(t, now.Replay(path, func(r Row) error {
			if rows++; !slices.Equal(r.Values, c.want) {
				t.Errorf("got %v, want %v", r.Values, c.want)
			}
			return nil
		}))
		if rows != 1 {
			t.Errorf("%d rows of %s", rows, c.by.Magic)
		}
	}
}
