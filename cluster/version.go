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

// optionVersion is the option that asks for another version than the machine's.
const optionVersion = "version"

// versionOption is that option of a product.
func versionOption(product string) option {
	return option{name: optionVersion, want: "version=" + strings.Join(versions.Of(product), ", "),
		check: func(v string) bool { return slices.Contains(versions.Of(product), v) }}
}

// programs is the folder of server programs to search first: with version= it is the
// version's, which is got if it is not here. A copy is made where the user as whom a server runs
// cannot enter that folder.
func (c *Cluster) programs(ctx context.Context, o Options) (string, error) {
	version := c.spec.Options[optionVersion]
	if version == "" {
		return o.Programs, nil
	}
	folder, err := versions.Get(ctx, c.spec.Product, version, o.Announce)
	if err != nil {
		return "", err
	}
	user, err := server.Unprivileged("nobody")
	if err != nil || user.MayRun(filepath.Join(folder, "bin", "any")) {
		return folder, err
	}
	copied := filepath.Join(c.folder, "programs")
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		return "", fmt.Errorf("copy the servers of %s: %w", folder, err)
	}
	return copied, nil
}
