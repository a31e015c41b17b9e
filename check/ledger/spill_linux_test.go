package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// inFile judges a run whose times and rows go into a file from the first byte on.
func (r run) inFile(t *testing.T) *Judge {
	t.Helper()
	r.books.Folder = t.TempDir()
	j := r.judge(t)
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(r.books.Folder); len(left) > 0 {
			t.Errorf("left in the folder: %v", left)
		}
	})
	return j
}

func TestRowsInAFile(t *testing.T) {
	r := randomRun(11, 50, 3, 8192)
	compare := func(name string, want check.Verdict) {
		t.Helper()
		j := r.inFile(t)
		memory, file := r.judge(t).Results(), j.Results()
		if got := check.Combine(file); got != want || fmt.Sprint(memory) != fmt.Sprint(file) {
			t.Errorf("%s: %v from a file, want %v:\n%v\nfrom memory:\n%v", name, got, want, file, memory)
		}
		if s := &j.ops.spill; s.file == nil || len(s.file.extents) != (len(j.ops.list)+extent-1)/extent || s.kept != 0 {
			t.Errorf("%s: %d bytes are in memory, and %+v", name, s.kept, s.file)
		}
	}
	compare("a sound run", check.Valid)
	r.rows[len(r.rows)-1].SourceVersion++
	r.rows[len(r.rows)-2].Amount++
	compare("a spoiled run", check.Violated)
}

// Memory is used first, and for everything if there can be no file.
func TestSpill(t *testing.T) {
	folder := t.TempDir()
	s := spill{folder: folder, limit: 2 * pageSize}
	given := map[*page]bool{}
	fill := func(n int) {
		t.Helper()
		for range n {
			p := s.page()
			if *p != (page{}) || given[p] {
				t.Fatalf("page %d is not empty, or was given twice", len(given))
			}
			given[p], p[0].first, p[blockOps-1].versions[credit] = true, 1, 1
		}
	}
	fill(2)
	if s.file != nil || s.kept != s.limit {
		t.Errorf("below the limit there is %+v with %d bytes in memory", s.file, s.kept)
	}
	fill(extent + 1)
	if len(s.file.extents) != 2 || s.kept != s.limit {
		t.Errorf("%d extents, %d bytes in memory", len(s.file.extents), s.kept)
	}
	if named, _ := filepath.Glob(filepath.Join(folder, "*")); len(named) > 0 {
		t.Errorf("the file has a name: %s", strings.Join(named, " "))
	}
	expect.NoError(t, s.file.file.Close()) // nothing can be added any more
	fill(extent)
	if s.folder != "" || len(s.file.extents) != 2 || s.kept != s.limit+pageSize {
		t.Errorf("a file that cannot grow is tried again: %d extents, %d bytes in memory", len(s.file.extents), s.kept)
	}
	s.file.file, _ = os.Open(os.DevNull)
	expect.NoError(t, s.close())
	s = spill{folder: filepath.Join(folder, "none")}
	if fill(10); s.folder != "" || s.close() != nil {
		t.Errorf("without a folder there is %+v", s)
	}
}
