package fault

import (
	"errors"
	"strings"
	"testing"
)

// TestTiDB: its store for tests, of which nothing is promised once it is killed, is stopped alone.
func TestTiDB(t *testing.T) {
	c := startCluster(t, "tidb:1")
	for text, refused := range map[string]bool{"kill any": true, "power-cut any": true, "stop any": false, "pause any": false} {
		var unavailable *UnavailableError
		err := Validate(t.Context(), parse(t, text), Servers(c))
		if refused != (errors.As(err, &unavailable) && strings.Contains(unavailable.Reason, "in memory")) || !refused && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
