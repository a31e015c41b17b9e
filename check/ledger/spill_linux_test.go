package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
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

// What is kept in a file is judged like what is kept in memory, right or wrong.
func TestRowsInAFile(t *testing.T) {
	r := randomRun(11, 50, 3, 8*blockOps)
	compare := func(name string, want check.Verdict) {
		t.Helper()
		j := r.inFile(t)
		memory, file := r.judge(t).Results(), j.Results()
		if got := check.Combine(file); got != want || fmt.Sprint(memory) != fmt.Sprint(file) {
			t.Errorf("%s: %v from a file, want %v:\n%v\nfrom memory:\n%v", name, got, want, file, memory)
		}
		// The pages of all, and the owners of all rows but the first chunk's.
		kept := len(r.rows)/pageOps*1536 + (len(r.rows)/chunkEntries-1)*chunkEntries*4
		if j.spill.file == nil || len(j.spill.file.extents)*extent < kept || j.spill.given != 0 {
			t.Errorf("%s: %d bytes are in memory, and %+v", name, j.spill.given, j.spill.file)
		}
	}
	compare("a sound run", check.Valid)
	r.rows[len(r.rows)-1].SourceVersion++
	r.rows[len(r.rows)-2].Amount++
	compare("a spoiled run", check.Violated)
}

// Memory is used first, and where there can be no file it is used for all.
func TestSpill(t *testing.T) {
	folder := t.TempDir()
	s := spill{folder: folder, limit: 100}
	fill := func(n int) []uint32 {
		t.Helper()
		values := allocate[uint32](&s, n)
		for i := range values {
			if values[i] != 0 {
				t.Fatalf("value %d of %d is %x from the start", i, n, values[i])
			}
			values[i] = uint32(n)
		}
		return values
	}
	fill(25)
	if s.file != nil || s.given != 100 {
		t.Errorf("below the limit there is %+v with %d bytes in memory", s.file, s.given)
	}
	all := [][]uint32{fill(1), fill(3), fill(extent/4 - 6), fill(7), fill(extent / 4)}
	if len(s.file.extents) != 3 || s.given != 100 {
		t.Errorf("%d extents, %d bytes in memory", len(s.file.extents), s.given)
	}
	for _, values := range all {
		if got := values[len(values)-1]; len(values) != int(got) {
			t.Errorf("of %d values the last is %d: it was given twice", len(values), got)
		}
	}
	if named, _ := filepath.Glob(filepath.Join(folder, "*")); len(named) > 0 {
		t.Errorf("the file has a name: %s", strings.Join(named, " "))
	}
	if err := s.file.file.Close(); err != nil { // nothing can be added any more
		t.Fatal(err)
	}
	fill(extent / 4)
	if s.folder != "" {
		t.Error("a file that cannot grow is tried again")
	}
	if fill(9); len(s.file.extents) != 3 {
		t.Errorf("%d extents", len(s.file.extents))
	}
	s.file.file, _ = os.Open(os.DevNull)
	if err := s.close(); err != nil {
		t.Error(err)
	}
	s = spill{folder: filepath.Join(folder, "none")}
	if fill(10); s.folder != "" || s.close() != nil {
		t.Errorf("without a folder there is %+v", s)
	}
}

// What is given of one slab of memory is apart, zeroed and whole words, however large it is.
func TestSlabs(t *testing.T) {
	var s spill
	var pages []*page
	var owners [][]uint32
	for i := range 3000 {
		pages = append(pages, &allocate[page](&s, 1)[0])
		if *pages[i] != (page{}) {
			t.Fatalf("page %d is not empty", i)
		}
		for n := range pages[i] {
			pages[i][n] = operation{first: uint32(i), took: duration(i)}
		}
		owners = append(owners, allocate[uint32](&s, 1+i%3))
		for n, owner := range owners[i] {
			if owners[i][n] = uint32(i); owner != 0 {
				t.Fatalf("owner %d of %d is %d from the start", n, i, owner)
			}
		}
	}
	large := allocate[entry](&s, mostSlab/16+1)
	large[0], large[len(large)-1] = entry{account: [sides]uint32{1, 1}}, entry{account: [sides]uint32{1, 1}}
	for i, p := range pages {
		if want := (operation{first: uint32(i), took: duration(i)}); p[0] != want || p[pageOps-1] != want {
			t.Fatalf("page %d was given twice", i)
		}
		if last := len(owners[i]) - 1; owners[i][0] != uint32(i) || owners[i][last] != uint32(i) {
			t.Fatalf("owners %d were given twice", i)
		}
	}
	if want := int64(3000*1536 + 1000*(1+2+3)*4 + mostSlab + 16); s.given != want {
		t.Errorf("%d bytes are said to be given, want %d", s.given, want)
	}
}
