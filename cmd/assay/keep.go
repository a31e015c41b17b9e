package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assay/cluster"
	"assay/internal/subprocess"
)

// keeperReport is one line of JSON from the process that keeps a cluster to its starter.
type keeperReport struct {
	Record  cluster.Record `json:"record"`
	Folder  string         `json:"folder"`
	Seconds float64        `json:"seconds"`
	// Error says why there is no cluster; Code is the exit code for that.
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}

func newClusterUp() *cobra.Command {
	var servers string
	cmd := &cobra.Command{
		Use:   "up SPEC",
		Short: "Start a cluster that stays until assay cluster down",
		Args:  oneArgument("the cluster's spec, such as mongodb:3"), ValidArgsFunction: completeSpecs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := cluster.ParseSpec(args[0]); err != nil {
				return err
			}
			h, err := startKeeper(cmd.Context(), args[0], servers)
			if err != nil {
				return err
			}
			if h.Error != "" {
				return keeperError{text: h.Error, code: h.Code}
			}
			return printUp(cmd.OutOrStdout(), h)
		},
	}
	cmd.Flags().StringVar(&servers, "servers", "", serversUsage)
	return cmd
}

type keeperError struct {
	text string
	code int
}

func (e keeperError) Error() string { return e.text }

// startKeeper starts a process of our program that keeps the cluster after we end, and waits
// until the cluster works. If ctx ends first, that process ends too and leaves nothing.
func startKeeper(ctx context.Context, spec, servers string) (keeperReport, error) {
	self, err := os.Executable()
	if err != nil {
		return keeperReport{}, fmt.Errorf("find assay's own program: %w", err)
	}
	cmd := exec.Command(self, "cluster", "hold", spec, "--servers", servers)
	subprocess.Detach(cmd)
	// It outlives us, so its standard error must not be ours.
	out, err := cmd.StdoutPipe()
	if err != nil {
		return keeperReport{}, err
	}
	if err := cmd.Start(); err != nil {
		return keeperReport{}, fmt.Errorf("start the process that keeps the cluster: %w", err)
	}
	// Our terminal's signals do not reach it.
	unasked := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // fails if it has ended
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if !unasked() {
		_ = cmd.Wait() // it was asked to end, however it did
		return keeperReport{}, fmt.Errorf("start %s: %w; what was started has been taken away again", spec, ctx.Err())
	}
	var h keeperReport
	if err != nil || json.Unmarshal(line, &h) != nil {
		return keeperReport{}, errors.Join(fmt.Errorf("the process that was to keep the cluster ended without a word: %w", err), cmd.Wait())
	}
	if h.Error != "" {
		_ = cmd.Wait() // its exit code says the same
		return h, nil
	}
	return h, cmd.Process.Release()
}

func printUp(out io.Writer, h keeperReport) error {
	fmt.Fprintf(out, "%s is up after %.1f s, id %s\n", h.Record.Spec, h.Seconds, h.Record.ID)
	if h.Record.Network != "" {
		fmt.Fprintf(out, "on loopback: %s\n", h.Record.Network)
	}
	if err := printNodes(out, h.Record); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nuse it:  export ASSAY_DB=\"$(cat %s)\"\nend it:  assay cluster down %s\n", addressFile(h.Folder), h.Record.ID)
	return err
}

// newClusterKeep is the process behind up; it is not for people.
func newClusterKeep() *cobra.Command {
	var servers string
	cmd := &cobra.Command{
		Use: "hold SPEC", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// Not cmd.OutOrStdout(), which hides a closed pipe: a cluster unknown to up has no
			// owner and must end.
			reports := json.NewEncoder(os.Stdout)
			err := keepCluster(cmd, args[0], servers, reports)
			if err != nil {
				_ = reports.Encode(keeperReport{Error: textOf(err), Code: codeOf(err)}) // nobody may be listening
				return resultError{codeOf(err)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&servers, "servers", "", "a folder that holds server programs")
	return cmd
}

func keepCluster(cmd *cobra.Command, text, servers string, reports *json.Encoder) error {
	spec, err := cluster.ParseSpec(text)
	if err != nil {
		return err
	}
	began := time.Now()
	c, err := cluster.Start(cmd.Context(), spec, cluster.Options{Programs: servers, Kept: true})
	if err != nil {
		return err
	}
	err = announce(c, time.Since(began), reports)
	if err == nil {
		<-cmd.Context().Done()
	}
	return errors.Join(err, c.Close())
}

// announce writes the address for the user, and reports that the cluster works.
func announce(c *cluster.Cluster, took time.Duration, reports *json.Encoder) error {
	r, err := c.Record()
	if err != nil {
		return err
	}
	if err := os.WriteFile(addressFile(r.Folder), []byte(r.Address+"\n"), 0o600); err != nil {
		return err
	}
	return reports.Encode(keeperReport{Record: r, Folder: r.Folder, Seconds: took.Seconds()})
}
