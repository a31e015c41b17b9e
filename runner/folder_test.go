package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

func TestFoldersInUseAreRefused(t *testing.T) {
	used := filepath.Join(t.TempDir(), "in-use")
	expect.NoError(t, os.Mkdir(used, 0o700))
	put(t, filepath.Join(used, "precious"), "x")
	for name, path := range map[string]string{
		"not empty":          used,
		"a file":             filepath.Join(used, "precious"),
		"below a file":       filepath.Join(used, "precious", "run"),
		"an impossible name": filepath.Join(used, strings.Repeat("x", 300)),
	} {
		_, err := Run(t.Context(), small("mem://", 1, 10), Options{Out: path, Progress: &diary{}})
		var refused *FolderError
		if !errors.As(err, &refused) || refused.Path != path {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "another --out") || strings.Count(text, filepath.Base(path)) != 1 {
			t.Errorf("%s: %q does not say what to do, or says the path again", name, text)
		}
	}
	if entries, err := os.ReadDir(used); err != nil || len(entries) != 1 {
		t.Errorf("the folder was changed: %v, %v", entries, err)
	}
}

func TestFoldersThatAreMade(t *testing.T) {
	empty := t.TempDir()
	deep := filepath.Join(t.TempDir(), "a", "b", "c")
	for _, path := range []string{empty, deep} {
		if got, err := CreateFolder(path, time.Now(), "bank", "mem"); err != nil || got != path {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	t.Chdir(t.TempDir())
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("east", 3600))
	for _, want := range []string{"runs/20260102T020405Z-bank-mem", "runs/20260102T020405Z-bank-mem-2", "runs/20260102T020405Z-bank-mem-3"} {
		if got, err := CreateFolder("", now, "bank", "mem"); err != nil || got != filepath.FromSlash(want) {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestWriteFileWritesAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	for _, text := range []string{"first", "second"} {
		expect.NoError(t, history.WriteFile(path, []byte(text)))
		if got := string(read(t, path)); got != text {
			t.Errorf("%q", got)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := history.WriteFile(filepath.Join(path, "below"), nil); !is[*history.WriteError](err) {
		t.Errorf("got %v", err)
	}
}
