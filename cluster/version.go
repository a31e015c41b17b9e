package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/cluster/server"
	"assay/cluster/versions"
)

const optionVersion = "version"

func versionOption(product string) option {
	return option{name: optionVersion, want: "version=" + strings.Join(versions.Of(product), ", "),
		check: func(v string) bool { return slices.Contains(versions.Of(product), v) }}
}

// programs is the folder to search first for server programs. With version= it holds that version,
// which is downloaded if needed. It is a copy if the servers' user cannot enter the folder.
func (c *Cluster) programs(ctx context.Context, o Options) (string, error) {
	version := c.spec.Options[optionVersion]
	if version == "" {
		return o.Programs, nil
	}
	return c.programsOf(ctx, version, o.Announce)
}

// programsOf is the folder in whose bin a version's programs are.
func (c *Cluster) programsOf(ctx context.Context, version string, announce func(string)) (string, error) {
	folder, err := versions.Get(ctx, c.spec.Product, version, announce)
	if err != nil {
		return "", err
	}
	user, err := server.Unprivileged("nobody")
	if err != nil || user.MayRun(filepath.Join(folder, "bin", "any")) {
		return folder, err
	}
	copied := filepath.Join(c.folder, "programs-"+version)
	if server.Exists(copied) {
		return copied, nil
	}
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		return "", fmt.Errorf("copy the servers of %s: %w", folder, err)
	}
	return copied, nil
}

// ProgramsOf returns the folder of another version's programs, for nodes that change to it one
// after the other. It downloads them if needed. The error is a *SpecError, or from package
// versions.
func (c *Cluster) ProgramsOf(ctx context.Context, version string) (folder string, err error) {
	now := c.spec.Options[optionVersion]
	series := func(v string) string { // PostgreSQL's major version, and the minor one of others
		parts := strings.Split(v, ".")
		if SchemeOf(c.spec.Product) == "postgres" {
			return parts[0]
		}
		return strings.Join(parts[:min(2, len(parts))], ".")
	}
	of := slices.DeleteFunc(versions.Of(c.spec.Product), func(v string) bool { return v == now || series(v) != series(now) })
	switch leader := products()[c.spec.Product].ledBy; {
	case leader != "": // its server starts others, whose programs would stay
		return "", &SpecError{Spec: c.spec.String(), Part: "a rolling upgrade of " + leader, Want: "postgres or etcd, whose server is the program itself"}
	case now == "":
		return "", &SpecError{Spec: c.spec.String(), Part: "no " + optionVersion + "=", Want: "one to begin with, such as postgres:2,version=15.4"}
	case !slices.Contains(of, version):
		return "", &SpecError{Spec: c.spec.String(), Part: fmt.Sprintf("a rolling upgrade to %q", version), Want: "a version that takes the same files: " + strings.Join(of, ", ")}
	}
	return c.programsOf(ctx, version, nil)
}

// TakePrograms gives the node's server these programs from its next start on; takeBack undoes it.
func (n *Node) TakePrograms(folder string) (takeBack func()) {
	n.server.TakePrograms(folder)
	return func() { n.server.TakePrograms("") }
}
