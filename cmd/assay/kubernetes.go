package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"assay/cluster/kubernetes"
	"assay/internal/quantity"
)

func newKubernetes() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubernetes",
		Short: "Look at a Kubernetes cluster, or remove what a run left there",
		Long: `Look at a Kubernetes cluster before a run, or take away what one left there.

The cluster is the one that kubectl uses: the files of KUBECONFIG, or
~/.kube/config, with its current context; within a pod, that pod's cluster.
A run with --db ADDRESS --kubernetes NAMESPACE/SELECTOR takes the pods that the
selector fits for the database's nodes.`,
		Args: cobra.ArbitraryArgs,
		RunE: onlyWithin("what with Kubernetes? check or clean", "there is no command kubernetes", "want check or clean"),
	}
	cmd.AddCommand(newKubernetesCheck(), newKubernetesClean())
	return cmd
}

// errMissingRights is a failed check that was shown.
var errMissingRights = resultError{exitCannotRun}

func newKubernetesCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [NAMESPACE | NAMESPACE/SELECTOR]",
		Short: "Say what a run with --kubernetes may do there, and what is missing",
		Long: `Say what a run with --kubernetes may do there, and what is missing: the rights of
this user in the namespace (that of the context without one), Chaos Mesh, and
the pods that a selector fits. It changes nothing. The exit code is 0 if all
rights are granted, with or without Chaos Mesh, and 5 if not.`,
		Example: `  assay kubernetes check
  assay kubernetes check db/app=mongodb`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var target kubernetes.Target
			if len(args) == 1 {
				target.Namespace = args[0]
				if strings.Contains(args[0], "/") {
					var err error
					if target, err = kubernetes.ParseTarget(args[0]); err != nil {
						return err
					}
				}
			}
			client, err := kubernetes.Connect()
			if err != nil {
				return err
			}
			access, err := client.Check(cmd.Context(), target)
			if err != nil {
				return err
			}
			if err := printAccess(cmd.OutOrStdout(), access); err != nil {
				return err
			}
			if len(access.Missing()) > 0 {
				return errMissingRights
			}
			return nil
		},
	}
}

func printAccess(out io.Writer, a kubernetes.Access) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "cluster\t%s, Kubernetes %s\n", a.Server, a.Version)
	fmt.Fprintf(w, "namespace\t%s\n", a.Namespace)
	fmt.Fprintf(w, "Chaos Mesh\t%s\n", a.ChaosMesh())
	missing := a.Missing()
	fmt.Fprintf(w, "rights\t%d of %d\n", len(a.Rights)-len(missing), len(a.Rights))
	for _, r := range missing {
		fmt.Fprintf(w, "missing\t%s, for %s\n", r, r.For)
	}
	if len(missing) > 0 {
		fmt.Fprintln(w, "\tdeploy/role.yaml grants them")
	}
	for _, p := range a.Pods {
		state := "not ready"
		if p.Ready {
			state = "ready"
		}
		fmt.Fprintf(w, "pod\t%s, %s, %s, %s\n", p.Name, state,
			limit(p.CPU > 0, fmt.Sprintf("%g processors", p.CPU), "processors"), limit(p.Memory > 0, quantity.FormatBinary(p.Memory)+" of memory", "memory"))
	}
	return w.Flush()
}

func limit(limited bool, words, of string) string {
	if !limited {
		return "no limit of " + of
	}
	return words
}

const cleanBound = time.Minute

func newKubernetesClean() *cobra.Command {
	var all, dry bool
	cmd := &cobra.Command{
		Use:   "clean [NAMESPACE]",
		Short: "Take away what a killed assay left in a Kubernetes cluster",
		Long: `Take away what a killed assay left in a Kubernetes cluster: all objects with the
label ` + kubernetes.LabelRun + `, of whatever kind, in a namespace or in all. What belongs to an
assay that runs on this machine is left alone, and so is what belongs to one on
another machine, unless --all says that it is gone too.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			client, err := kubernetes.Connect()
			if err != nil {
				return err
			}
			namespace := ""
			if len(args) == 1 {
				namespace = args[0]
			}
			left, hidden, err := client.Leftovers(cmd.Context(), namespace)
			if err != nil && len(left) == 0 {
				return err
			}
			out := cmd.OutOrStdout()
			if hidden > 0 {
				fmt.Fprintf(out, "%d kinds of objects cannot be listed by this user, and are passed over\n", hidden)
			}
			if len(left) == 0 {
				fmt.Fprintln(out, "there was nothing to take away")
			}
			return errors.Join(err, clean(cmd.Context(), out, left, all, dry))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also what belongs to an assay on another machine")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what there is")
	return cmd
}

func clean(ctx context.Context, out io.Writer, left []kubernetes.Leftover, all, dry bool) error {
	var failed []error
	for _, l := range left {
		if dry || l.Alive || l.Away && !all {
			fmt.Fprintf(out, "%s of run %s is left alone (%s)\n", l, l.Run, l.Owner)
			continue
		}
		forced, err := l.Remove(ctx, cleanBound)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		fmt.Fprintf(out, "%s of run %s is gone\n", l, l.Run)
		if forced != "" {
			fmt.Fprintf(out, "  %s: delete its pods to be sure that the fault is gone\n", forced)
		}
	}
	return errors.Join(failed...)
}
