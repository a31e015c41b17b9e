package disk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/internal/expect"
)

// starterFolder is set for a child that opens a disk there and waits for its kill.
const starterFolder = "ASSAY_TEST_DISK_FOLDER"

func TestMain(m *testing.M) {
	if Child() {
		os.Exit(Serve())
	}
	if folder := os.Getenv(starterFolder); folder != "" {
		_, err := Open(folder, Options{})
		fmt.Println("opened", err)
		select {}
	}
	os.Exit(m.Run())
}

// TestAKilledStarterLeavesNothing: the disk's process notices the kill, unmounts and ends.
func TestAKilledStarterLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	expect.NoError(t, err)
	folder := t.TempDir()
	starter := exec.Command(self)
	starter.Env = append(os.Environ(), starterFolder+"="+folder)
	output, err := starter.StdoutPipe()
	expect.NoError(t, err)
	expect.NoError(t, starter.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	mountPoint := filepath.Join(folder, mountFolder)
	if line != "opened <nil>\n" || !mounted(t, mountPoint) {
		t.Errorf("%q, %v", line, err)
	}
	expect.NoError(t, starter.Process.Kill())
	_ = starter.Wait() // killed
	expect.Eventually(t, "it is unmounted", func() bool { return !mounted(t, mountPoint) })
}

func openDisk(t *testing.T) *Disk { return openDiskWith(t, Options{}) }

func openDiskWith(t *testing.T, o Options) *Disk {
	t.Helper()
	d, err := Open(t.TempDir(), o)
	expect.NoError(t, err)
	expect.AtEnd(t, d.Close)
	return d
}

func (d *Disk) in(name string) string { return filepath.Join(d.Folder(), name) }

func write(t *testing.T, path, text string, sync bool) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	expect.NoError(t, err)
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if sync {
		expect.NoError(t, f.Sync())
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	expect.NoError(t, err)
	return string(text)
}

func syncPath(t *testing.T, path string) {
	t.Helper()
	expect.NoError(t, fsync(path))
}

func cutAndRestore(t *testing.T, d *Disk) Loss {
	t.Helper()
	loss, err := d.Cut(Worst, 0)
	if err == nil {
		err = d.Restore()
	}
	expect.NoError(t, err)
	return loss
}

func mounted(t *testing.T, folder string) bool {
	t.Helper()
	return strings.Contains(read(t, "/proc/self/mounts"), " "+folder+" ")
}

// TestAMoveIsLostOrMadeAsAWhole: after a cut a file moved between folders, of which one was synced,
// has one of its names, never both or none.
func TestAMoveIsLostOrMadeAsAWhole(t *testing.T) {
	t.Parallel()
	const files, folders = 12, 4
	for seed := range uint64(10) {
		d := openDisk(t)
		random := rand.New(rand.NewPCG(seed, 1))
		folder := func() string { return d.in(fmt.Sprintf("d%d", random.IntN(folders))) }
		for i := range folders {
			expect.NoError(t, os.Mkdir(d.in(fmt.Sprintf("d%d", i)), 0o700))
		}
		at := map[string]string{}
		for i := range files {
			text := fmt.Sprintf("file %d", i)
			at[text] = filepath.Join(folder(), fmt.Sprintf("f%d", i))
			write(t, at[text], text, false)
		}
		expect.NoError(t, d.Sync())
		for i := range 60 {
			text := fmt.Sprintf("file %d", random.IntN(files))
			to := filepath.Join(folder(), fmt.Sprintf("g%d", i))
			expect.NoError(t, os.Rename(at[text], to))
			at[text] = to
			if random.IntN(10) == 0 {
				syncPath(t, folder())
			}
		}
		if _, err := d.Cut(Modes()[seed%2], seed); err != nil {
			t.Fatal(err)
		}
		expect.NoError(t, d.Restore())
		found := map[string]int{}
		paths, err := filepath.Glob(d.in("*/*"))
		expect.NoError(t, err)
		for _, path := range paths {
			found[read(t, path)]++
		}
		for text := range at {
			if found[text] != 1 {
				t.Errorf("seed %d: %s is found %d times", seed, text, found[text])
			}
		}
		expect.NoError(t, d.Close())
	}
}

