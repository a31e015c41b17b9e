package versions

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// mostRoom is the disk space that all versions of all products may take together, in MiB.
const mostRoom = 4096

func TestTheTable(t *testing.T) {
	var room int64
	for product, s := range sources() {
		if s.Program == "" || s.Room == 0 || len(s.Maven+s.Module+s.Python) != max(len(s.Maven), len(s.Module), len(s.Python)) || (s.Module == "") != (s.Main == "") {
			t.Errorf("%s: %+v lacks something", product, s)
		}
		room += s.Room * int64(len(s.Sums))
		for version, sum := range s.Sums {
			if s.Module == "" && len(sum) != 64 || s.Module != "" && !strings.HasPrefix(sum, "h1:") {
				t.Errorf("%s %s has the sum %q", product, version, sum)
			}
		}
	}
	if room > mostRoom {
		t.Errorf("all versions take %d MiB, over %d", room, mostRoom)
	}
	if got := Of("postgres"); !slices.Contains(got, "12.2") || slices.Index(got, "12.2") > slices.Index(got, "12.22") {
		t.Errorf("the versions of postgres are %v", got)
	}
	if got := Of("none"); len(got) != 0 {
		t.Errorf("a product that nobody knows has %v", got)
	}
}

func TestUnknownVersion(t *testing.T) {
	_, err := Get(t.Context(), "postgres", "8.0", nil)
	unknown, is := errors.AsType[*UnknownError](err)
	if !is || !slices.Equal(unknown.Known, Of("postgres")) || !strings.Contains(err.Error(), "12.2, 12.22") {
		t.Errorf("the error is %v", err)
	}
	if _, err = Get(t.Context(), "none", "1", nil); err == nil || err.Error() != "no version of none can be had" {
		t.Errorf("the error is %v", err)
	}
}

// TestWithoutTheNetwork: the error names the versions that are here, which work.
func TestWithoutTheNetwork(t *testing.T) {
	cache, programs := t.TempDir(), t.TempDir()
	t.Setenv("ASSAY_SERVERS", cache)
	t.Setenv("PATH", programs)
	executable(t, filepath.Join(programs, "mvn"), "#!/bin/sh\necho '[ERROR] no such host'\nexit 1\n")
	folder, err := folderOf("postgres", "15.4")
	expect.NoError(t, err)
	executable(t, filepath.Join(folder, "bin", "postgres"), "#!/bin/sh\n")

	_, err = Get(t.Context(), "postgres", "12.2", func(string) {})
	if want := "get postgres 12.2: mvn: exit status 1: [ERROR] no such host; of its versions here are 15.4"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if got, err := Get(t.Context(), "postgres", "15.4", nil); err != nil || got != folder {
		t.Errorf("Get: %s, %v", got, err)
	}
	_, err = Get(t.Context(), "etcd", "3.5.4", nil)
	if want := "get etcd 3.5.4: it takes the program go, which is not here; of its versions none is here yet"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	executable(t, filepath.Join(programs, "go"), "#!/bin/sh\necho 'go: downloading go.uber.org/zap v1.17.0'\nprintf 'go: server imports\\n\\tgo.uber.org/zap: no such host\\n'\nexit 1\n")
	_, err = Get(t.Context(), "etcd", "3.5.4", nil)
	if want := "get etcd 3.5.4: go: exit status 1: go.uber.org/zap: no such host; of its versions none is here yet"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if left, err := os.ReadDir(filepath.Join(cache, "versions")); err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestAnotherContent: nothing is unpacked whose sum is not the table's.
func TestAnotherContent(t *testing.T) {
	programs, jar := t.TempDir(), filepath.Join(t.TempDir(), "a.jar")
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Setenv("JAR", jar)
	executable(t, filepath.Join(programs, "mvn"), "#!/bin/sh\ncp $JAR .\n")
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	if _, err := archive.Create("server.txz"); err != nil {
		t.Fatal(err)
	}
	expect.NoError(t, errors.Join(archive.Close(), os.WriteFile(jar, content.Bytes(), 0o600)))
	_, err := Get(t.Context(), "postgres", "12.2", nil)
	if err == nil || !strings.Contains(err.Error(), "and should have d8dd7b63") || len(Here("postgres")) > 0 {
		t.Errorf("the error is %v, and here are %v", err, Here("postgres"))
	}
}

func TestNoRoom(t *testing.T) {
	t.Setenv("ASSAY_SERVERS", t.TempDir())
	s := source{Room: 1 << 40}
	if err := s.install(t.Context(), "1", filepath.Join(t.TempDir(), "made")); err == nil || !strings.Contains(err.Error(), "it takes 1073741824GiB, and the disk of") {
		t.Errorf("the error is %v", err)
	}
}

func executable(t *testing.T, path, text string) {
	t.Helper()
	expect.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)))
}
