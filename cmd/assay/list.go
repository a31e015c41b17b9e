package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/fault"
	"assay/runner/catalog"
)

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workloads, the databases, and which serves which",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), catalog.Matrix())
			}
			return listText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the matrix as JSON: driver, workload, supported, reason")
	return cmd
}

const listWidth = 80

func listText(out io.Writer) error {
	var b strings.Builder
	b.WriteString("workloads\n")
	for _, x := range catalog.Workloads() {
		hang(&b, fmt.Sprintf("  %-13s", x.Name), x.Summary)
	}
	b.WriteString("\ndatabases\n")
	for _, d := range catalog.Drivers() {
		hang(&b, fmt.Sprintf("  %-13s", d.Name), d.Summary)
		fmt.Fprintf(&b, "%15s%s\n", "", d.Example)
		hang(&b, fmt.Sprintf("%15s", ""), "parameters: "+d.Parameters)
	}
	b.WriteString("\nclusters that assay starts itself\n")
	b.WriteString(specLines() + "\n")
	b.WriteString("\nfaults\n")
	hang(&b, "  ", "ACTION[=VALUE] TARGET [while loading] [at T | every T | when EVENT [after T]] [for T | for ever]. "+fault.DefaultTimes+". "+fault.Events+". Or a YAML file of Chaos Mesh (FILE.yaml [at T]), whose objects are translated.")
	for _, a := range fault.Actions() {
		name := a.Name
		if value := strings.TrimPrefix(a.Written(), name); value != "" {
			name += "[" + value + "]"
		}
		hang(&b, fmt.Sprintf("  %-21s ", name), a.Summary())
	}
	listMatrix(&b)
	_, err := io.WriteString(out, b.String())
	return printing("list", err)
}

// listMatrix shows which database serves which workload, and why others do not.
func listMatrix(b *strings.Builder) {
	fmt.Fprintf(b, "\nmatrix\n  %-13s", "")
	for _, w := range catalog.Workloads() {
		b.WriteString(w.Name + "  ")
	}
	reasons := ""
	cells := catalog.Matrix()
	for _, d := range catalog.Drivers() {
		fmt.Fprintf(b, "\n  %-13s", d.Name)
		for _, w := range catalog.Workloads() {
			i := slices.IndexFunc(cells, func(c catalog.Cell) bool { return c.Driver == d.Name && c.Workload == w.Name })
			answer := "no"
			if i >= 0 && cells[i].Supported {
				answer = "yes"
			} else if i >= 0 {
				var one strings.Builder
				hang(&one, "  ", d.Name+", "+w.Name+": "+cells[i].Reason)
				reasons += one.String()
			}
			fmt.Fprintf(b, "%-*s", len(w.Name)+2, answer)
		}
	}
	b.WriteString("\n")
	if reasons != "" {
		b.WriteString("\nwhy not\n" + reasons)
	}
}

// hang writes a text in lines of listWidth behind a head, with further lines indented.
func hang(b *strings.Builder, head, text string) {
	lines := wrapped(head, text, listWidth, strings.Repeat(" ", len(head)))
	b.WriteString(strings.TrimRight(lines, " ") + "\n")
}
