package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/cluster"
	"assay/runner/agents"
	"assay/store"
)

func newCluster() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Start, show and end clusters on this machine",
		Long: `Start a cluster of real servers on this machine and keep it, look at it, end it.

On Linux as root each node has a network of its own, with its own address;
elsewhere all are on loopback. A run with --cluster starts and ends its own and
needs none of this.

Specs:
` + specLines() + `
with options after commas: memory=400MiB, cpu=0.5, disk=20MiB (writes a second),
network=own or loopback, bandwidth=1Gbit (of each node's link, each way), and the
product's own. Instead of the machine's disk each node has one of its own with
disk=image, whose power can be cut, with fs=ext4 or fs=xfs, or disk=faulty, which
also fails and loses all that was not synced (disk=faulty-journal: but for names,
which are kept as ext4 and XFS do).

set.NAME=VALUE sets a parameter of the server itself, but for those by which assay
reaches, stores and leads it: set.max_connections=500. A value with a comma stands
in single quotes, in which two of them are one. A server that refuses it is not
started, and its own words say why.

With pooler=pgbouncer PostgreSQL's clients come through PgBouncer, with
pool_mode=transaction or session, and pool_size=20 for its connections to the
primary. Where a program leads PostgreSQL
(patroni, pg-auto-failover, repmgr), proxy=haproxy has clients come through HAProxy,
which asks the nodes who is the primary, and a pooler stands before that.

With version=12.2 of postgres or etcd assay gets that server by mvn or go, once.

The products' own options:
` + optionLines() + `

Server programs are looked for in --servers, then where the system has them,
then in the folder that the environment variable ASSAY_SERVERS names, which is
assay/servers in the user's cache folder if it is not set; make servers fills it.`,
		Example: `  assay cluster up mongodb:3,memory=400MiB
  assay cluster status
  assay cluster down mongodb:3`,
		Args: cobra.ArbitraryArgs,
		RunE: onlyWithin("what with the cluster? up, status or down", "there is no command cluster", "want up, status or down"),
	}
	cmd.AddCommand(newClusterUp(), newClusterKeep(), newClusterStatus(), newClusterDown(), newClusterRemoveOwn())
	return cmd
}

// specLines lists all clusters that can be started, a line for each product.
func specLines() string {
	var b strings.Builder
	for _, p := range cluster.Products() {
		hang(&b, "  ", strings.Join(cluster.Specs(p), ", "))
	}
	return strings.TrimRight(b.String(), "\n")
}

func optionLines() string {
	var b strings.Builder
	shared := len(cluster.OptionNames(""))
	for _, p := range cluster.Products() {
		if own := cluster.OptionNames(p)[shared:]; len(own) > 0 {
			hang(&b, fmt.Sprintf("  %-17s", p), strings.Join(own, ", "))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func newClusterStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status [SPEC|ID]",
		Short: "Say which clusters there are on this machine",
		Args:  cobra.MaximumNArgs(1), ValidArgsFunction: completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			records, err := chosen(args)
			if err != nil {
				return err
			}
			orphans, err := cluster.Orphans()
			if err != nil {
				return err
			}
			return printStatus(cmd.OutOrStdout(), records, orphans)
		},
	}
}

// oneOf refuses a name that several clusters share.
func oneOf(name string, found []cluster.Record) error {
	if len(found) < 2 {
		return nil
	}
	var ids []string
	for _, r := range found {
		ids = append(ids, r.ID+" ("+r.Spec+")")
	}
	return usageError{fmt.Errorf("%s are %d clusters, %s; name the id of one", name, len(found), strings.Join(ids, ", "))}
}

