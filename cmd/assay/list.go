package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"assay/catalog"
)

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workloads, the databases, and which serves which",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if asJSON {
				encoder := json.NewEncoder(out)
				encoder.SetIndent("", "  ")
				return encoder.Encode(catalog.Matrix())
			}
			return listText(out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the matrix as JSON: driver, workload, supported, reason")
	return cmd
}

func listText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "workloads")
	for _, x := range catalog.Workloads() {
		fmt.Fprintf(w, "  %s\t%s\n", x.Name, x.Summary)
	}
	fmt.Fprintln(w, "\ndatabases")
	for _, d := range catalog.Drivers() {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", d.Name, d.Summary, d.Example)
	}
	fmt.Fprintln(w, "\nmatrix")
	for _, c := range catalog.Matrix() {
		answer := "yes"
		if !c.Supported {
			answer = "no: " + c.Reason
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", c.Driver, c.Workload, answer)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	return nil
}
