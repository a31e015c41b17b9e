package server

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Program is a server program and where to find it.
type Program struct {
	Name string
	// Folders are patterns (path/filepath.Match) of folders that systems use besides PATH, such as
	// "/usr/lib/postgresql/*/bin".
	Folders []string
	// Is tells the program, by its path without links, from others of that name; nil accepts all.
	Is func(path string) bool
	// Get tells the user how to get it.
	Get string
}

// MissingError means that a server program is nowhere on this machine.
type MissingError struct {
	Program string
	Looked  []string
	Get     string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("no program %s in %s; %s", e.Program, strings.Join(e.Looked, ", "), e.Get)
}

// Find returns the program's path without symbolic links. It searches, in this order: the folder
// extra (unless empty) and its bin, PATH, the system's folders from the highest version down, and
// CacheDir. If the program is nowhere the error is a *MissingError.
func (p Program) Find(extra string) (string, error) {
	missing := &MissingError{Program: p.Name, Get: p.Get}
	try := func(folder string) string {
		missing.Looked = append(missing.Looked, folder)
		return p.executable(filepath.Join(folder, p.Name))
	}
	if extra != "" {
		for _, folder := range []string{extra, filepath.Join(extra, "bin")} {
			if found := try(folder); found != "" {
				return found, nil
			}
		}
	}
	missing.Looked = append(missing.Looked, "PATH")
	if path, err := exec.LookPath(p.Name); err == nil {
		if found := p.executable(path); found != "" {
			return found, nil
		}
	}
	for _, pattern := range p.Folders {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("find %s: %q: %w", p.Name, pattern, err)
		}
		if len(folders) == 0 {
			missing.Looked = append(missing.Looked, pattern)
		}
		slices.SortStableFunc(folders, func(a, b string) int { return -CompareVersions(a, b) })
		for _, folder := range folders {
			if found := try(folder); found != "" {
				return found, nil
			}
		}
	}
	cache, err := CacheDir()
	if err != nil {
		return "", missing // no home folder: then there is no cache in it
	}
	if found := try(filepath.Join(cache, "bin")); found != "" {
		return found, nil
	}
	return "", missing
}

func (p Program) executable(path string) string {
	found := Executable(path)
	if found != "" && p.Is != nil && !p.Is(found) {
		return ""
	}
	return found
}

// CacheDir is the folder that scripts/install-servers.sh fills: $ASSAY_SERVERS, or assay/servers in
// the user's cache folder. It may not exist.
func CacheDir() (string, error) {
	if dir := os.Getenv("ASSAY_SERVERS"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "assay", "servers"), nil
}

// Executable returns the path without links, or "" if it is no executable file.
func Executable(path string) string {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 {
		return ""
	}
	return path
}

// VersionOf is the first number with a dot that the program prints for --version, such as 3.0.2. It is
// empty if the program prints none within a minute.
func VersionOf(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second // for a child of it that holds its output
	printed, err := cmd.Output()
	if err != nil {
		return ""
	}
	return regexp.MustCompile(`\d+(\.\d+)+`).FindString(string(printed))
}

// CompareVersions orders paths by the numbers in them, so that 15 comes after 9.6.
func CompareVersions(a, b string) int {
	digits := regexp.MustCompile(`\d+`)
	return cmp.Or(slices.CompareFunc(digits.FindAllString(a, -1), digits.FindAllString(b, -1),
		func(x, y string) int {
			n, _ := strconv.ParseUint(x, 10, 64) // digits only; too large means the maximum
			m, _ := strconv.ParseUint(y, 10, 64)
			return cmp.Compare(n, m)
		}), cmp.Compare(a, b))
}