func chosen(args []string) ([]cluster.Record, error) {
	records, err := cluster.Records()
	if err != nil || len(args) == 0 {
		return records, err
	}
	var found []cluster.Record
	for _, r := range records {
		if r.ID == args[0] || r.Spec == args[0] || strings.HasPrefix(r.Spec, args[0]+",") {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, usageError{fmt.Errorf("there is no cluster %s; assay cluster status lists them", args[0])}
	}
	return found, nil
}

func printStatus(out io.Writer, records []cluster.Record, orphans []string) error {
	if len(records)+len(orphans) == 0 {
		_, err := fmt.Fprintln(out, "no clusters of assay's on this machine")
		return err
	}
	for _, r := range records {
		fmt.Fprintf(out, "%s  %s, %s\n", r.ID, r.Spec, stateOf(r))
		if err := printNodes(out, r); err != nil {
			return err
		}
	}
	for _, id := range orphans {
		fmt.Fprintf(out, "%s  namespaces or limits without a record here; assay cluster down --all takes them away if nobody lives there\n", id)
	}
	return nil
}

func stateOf(r cluster.Record) string {
	age := time.Since(r.Started).Round(time.Second)
	switch {
	case !r.Owner.Alive():
		return fmt.Sprintf("remains of an assay that was killed; assay cluster down %s takes them away", r.ID)
	case r.Address == "":
		return fmt.Sprintf("starting since %v", age)
	case r.Kept:
		return fmt.Sprintf("up since %v", age)
	default:
		return fmt.Sprintf("of a run that has gone on for %v", age)
	}
}

func printNodes(out io.Writer, r cluster.Record) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, n := range r.Nodes {
		state := "down"
		if n.Process.Alive() {
			state = fmt.Sprintf("process %d", n.Process.PID)
		}
		fmt.Fprintf(w, "  %s\t%s:%d\t%s\n", n.Name, n.Address, n.Port, state)
	}
	if r.Address != "" {
		fmt.Fprintf(w, "  address\t%s\n", store.Redact(r.Address))
	}
	return w.Flush()
}

func newClusterDown() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down SPEC|ID | --all",
		Short: "End a kept cluster, or take away what a killed assay left",
		Long: `End a kept cluster, or take away what a killed assay left: processes,
namespaces, limits and folders of assay's own marks, and nothing else. A cluster
that belongs to a run that goes on is left alone. --all takes the folders of
engines of agents too (assay-engine-* among the temporary files) whose process is
gone.`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return usageError{errors.New("which cluster? its spec or id, or --all")}
			}
			records, err := chosen(args)
			if err == nil && !all {
				err = oneOf(args[0], records)
			}
			if err != nil {
				return err
			}
			failed := down(cmd.Context(), cmd.OutOrStdout(), records)
			if all {
				engines, err := downEngines(cmd.OutOrStdout())
				failed = errors.Join(failed, err, downOrphans(cmd.OutOrStdout(), len(records)+engines))
			}
			return failed
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every cluster but those of runs that go on, and all remains")
	return cmd
}

func down(ctx context.Context, out io.Writer, records []cluster.Record) error {
	var failed []error
	for _, r := range records {
		switch {
		case r.Owner.Alive() && !r.Kept:
			fmt.Fprintf(out, "%s  %s belongs to a run that goes on (process %d) and is left alone\n", r.ID, r.Spec, r.Owner.PID)
			continue
		case r.Owner.Alive():
			if err := endKeeper(ctx, r); err != nil {
				failed = append(failed, err)
				continue
			}
		default:
			if err := r.Remove(ctx); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		fmt.Fprintf(out, "%s  %s is gone\n", r.ID, r.Spec)
	}
	return errors.Join(failed...)
}

// downEngines removes what killed engines of agents left, and counts it.
func downEngines(out io.Writer) (int, error) {
	removed, err := agents.RemoveRemains()
	for _, folder := range removed {
		fmt.Fprintf(out, "%s  of a killed coordinator of agents is gone\n", folder)
	}
	return len(removed), err
}

// downOrphans removes namespaces and limits without a cluster. others counts what else there was.
func downOrphans(out io.Writer, others int) error {
	orphans, err := cluster.Orphans()
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range orphans {
		err := cluster.RemoveOrphan(id)
		if used := (*cluster.InUseError)(nil); errors.As(err, &used) {
			fmt.Fprintf(out, "%s  %v\n", id, err)
			continue
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintf(out, "%s  namespaces and limits are gone\n", id)
	}
	if len(orphans)+others == 0 {
		fmt.Fprintln(out, "there was nothing to take away")
	}
	return errors.Join(failed...)
}

const endBound = 2 * time.Minute

// endKeeper asks the process that keeps a cluster to stop it, and waits.
func endKeeper(ctx context.Context, r cluster.Record) error {
	process, err := os.FindProcess(r.Owner.PID)
	if err != nil {
		return err
	}
	if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end cluster %s: %w", r.ID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, endBound)
	defer cancel()
	for r.Owner.Alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("end cluster %s: process %d has not ended: %w", r.ID, r.Owner.PID, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	if _, err := os.Stat(r.Folder); err == nil { // it did not come to the end
		return r.Remove(ctx)
	}
	return nil
}

// addressFile holds the address with its password, readable by its owner only.
func addressFile(folder string) string { return filepath.Join(folder, "address") }
