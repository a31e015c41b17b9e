package store

import (
	"context"
	"slices"
	"testing"

	"assay/internal/expect"
)

// hanging notes the tables that it is asked about.
type hanging struct {
	Database
	asked []string
}

func (*hanging) CheckShape(context.Context) error { return nil }

func (*hanging) WorkFor(Holder) {}

func (h *hanging) Attached(_ context.Context, table string) ([]Attachment, error) {
	h.asked = append(h.asked, table)
	return nil, nil
}

// TestWhatFunctionsWriteIsNoTable: a database would refuse the words as a name.
func TestWhatFunctionsWriteIsNoTable(t *testing.T) {
	db := &hanging{}
	_, err := OnExisting(t.Context(), db, Target{Written: []string{"a", WrittenByFunctions}, ReadOnly: []string{"b", "a"}}, true)
	expect.NoError(t, err)
	if !slices.Equal(db.asked, []string{"a", "b"}) {
		t.Errorf("asked about %q", db.asked)
	}
}
