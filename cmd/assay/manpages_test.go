package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"assay/internal/expect"
)

// Each command that --help shows has a manual page that names its flags.
func TestManualPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"manpages", folder}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	pages := 0
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		pages++
		text, err := os.ReadFile(filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		}
		expect.Text(t, cmd.CommandPath(), string(text), cmd.Short)
		if cmd.Name() == "bank" && !strings.Contains(string(text), "--accounts") {
			t.Error("the page of assay run bank lacks --accounts")
		}
		for _, below := range cmd.Commands() {
			each(below)
		}
	}
	each(newRoot("test", nil))
	if pages < 15 {
		t.Errorf("%d commands have pages; the walk over the commands is wrong", pages)
	}
	if code := run(t.Context(), []string{"manpages", os.DevNull}, &stdout, &stderr); code != 2 {
		t.Errorf("a folder that is a file: exit code %d, want 2", code)
	}
}
