package versions

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func (s source) fromMaven(ctx context.Context, version, work, made string) error {
	artifact := s.Maven + ":" + version + s.Suffix
	if err := command(ctx, work, "mvn", "-q", "-B", "-Dstyle.color=never", "dependency:copy", "-Dartifact="+artifact, "-DoutputDirectory="+work); err != nil {
		return err
	}
	content, err := s.one(work, "*.jar", version)
	if err != nil {
		return fmt.Errorf("%s: %w", artifact, err)
	}
	archive := filepath.Join(work, "archive.txz")
	if err := unzip(content, ".txz", archive); err != nil {
		return fmt.Errorf("%s: %w", artifact, err)
	}
	return command(ctx, work, "tar", "-xJf", archive, "-C", made)
}

// one reads the only file that matches, and checks the version's sum.
func (s source) one(work, pattern, version string) ([]byte, error) {
	found, _ := filepath.Glob(filepath.Join(work, pattern)) // the pattern is right
	if len(found) != 1 {
		return nil, fmt.Errorf("%d files %s were brought", len(found), pattern)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	if got := hex.EncodeToString(sum[:]); got != s.Sums[version] {
		return nil, fmt.Errorf("it has the SHA-256 %s, and should have %s", got, s.Sums[version])
	}
	return content, nil
}

// python is the system's interpreter, which has the wheel's dependencies.
const python = "/usr/bin/python3"

// fromPython unpacks the wheel, without dependencies, beside a script that runs its module.
func (s source) fromPython(ctx context.Context, version, work, made string) error {
	wheel := s.Python + "==" + version
	if err := command(ctx, work, "python3", "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", wheel); err != nil {
		return err
	}
	content, err := s.one(work, "*.whl", version)
	if err != nil {
		return fmt.Errorf("%s: %w", wheel, err)
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return fmt.Errorf("%s: %w", wheel, err)
	}
	if err := os.CopyFS(filepath.Join(made, "lib"), archive); err != nil {
		return fmt.Errorf("%s: %w", wheel, err)
	}
	if err := os.Mkdir(filepath.Join(made, "bin"), 0o755); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nPYTHONPATH=$(dirname \"$(readlink -f \"$0\")\")/../lib exec %s -m %s \"$@\"\n", python, s.Python)
	return os.WriteFile(filepath.Join(made, "bin", s.Program), []byte(script), 0o755)
}

func unzip(content []byte, suffix, to string) error {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		if !strings.HasSuffix(entry.Name, suffix) {
			continue
		}
		from, err := entry.Open()
		if err != nil {
			return err
		}
		defer from.Close()
		text, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	}
	return fmt.Errorf("it holds no file *%s", suffix)
}

// fromModule builds a module of ours that calls the server's function Main: go install refuses its
// own main package, because of replace directives. Go checks the sums of the other modules.
func (s source) fromModule(ctx context.Context, version, work, made string) error {
	name := path.Base(s.Main)
	files := map[string]string{
		"main.go": fmt.Sprintf("package main\n\nimport (\n\t\"os\"\n\n\t%q\n)\n\nfunc main() { %s.Main(os.Args) }\n", s.Main, name),
		"go.mod":  fmt.Sprintf("module server\n\ngo 1.21\n\nrequire %s v%s\n", s.Module, version),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := command(ctx, work, "go", "mod", "tidy"); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(work, "go.sum"))
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%s v%s %s\n", s.Module, version, s.Sums[version]); !strings.Contains(string(sums), want) {
		return fmt.Errorf("%s v%s does not have the sum %s", s.Module, version, s.Sums[version])
	}
	return command(ctx, work, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(made, "bin", s.Program), ".")
}

// cause is the line of a program's output that says why it failed: of Maven's the first error, and of
// go's the last line, since others before it tell what it downloads.
func cause(name string, said []string) string {
	if i := slices.IndexFunc(said, func(line string) bool { return strings.HasPrefix(line, "[ERROR]") }); i >= 0 {
		return said[i]
	}
	if name == "go" {
		return strings.TrimSpace(said[len(said)-1])
	}
	return said[0]
}

func command(ctx context.Context, folder, name string, args ...string) error {
	program, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("it takes the program %s, which is not here", name)
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
	printed, err := c.CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	said := strings.Split(strings.TrimSpace(string(printed)), "\n")
	return fmt.Errorf("%s: %w: %s", name, err, cause(name, said))
}