// TestWhatASyncReaches covers the cases that databases get wrong.
func TestWhatASyncReaches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, d *Disk)
		want map[string]string // by path; absent files must be absent
	}{
		"a new file that was synced, in a folder that was not": {
			func(t *testing.T, d *Disk) { write(t, d.in("new"), "x", true) }, nil},
		"a new file that was not synced, in a folder that was": {
			func(t *testing.T, d *Disk) { write(t, d.in("new"), "x", false); syncPath(t, d.Folder()) },
			map[string]string{"new": ""}},
		"both": {
			func(t *testing.T, d *Disk) { write(t, d.in("new"), "x", true); syncPath(t, d.Folder()) },
			map[string]string{"new": "x"}},
		"replaced by a rename, without a sync of the new content": {
			func(t *testing.T, d *Disk) {
				write(t, d.in("a"), "old", true)
				syncPath(t, d.Folder())
				write(t, d.in("a.new"), "new", false)
				rename(t, d.in("a.new"), d.in("a"))
				syncPath(t, d.Folder())
			}, map[string]string{"a": ""}},
		"replaced by a rename, without a sync of the folder": {
			func(t *testing.T, d *Disk) {
				write(t, d.in("a"), "old", true)
				syncPath(t, d.Folder())
				write(t, d.in("a.new"), "new", true)
				rename(t, d.in("a.new"), d.in("a"))
			}, map[string]string{"a": "old"}},
		"removed without a sync of the folder": {
			func(t *testing.T, d *Disk) {
				write(t, d.in("a"), "old", true)
				syncPath(t, d.Folder())
				expect.NoError(t, os.Remove(d.in("a")))
			}, map[string]string{"a": "old"}},
		"a folder in one that was not synced": {
			func(t *testing.T, d *Disk) {
				expect.NoError(t, os.Mkdir(d.in("d"), 0o700))
				write(t, d.in("d/a"), "x", true)
				syncPath(t, d.in("d"))
			}, nil},
		"moved into a new folder, and the old one synced": {
			func(t *testing.T, d *Disk) {
				expect.NoError(t, os.Mkdir(d.in("d"), 0o700))
				write(t, d.in("d/a"), "x", true)
				expect.NoError(t, d.Sync())
				expect.NoError(t, os.Mkdir(d.in("e"), 0o700))
				rename(t, d.in("d/a"), d.in("e/a"))
				syncPath(t, d.in("d"))
			}, map[string]string{"e/a": "x"}},
		"moved out of a folder that was removed": {
			func(t *testing.T, d *Disk) {
				for _, name := range []string{"d", "e"} {
					expect.NoError(t, os.Mkdir(d.in(name), 0o700))
				}
				write(t, d.in("d/a"), "x", true)
				expect.NoError(t, d.Sync())
				rename(t, d.in("d/a"), d.in("e/a"))
				expect.NoError(t, os.Remove(d.in("d")))
				syncPath(t, d.Folder())
			}, map[string]string{"e/a": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := openDisk(t)
			c.do(t, d)
			loss := cutAndRestore(t, d)
			for _, path := range []string{"new", "a", "a.new", "d/a", "e/a"} {
				text, err := os.ReadFile(d.in(path))
				want, kept := c.want[path]
				if kept && (err != nil || string(text) != want) || !kept && !os.IsNotExist(err) && !errors.Is(err, syscall.ENOTDIR) {
					t.Errorf("%s: %q, %v; want %q, kept %v (%v)", path, text, err, want, kept, loss)
				}
			}
		})
	}
}

