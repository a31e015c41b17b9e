package histories

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/expect"
)

// The lowest limit of a group and its parents counts.
func TestGroupMemory(t *testing.T) {
	mount := t.TempDir()
	for name, limit := range map[string]string{"": "", "a": "3000\n", "a/b": "max\n", "a/b/c": "5000\n", "d": "max\n"} {
		expect.NoError(t, os.MkdirAll(filepath.Join(mount, name), 0o755))
		if limit != "" {
			expect.NoError(t, os.WriteFile(filepath.Join(mount, name, "memory.max"), []byte(limit), 0o600))
		}
	}
	for text, want := range map[string]int64{
		"0::/a/b/c\n": 3000, "0::/a\n": 3000, "0::/d\n": math.MaxInt64, "0::/\n": math.MaxInt64, "0::/gone/away\n": math.MaxInt64,
		"12:memory:/a\n": math.MaxInt64, "12:memory:/d\n0::/a/b\n": 3000, "": math.MaxInt64,
	} {
		if got := groupMemory(mount, text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := searchMemory(t.Context()); got <= 0 {
		t.Errorf("this machine has %d", got)
	}
}
