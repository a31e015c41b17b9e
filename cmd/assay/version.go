package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type build struct {
	Version string `json:"version"`
	// Commit is empty if unknown; Modified is true if files differed from it.
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild(version string) build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func newVersion(version string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, Go's version and the platform",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, out := thisBuild(version), cmd.OutOrStdout()
			if asJSON {
				return printJSON(out, b)
			}
			commit := b.Commit
			switch {
			case commit == "":
				commit = "not known to this build"
			case b.Modified:
				commit += ", with changes"
			}
			_, err := fmt.Fprintf(out, "assay     %s\ncommit    %s\ngo        %s\nplatform  %s\n", b.Version, commit, b.Go, b.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON: version, commit, modified, go, platform")
	return cmd
}