// TestAJournalKeepsNamesInOrder: a sync of any file keeps all earlier names and no later one.
func TestAJournalKeepsNamesInOrder(t *testing.T) {
	d := openDiskWith(t, Options{Journal: true})
	write(t, d.in("empty"), "x", false)
	expect.NoError(t, os.Mkdir(d.in("d"), 0o700))
	write(t, d.in("d/a"), "x", true)
	write(t, d.in("later"), "x", false)
	syncPath(t, d.in("d/a")) // which has nothing to write
	cutAndRestore(t, d)
	if got := read(t, d.in("d/a")); got != "x" {
		t.Errorf("%q", got)
	}
	if got := read(t, d.in("empty")); got != "" {
		t.Errorf("%q of what was not synced", got)
	}
	if _, err := os.Stat(d.in("later")); !os.IsNotExist(err) {
		t.Error("a name survived that was made after the last sync:", err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	expect.NoError(t, os.Rename(from, to))
}

// TestAFailedSync: one fsync fails, and the next succeeds without the lost writes. Reads return new
// or old data.
func TestAFailedSync(t *testing.T) {
	for _, old := range []bool{false, true} {
		d := openDisk(t)
		oldText, newText := strings.Repeat("o", 9000), strings.Repeat("n", 10_000)
		write(t, d.in("a"), oldText, true)
		write(t, d.in("other"), oldText, true)
		syncPath(t, d.Folder())
		failing, err := d.Fail(Failure{Kind: SyncError, Files: "a", Old: old})
		expect.NoError(t, err)
		f, err := os.OpenFile(d.in("a"), os.O_RDWR, 0)
		expect.NoError(t, err)
		if err := f.Sync(); err != nil {
			t.Error("an fsync that has nothing to write failed:", err)
		}
		if _, err := f.WriteAt([]byte(newText), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("fsync: %v, want EIO", err)
		}
		if err := f.Sync(); err != nil {
			t.Error("the second fsync:", err)
		}
		want := newText
		if old {
			want = oldText + strings.Repeat("\x00", 1000)
		}
		if got := read(t, d.in("a")); got != want {
			t.Errorf("old %v: read %d bytes that differ at %d", old, len(got), differ([]byte(got), []byte(want)))
		}
		effect, err := failing.End()
		if err != nil || effect.Times != 1 || effect.File != "a" {
			t.Errorf("effect %+v, %v", effect, err)
		}
		// A write into a failed page makes all of the page dirty.
		if _, err := f.WriteAt([]byte("again"), 0); err != nil {
			t.Fatal(err)
		}
		expect.NoError(t, errors.Join(f.Sync(), f.Close()))
		cutAndRestore(t, d)
		page := want[5:pageSize]
		rest := oldText[pageSize:] + strings.Repeat("\x00", 1000)
		if got := read(t, d.in("a")); got != "again"+page+rest {
			t.Errorf("old %v: %d bytes survived that differ at %d", old, len(got), differ([]byte(got), []byte("again"+page+rest)))
		}
		if got := read(t, d.in("other")); got != oldText {
			t.Error("another file is not what it was")
		}
	}
}

func TestAFullDisk(t *testing.T) {
	d := openDisk(t)
	write(t, d.in("a"), "12345", false)
	failing, err := d.Fail(Failure{Kind: Full})
	expect.NoError(t, err)
	f, err := os.OpenFile(d.in("a"), os.O_RDWR, 0)
	expect.NoError(t, err)
	defer f.Close()
	if _, err := f.WriteAt([]byte("6789"), 3); !errors.Is(err, syscall.ENOSPC) {
		t.Error("a file grew on a full disk:", err)
	}
	if _, err := f.WriteAt([]byte("abc"), 2); err != nil {
		t.Error("what is there cannot be overwritten:", err)
	}
	if err := f.Truncate(100); !errors.Is(err, syscall.ENOSPC) {
		t.Error("a file grew on a full disk:", err)
	}
	if _, err := os.Create(d.in("b")); !errors.Is(err, syscall.ENOSPC) {
		t.Error("a file was made on a full disk:", err)
	}
	effect, err := failing.End()
	if err != nil || effect.Times != 3 {
		t.Errorf("effect %+v, %v", effect, err)
	}
	if _, err := f.WriteAt([]byte("6789"), 5); err != nil {
		t.Error("a disk that is not full any more:", err)
	}
	if got := read(t, d.in("a")); got != "12abc6789" {
		t.Errorf("%q", got)
	}
}

// TestReadsFail, even of pages in the kernel's cache.
func TestReadsFail(t *testing.T) {
	d := openDisk(t)
	for _, name := range []string{"a.db", "b.log"} {
		write(t, d.in(name), "text", true)
		if got := read(t, d.in(name)); got != "text" {
			t.Fatal(got)
		}
	}
	failing, err := d.Fail(Failure{Kind: ReadError, Files: "*.db"})
	expect.NoError(t, err)
	if _, err := os.ReadFile(d.in("a.db")); !errors.Is(err, syscall.EIO) {
		t.Error("read:", err)
	}
	if got := read(t, d.in("b.log")); got != "text" {
		t.Error(got)
	}
	effect, err := failing.End()
	if err != nil || effect.Times == 0 || effect.File != "a.db" {
		t.Errorf("effect %+v, %v", effect, err)
	}
	if got := read(t, d.in("a.db")); got != "text" {
		t.Error(got)
	}
}

func TestABitFlips(t *testing.T) {
	d := openDisk(t)
	text := strings.Repeat("text", 5000)
	expect.NoError(t, os.Mkdir(d.in("base"), 0o755))
	write(t, d.in("base/1"), text, true)
	write(t, d.in("1"), text, true)
	for seed := range uint64(5) {
		failing, err := d.Fail(Failure{Kind: BitFlip, Files: "base/*", Seed: seed})
		expect.NoError(t, err)
		effect, err := failing.Effect()
		if err != nil || effect.File != "base/1" || effect.Times != 0 {
			t.Fatalf("%+v, %v", effect, err)
		}
		got := []byte(read(t, d.in("base/1")))
		if at := differ(got, []byte(text)); int64(at) != effect.Offset {
			t.Errorf("it differs at %d, not at %d", at, effect.Offset)
		} else if got[at] ^= text[at]; got[at]&(got[at]-1) != 0 {
			t.Error("more than one bit differs")
		}
		if seen, err := failing.Effect(); err != nil || seen.Times == 0 {
			t.Errorf("the byte was read: %+v, %v", seen, err)
		}
		if read(t, d.in("1")) != text {
			t.Error("another file has changed")
		}
		overwritten := seed == 4
		if overwritten {
			write(t, d.in("base/1"), text, true)
		}
		effect, err = failing.End()
		if err != nil || effect.Undone == overwritten {
			t.Errorf("overwritten %v: %+v, %v", overwritten, effect, err)
		}
		if read(t, d.in("base/1")) != text {
			t.Error("the bit is still wrong")
		}
	}
	if _, err := d.Fail(Failure{Kind: BitFlip, Files: "*.ibd"}); err == nil {
		t.Error("a bit of no file was inverted")
	}
}

// TestNothingIsLeft: a disk in use that is closed, or whose process was killed, leaves no mount,
// and its users get errors.
func TestNothingIsLeft(t *testing.T) {
	for _, killed := range []bool{false, true} {
		d := openDisk(t)
		write(t, d.in("a"), "text", true)
		f, err := os.OpenFile(d.in("a"), os.O_RDWR, 0)
		expect.NoError(t, err)
		if !mounted(t, d.Folder()) {
			t.Fatal("it is not mounted")
		}
		if killed {
			expect.NoError(t, d.child.Process.Kill())
			if err := d.Sync(); err == nil {
				t.Error("a disk without a process was synced")
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteAt([]byte("more"), 0); err == nil {
			t.Error("a file of a disk that is gone was written")
		}
		_ = f.Close()
		if mounted(t, d.Folder()) {
			t.Error("it is still mounted")
		}
	}
}

func TestWhatIsMissing(t *testing.T) {
	var refused *MissingError
	if err := missing(1000, device); !errors.As(err, &refused) || !strings.Contains(err.Error(), "run assay as root") {
		t.Error(err)
	}
	if err := missing(0, "/dev/fuse-that-is-not-there"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "modprobe fuse") {
		t.Error(err)
	}
	expect.NoError(t, missing(0, device))
}

// TestNothingNewSurvivesBeforeWhatWasCutOff: writes behind a truncated end reach the disk only
// after the truncation.
func TestNothingNewSurvivesBeforeWhatWasCutOff(t *testing.T) {
	old, new := 0, 0
	for seed := range uint64(40) {
		c := &content{path: filepath.Join(t.TempDir(), "1")}
		_, err := c.write(bytes.Repeat([]byte("o"), 3*pageSize), 0, true)
		err = errors.Join(err, c.sync(), c.truncate(0, true))
		_, writeErr := c.write(bytes.Repeat([]byte("n"), pageSize), 2*pageSize, true)
		_, loseErr := c.lose(rand.New(rand.NewPCG(seed, 0)), false)
		left := make([]byte, 4*pageSize)
		n, readErr := c.read(left, 0)
		expect.NoError(t, errors.Join(err, writeErr, loseErr, readErr))
		hasOld, hasNew := bytes.Contains(left[:n], []byte("o")), bytes.Contains(left[:n], []byte("n"))
		switch {
		case hasOld && hasNew:
			t.Errorf("seed %d: both are there", seed)
		case hasOld:
			old++
		case hasNew:
			new++
		}
	}
	if old == 0 || new == 0 {
		t.Errorf("old %d times, new %d times: both must happen", old, new)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, file string
		want          bool
	}{
		{"", "a", true}, {"*.ibd", "data/bank/account.ibd", true}, {"*.ibd", "data/ibd", false},
		{"base/*/*", "data/base/5/1249", true}, {"base/*/*", "base/5/1249", true}, {"base/*/*", "5/1249", false},
		{"base/*", "data/base/5/1249", false}, {"[", "[", false},
	} {
		if got := Match(c.pattern, c.file); got != c.want {
			t.Errorf("%q of %q: %v", c.pattern, c.file, got)
		}
	}
	if CheckPattern("[") == nil || CheckPattern("base/*") != nil {
		t.Error("patterns that can and cannot match")
	}
}

// TestManyNames lists a folder with more names than one answer holds.
func TestManyNames(t *testing.T) {
	d := openDisk(t)
	const files = 1000
	for i := range files {
		write(t, d.in(fmt.Sprintf("%060d", i)), "", false)
	}
	listed, err := os.ReadDir(d.Folder())
	if err != nil || len(listed) != files {
		t.Errorf("%d names, %v", len(listed), err)
	}
}

func TestPages(t *testing.T) {
	var p pages
	want := map[int64]bool{}
	random := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		n := random.Int64N(300)
		if random.IntN(2) == 0 {
			p.add(n)
			want[n] = true
		} else {
			p.remove(n)
			delete(want, n)
		}
	}
	last, seen := int64(-1), 0
	err := p.each(func(n int64) error {
		if !want[n] || n <= last {
			t.Errorf("page %d", n)
		}
		last = n
		seen++
		return nil
	})
	if err != nil || seen != len(want) || p.count != len(want) {
		t.Error(seen, p.count, len(want), err)
	}
}
