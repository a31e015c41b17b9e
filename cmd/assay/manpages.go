package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManPages is for those who install assay; see the Makefile.
func newManPages() *cobra.Command {
	return &cobra.Command{
		Use:    "manpages DIR",
		Short:  "Write a manual page for each command into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usageError{fmt.Errorf("write manual pages: %w", err)}
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same source gives the same pages
			header := &doc.GenManHeader{Title: "ASSAY", Section: "1", Source: "assay " + root.Version}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return usageError{fmt.Errorf("write manual pages: %w", err)}
			}
			return nil
		},
	}
}
