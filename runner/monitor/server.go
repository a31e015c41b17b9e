package monitor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// AddressError is an invalid address to listen at.
type AddressError struct {
	Address string
	Err     error
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("--metrics %q is no place to listen at (%v); write HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses of this machine", e.Address, e.Err)
}

func (e *AddressError) Unwrap() error { return e.Err }

// Server answers GET /metrics until it is closed.
type Server struct {
	listener net.Listener
	http     *http.Server
	ended    chan struct{}
}

// Serve listens at HOST:PORT. It returns an *AddressError for an invalid address, and another error
// if it cannot listen there.
func Serve(address string, m *Metrics) (*Server, error) {
	_, err := net.ResolveTCPAddr("tcp", address)
	if err == nil && address == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, &AddressError{address, err}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w; another program may be there already, name another place with --metrics HOST:PORT", err)
	}
	s := &Server{listener: listener, ended: make(chan struct{}), http: &http.Server{
		Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
	}}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(listener) // always an error, here that Close was called
	}()
	return s, nil
}

// Address is where it listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// closeGrace is how long answers under way may take at the end.
const closeGrace = 2 * time.Second

// Close gives answers under way a short time, and frees the address.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.ended
	return err
}

// Handler answers GET /metrics, and GET / with a link to it.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintln(w, "assay: the figures of the run are at /metrics") // the client may be gone
	})
	return mux
}
