// Package versions downloads servers of chosen versions from package registries, by the registries'
// own clients, and keeps them in the folder of servers (server.CacheDir).
//
// versions.yaml has the versions and the sums of their files. The package must not know how a
// server is started.
package versions

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/shirou/gopsutil/v4/disk"

	"assay/cluster/server"
	"assay/internal/quantity"
)

//go:embed versions.yaml
var table []byte

type source struct {
	Program string `yaml:"program"`
	// Maven is an artifact whose jars hold an archive of the server, at versions followed by Suffix.
	// Module is a Go module whose package Main has the server's function Main.
	Maven  string `yaml:"maven"`
	Suffix string `yaml:"suffix"`
	Module string `yaml:"module"`
	Main   string `yaml:"main"`
	// Python is a package whose wheel has a module of the same name to run.
	Python string `yaml:"python"`
	// Room is the disk space for one version, in MiB.
	Room int64 `yaml:"room"`
	// Sums maps each version to the SHA-256 of its jar or wheel, or to its module's sum.
	Sums map[string]string `yaml:"versions"`
}

// sources is read once, because each parsed spec needs it.
var sources = sync.OnceValue(func() map[string]source {
	all := map[string]source{}
	if err := yaml.Unmarshal(table, &all); err != nil {
		panic("cluster/versions/versions.yaml: " + err.Error()) // it is part of the program, and tested
	}
	return all
})

// Of lists the versions of a product, oldest first; none of an unknown product.
func Of(product string) []string {
	return slices.SortedFunc(maps.Keys(sources()[product].Sums), server.CompareVersions)
}

// Here lists the versions that are on this machine.
func Here(product string) []string {
	return slices.DeleteFunc(Of(product), func(version string) bool {
		folder, err := folderOf(product, version)
		return err != nil || server.Executable(filepath.Join(folder, "bin", sources()[product].Program)) == ""
	})
}

// folderOf is a version's folder. Its name has the sum, so that a changed sum means another folder.
func folderOf(product, version string) (string, error) {
	cache, err := server.CacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for servers: %w; set ASSAY_SERVERS", err)
	}
	sum := strings.NewReplacer("/", "", "+", "", "=", "", "h1:", "").Replace(sources()[product].Sums[version])
	return filepath.Join(cache, "versions", fmt.Sprintf("%s-%s-%.12s", product, version, sum)), nil
}

// UnknownError means that there is no such version.
type UnknownError struct {
	Product, Version string
	Known            []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no version of %s can be had", e.Product)
	}
	return fmt.Sprintf("no version %s of %s can be had; there are %s", e.Version, e.Product, strings.Join(e.Known, ", "))
}

// GetError means that a download failed, for want of a program, of the network or of room.
type GetError struct {
	Product, Version string
	Here             []string
	Err              error
}

func (e *GetError) Error() string {
	here := "none is here yet"
	if len(e.Here) > 0 {
		here = "here are " + strings.Join(e.Here, ", ")
	}
	return fmt.Sprintf("get %s %s: %v; of its versions %s", e.Product, e.Version, e.Err, here)
}

func (e *GetError) Unwrap() error { return e.Err }

// Get returns the folder in whose bin the server is, and downloads it first if needed. announce,
// which may be nil, hears of that before, since it takes seconds to minutes. The error is an
// *UnknownError or a *GetError.
func Get(ctx context.Context, product, version string, announce func(text string)) (folder string, err error) {
	s := sources()[product]
	if s.Sums[version] == "" {
		return "", &UnknownError{Product: product, Version: version, Known: Of(product)}
	}
	fail := func(err error) (string, error) {
		return "", &GetError{Product: product, Version: version, Here: Here(product), Err: err}
	}
	if folder, err = folderOf(product, version); err != nil {
		return fail(err)
	}
	if server.Executable(filepath.Join(folder, "bin", s.Program)) != "" {
		return folder, nil
	}
	if announce != nil {
		announce(fmt.Sprintf("getting %s %s, which is then kept in %s", product, version, folder))
	}
	if err := s.install(ctx, version, folder); err != nil {
		return fail(err)
	}
	return folder, nil
}

// install works beside the result and renames it, so that no incomplete server is found.
func (s source) install(ctx context.Context, version, folder string) (err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	if on, err := disk.Usage(filepath.Dir(folder)); err == nil && on.Free < uint64(s.Room)<<20 {
		return fmt.Errorf("it takes %s, and the disk of %s has %s left", quantity.FormatBinary(s.Room<<20), filepath.Dir(folder), quantity.FormatBinary(int64(on.Free)))
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), "getting-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	made := filepath.Join(work, "server")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	get := s.fromMaven
	switch {
	case s.Module != "":
		get = s.fromModule
	case s.Python != "":
		get = s.fromPython
	}
	if err := get(ctx, version, work, made); err != nil {
		return err
	}
	if server.Executable(filepath.Join(made, "bin", s.Program)) == "" {
		return fmt.Errorf("the package holds no bin/%s", s.Program)
	}
	if err := os.Rename(made, folder); err != nil && !server.Exists(folder) { // another process may have been faster
		return err
	}
	return nil
}
