package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"assay/report/view"
)

func newView() *cobra.Command {
	listen := "127.0.0.1:8090"
	cmd := &cobra.Command{
		Use:   "view [DIR]",
		Short: "Show all runs below a folder as web pages",
		Long: `Show all runs and series below a folder (default runs) as web pages: a list with
filters, each run's report, several runs side by side, and a run that is being made
as it goes. Folders that hold no run, or one that cannot be read, are listed with the
reason.

The pages are for this machine alone: --listen takes loopback addresses only, and
port 0 is any free one. Nothing is changed. It ends on the first interrupt.`,
		Example: `  assay view
  assay view runs --listen 127.0.0.1:0`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "runs"
			if len(args) > 0 {
				folder = args[0]
			}
			if !onLoopback(listen) {
				return usageError{fmt.Errorf("--listen %s is not this machine's loopback: the pages have no users; name 127.0.0.1:PORT, and reach it from elsewhere through ssh -L", listen)}
			}
			server, err := view.New(folder)
			if err != nil {
				return usageError{err}
			}
			listener, err := listenOn(listen)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "assay: showing the runs of %s on http://%s\n", folder, listener.Addr())
			return server.Serve(cmd.Context(), listener)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "where to listen, as HOST:PORT on loopback; port 0 is any free one")
	return cmd
}

// onLoopback reports whether HOST:PORT is on this machine's loopback.
func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	address := net.ParseIP(host)
	return err == nil && (host == "localhost" || address != nil && address.IsLoopback())
}

// listenOn opens a port; the error says what to do if it is taken.
func listenOn(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; another program may be there already, name another place with --listen HOST:PORT", address, err)
	}
	return listener, nil
}
