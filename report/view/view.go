// Package view shows the runs and series below a folder as web pages: a list, any run's report,
// several side by side, and a running run. It reads files and changes nothing.
//
// It is for the machine's own user: it answers loopback addresses only, serves only files that it
// knows by name, and has no logins.
package view

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

//go:embed assets
var assets embed.FS

// FolderError means that a folder's runs cannot be shown.
type FolderError struct {
	Path string
	Err  error
}

func (e *FolderError) Error() string {
	return fmt.Sprintf("the runs of %s cannot be shown: %v; name a folder that assay run has made, or one of such folders", e.Path, e.Err)
}

func (e *FolderError) Unwrap() error { return e.Err }

// Server shows the runs of one folder.
type Server struct {
	folder string
	// root opens only files below the folder.
	root      *os.Root
	templates *template.Template
	handler   http.Handler

	scanning sync.Mutex
	heads    map[string]knownHead
	// following bounds the connections that follow runs.
	following chan struct{}
}

// writeTimeout is for a page, eventTimeout for an event.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = time.Minute
	eventTimeout  = 15 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 16 << 10
	maxFollowing  = 32
)

// New returns a server of a folder's runs. It returns a *FolderError.
func New(folder string) (*Server, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, &FolderError{folder, errors.Unwrap(err)}
	}
	s := &Server{folder: folder, root: root, heads: map[string]knownHead{}, following: make(chan struct{}, maxFollowing)}
	if s.templates, err = report.Templates(); err == nil {
		_, err = s.templates.Funcs(functions()).ParseFS(assets, "assets/*.html")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	s.handler = guarded(s.router())
	return s, nil
}

func functions() template.FuncMap {
	return template.FuncMap{
		"choice": func(all []string, chosen string) any {
			return struct {
				All    []string
				Chosen string
			}{all, chosen}
		},
		"name": entry.Name, "page": entry.Page, "link": entry.Link, "compared": entry.Compared, "class": entry.Class, "sign": entry.Mark,
		"count": check.Count[int64], "figure": quantity.Figure, "ms": milliseconds, "seconds": quantity.Seconds,
	}
}

func milliseconds(ms float64) string {
	if ms <= 0 {
		return quantity.None
	}
	return quantity.Milliseconds(ms)
}

func (s *Server) router() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /compare", s.compare)
	mux.HandleFunc("GET /series/{path...}", s.series)
	mux.HandleFunc("GET /follow/{path...}", s.follow)
	mux.HandleFunc("GET /events/{path...}", s.events)
	mux.HandleFunc("GET /files/{path...}", s.file)
	mux.HandleFunc("GET /view.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		own, _ := assets.ReadFile("assets/view.css") // embedded
		_, _ = io.WriteString(w, report.Style()+"\n"+string(own))
	})
	mux.HandleFunc("GET /view.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, assets, "assets/view.js") })
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return mux
}

// policy lets pages use only the style and the script of this server.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guarded refuses requests that name a host other than this machine's loopback. A foreign page
// could point its own name here (DNS rebinding) and then share the origin.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if !isLoopback(r.Host) {
			http.Error(w, "This page is for this machine alone: open it by its loopback address, such as http://127.0.0.1.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a host, with or without a port, is this machine under an address or
// name that cannot be given to another.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers until ctx ends, which is no error, and closes the listener and the server.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog: log.New(io.Discard, "", 0), // it tells of connections that browsers cut
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), headerTimeout)
		defer cancel()
		if err = server.Shutdown(grace); err != nil {
			err = server.Close() // a browser that reads slowly is no reason to stay
		}
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, s.root.Close())
}
