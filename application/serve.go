package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"assay/application/wire"
)

// Served is a proxy that stays: tests set its faults by HTTP.
type Served struct {
	proxy   *wire.Proxy
	ledger  *ledger
	control net.Listener
	began   time.Time
	// possible is the product's.
	possible func(wire.Action, *wire.Place) bool
}

// can is a *wire.PlaceError of a fault that the product does not do.
func (s *Served) can(f *wire.Fault) error {
	if f == nil {
		return nil
	}
	at := &wire.Place{Name: f.Place, Kind: kinds()[f.Place], Within: true} // as far as it is known
	if !s.possible(f.Action, at) {
		return &wire.PlaceError{Action: f.Action, Place: f.Place}
	}
	return nil
}

// kinds are what can be asked for as a place.
func kinds() map[string]wire.Kind {
	return map[string]wire.Kind{"begin": wire.Begin, "commit": wire.Commit, "statement": wire.Other, wire.PlaceConnect: wire.Other}
}

// AddressError means that assay cannot listen, or may not: whoever reaches the control address can
// have an application fail.
type AddressError struct {
	Address string
	Err     error
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("cannot listen on %s: %v", e.Address, e.Err)
}

func (e *AddressError) Unwrap() error { return e.Err }

// Scheduled reads an event that is done again and again: answer-lost@commit:100 at each hundredth.
func Scheduled(event string) (*wire.Fault, error) {
	f, err := wire.ParseFault(event)
	if err != nil {
		return nil, err
	}
	return asked{Action: f.Action, At: f.Place, Time: f.Time, Again: true}.fault()
}

// Serve listens at address for applications, and on loopback at control for tests. fault is done from
// the beginning on; nil for none. A file at path gets each transaction as it ends, an object a line; empty
// for none. failed is called once, at the first failure of assay's own, such as a server that cannot be
// reached. Errors may be *AddressError and *wire.PlaceError.
func Serve(product Product, address, control string, fault *wire.Fault, path string, failed func(error)) (*Served, error) {
	host, _, err := net.SplitHostPort(control)
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		err = errors.New("the control address must be on loopback, such as 127.0.0.1:7001")
	}
	if err != nil {
		return nil, &AddressError{control, err}
	}
	s := &Served{began: time.Now(), possible: product.Possible}
	if err := s.can(fault); err != nil {
		return nil, err
	}
	if s.control, err = net.Listen("tcp", control); err != nil {
		return nil, &AddressError{control, err}
	}
	if s.ledger, err = openLedger(path, failed); err != nil {
		return nil, errors.Join(err, s.control.Close())
	}
	if s.proxy, err = wire.ListenFor(address, product, s.ledger); err != nil {
		err = errors.Join(err, s.control.Close(), s.ledger.Close())
		if path != "" { // else the next start finds a folder that is in use
			err = errors.Join(err, os.Remove(path))
		}
		return nil, &AddressError{address, err}
	}
	s.proxy.Arm(fault)
	return s, nil
}

// Address is where applications connect, and Control where tests set faults.
func (s *Served) Address() string { return s.proxy.Address() }
func (s *Served) Control() string { return "http://" + s.control.Addr().String() }

// Run serves until ctx ends, and says what has passed. The error is the first failure of assay's
// own, and what the file has not.
func (s *Served) Run(ctx context.Context) (Untouched, error) {
	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(s.control)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	err = errors.Join(err, s.proxy.Close(), s.ledger.Close())
	return s.passed(), errors.Join(err, s.proxy.Recorder().Problem())
}

func (s *Served) passed() Untouched {
	recorder := s.proxy.Recorder() // which is not asked for under the ledger's lock: the proxy holds its own while transactions end
	problem := recorder.Problem()
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	u := s.ledger.tally.describe(recorder, time.Since(s.began))
	if problem != nil {
		u.Problem = problem.Error()
	}
	return u
}

// asked is a fault as a test asks for it: at the Time-th commit, begin, statement or connection from
// now on that has Containing among its statements; of a commit, among those of its transaction.
type asked struct {
	Action     wire.Action `json:"action"`
	At         string      `json:"at"`
	Containing string      `json:"containing"`
	Time       int         `json:"time"`
	// Again has it be at each Time-th.
	Again bool `json:"again"`
}

// fault reads what a test asks for.
func (a asked) fault() (*wire.Fault, error) {
	kind, known := kinds()[a.At]
	if !known {
		return nil, fmt.Errorf(`"at" is %q; want begin, commit, statement or connect`, a.At)
	}
	f, err := wire.ParseFault(fmt.Sprintf("%s@%s:%d", a.Action, a.At, max(a.Time, 1)))
	if wrong, is := errors.AsType[*wire.PlaceError](err); is {
		return nil, wrong
	}
	if err != nil {
		return nil, fmt.Errorf(`"action" is %q, which assay does not know`, a.Action)
	}
	f.Again = a.Again
	f.Matches = func(of wire.Kind, shapes string) bool {
		first := kind == wire.Other && of == wire.Begin && strings.Contains(shapes, "\n") // a statement that BEGIN is sent with
		return (of == kind || first) && (shapes == wire.PlaceConnect) == (a.At == "connect") && strings.Contains(shapes, a.Containing)
	}
	return f, nil
}

// handler answers tests: PUT and DELETE /fault, GET /fault, /transactions and /ca.pem.
func (s *Served) handler() http.Handler {
	m := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the test has gone
	}
	met := func(f *wire.Fault) map[string]bool {
		if f == nil {
			return map[string]bool{"met": false}
		}
		at, _ := f.Met()
		return map[string]bool{"met": at > 0}
	}
	m.HandleFunc("PUT /fault", func(w http.ResponseWriter, r *http.Request) {
		var a asked
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&a)
		var f *wire.Fault
		if err == nil {
			f, err = a.fault()
		}
		if err == nil {
			err = s.can(f)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.proxy.Arm(f)
		answer(w, met(f))
	})
	m.HandleFunc("GET /fault", func(w http.ResponseWriter, _ *http.Request) { answer(w, met(s.proxy.Armed())) })
	m.HandleFunc("DELETE /fault", func(w http.ResponseWriter, _ *http.Request) {
		f := s.proxy.Armed()
		s.proxy.Arm(nil)
		answer(w, met(f))
	})
	m.HandleFunc("GET /ca.pem", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = w.Write(s.proxy.Authority()) // the test has gone
	})
	m.HandleFunc("GET /transactions", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.passed()) })
	return m
}
