package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"assay/internal/expect"
)

// TestManualPages: each command that --help shows has a manual page that names its flags. They are
// written into the folder of ASSAY_MANPAGES, if that is set; the program itself cannot write them.
func TestManualPages(t *testing.T) {
	folder := cmp.Or(os.Getenv("ASSAY_MANPAGES"), t.TempDir())
	expect.NoError(t, os.MkdirAll(folder, 0o755))
	said, err := exec.Command(binary, "version").Output()
	expect.NoError(t, err)
	root := newRoot("test", nil)
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true // the same source gives the same pages
	first, _, _ := strings.Cut(string(said), "\ncommit")
	expect.NoError(t, doc.GenManTree(root, &doc.GenManHeader{Title: "ASSAY", Section: "1", Source: strings.Join(strings.Fields(first), " ")}, folder))
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
}
