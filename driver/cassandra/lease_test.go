package cassandra

import (
	"errors"
	"fmt"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

type unknownTable struct{}

func (unknownTable) Code() int       { return gocql.ErrCodeInvalid }
func (unknownTable) Message() string { return "table assay_lease does not exist" }
func (u unknownTable) Error() string { return u.Message() }

// TestLeaseTableOnItsWay: a node without the lease's table yet is asked again; other refusals are
// errors at once.
func TestLeaseTableOnItsWay(t *testing.T) {
	tries := 0
	err := new(database).repeat(t.Context(), func() error {
		if tries++; tries < leaseTries+3 {
			return fmt.Errorf("wrapped: %w", unknownTable{})
		}
		return nil
	})
	if err != nil || tries != leaseTries+3 {
		t.Errorf("%v after %d tries", err, tries)
	}
	refused := answer(gocql.ErrCodeInvalid)
	tries = 0
	err = new(database).repeat(t.Context(), func() error { tries++; return refused })
	if !errors.Is(err, refused) || tries != 1 {
		t.Errorf("%v after %d tries; want the refusal at once", err, tries)
	}
}
