package mongodb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
	topologies "go.mongodb.org/mongo-driver/v2/x/mongo/driver/description"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"assay/driver/encryption"
	"assay/store"
)

// plainError is an error of the library in words for users, which the library's
// own are not: they show its whole view of all servers.
type plainError struct {
	text  string
	cause error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.cause }

// plainly puts the failure to find a server in plain words. Other errors are
// returned as they are, as are those that are plain already.
func plainly(err error) error {
	if errors.As(err, new(*plainError)) || !errors.As(err, new(topology.ServerSelectionError)) {
		return err
	}
	return inPlainWords(err)
}

// inPlainWords says why no server answers.
func inPlainWords(err error) error {
	var text string
	if selection := (topology.ServerSelectionError{}); errors.As(err, &selection) {
		text = noServer(selection)
	} else {
		text = reason(err)
	}
	return &plainError{text: text, cause: err}
}

// noServer says why none of the servers could be used.
func noServer(e topology.ServerSelectionError) string {
	var reasons []string
	answering := 0
	for _, server := range e.Desc.Servers {
		if server.LastError == nil {
			if server.Kind != 0 {
				answering++
			}
			continue
		}
		if text := reason(server.LastError); !slices.Contains(reasons, text) {
			reasons = append(reasons, text)
		}
	}
	slices.Sort(reasons)
	why := strings.Join(reasons, "; ")
	switch {
	case len(e.Desc.Servers) == 0:
		return "none of its servers belongs to the replica set that the address names"
	case e.Desc.Kind == topologies.TopologyKindReplicaSetNoPrimary && answering > 0:
		text := fmt.Sprintf("the replica set has no primary at the moment, and %d of its %d members answer", answering, len(e.Desc.Servers))
		if why != "" {
			text += " (of the others: " + why + ")"
		}
		return text
	case why != "":
		return why
	case answering > 0:
		return "none of its servers can do what the address asks for"
	default:
		return "no answer in time"
	}
}

// heartbeats keeps why the last of the library's heartbeats failed that says more
// than that there was no answer. The library cancels a heartbeat of its own accord
// when the one before has failed, and then shows the cancellation as the server's
// last error. It is safe for concurrent use.
type heartbeats struct{ failure atomic.Pointer[error] }

// watch has the library tell of its heartbeats, and calls refused for each failure
// that no further attempt mends: the two sides do not agree on their encryption. A
// failed heartbeat does not name its server.
func (h *heartbeats) watch(o *options.ClientOptions, refused func()) {
	o.SetServerMonitor(&event.ServerMonitor{ServerHeartbeatFailed: func(e *event.ServerHeartbeatFailedEvent) {
		if e.Failure == nil || saysLittle(e.Failure) {
			return
		}
		h.failure.Store(&e.Failure)
		if _, ok := encryption.Reason(e.Failure, advice()); ok {
			refused()
		}
	}})
}

// saysLittle reports whether an error is the end of somebody's patience, after
// which an earlier one may say more.
func saysLittle(err error) bool {
	return errors.Is(err, context.Canceled) || timedOut(err)
}

func timedOut(err error) bool {
	return mongo.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// explain returns err with what was kept in place of errors that say little:
// nothing if there is nothing, which is then a server that did not answer in time.
func (h *heartbeats) explain(err error) error {
	selection := topology.ServerSelectionError{}
	if !errors.As(err, &selection) {
		return err
	}
	var kept error
	if failure := h.failure.Load(); failure != nil {
		kept = *failure
	}
	selection.Desc.Servers = slices.Clone(selection.Desc.Servers)
	for i := range selection.Desc.Servers {
		server := &selection.Desc.Servers[i]
		if unknown := server.Kind == 0 && server.LastError == nil; unknown || saysLittle(server.LastError) {
			server.LastError = kept
		}
	}
	return selection
}

// reason is why one server cannot be used.
func reason(err error) string {
	var dns *net.DNSError
	var command mongo.CommandError
	if text, ok := encryption.Reason(err, advice()); ok {
		return text
	}
	switch {
	case errors.As(err, &dns):
		return "the name of the host cannot be resolved"
	case refusedConnection(err):
		return "nobody listens there (connection refused)"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to the host"
	case errors.As(err, &command) && command.Code != 0:
		return "the server says: " + command.Message
	case timedOut(err):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "the attempt was cancelled"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "it closes the connection, as a server does that takes only encrypted connections (tls=true&tlsCAFile=FILE), or clients with a certificate (tlsCertificateKeyFile=FILE), or that is no MongoDB"
	default:
		return "it does not answer as a MongoDB server does: " + store.RootCause(err).Error()
	}
}

// onlyRefused reports whether no server was found because nobody listens where
// they were looked for.
func onlyRefused(err error) bool {
	selection := topology.ServerSelectionError{}
	if !errors.As(err, &selection) || len(selection.Desc.Servers) == 0 {
		return false
	}
	return !slices.ContainsFunc(selection.Desc.Servers, func(server topologies.Server) bool { return !refusedConnection(server.LastError) })
}

// refusedConnection reports whether a machine answered that nobody listens
// there.
func refusedConnection(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// advice names the parameters of MongoDB's connection string, as far as its Go
// driver has them.
func advice() encryption.Advice {
	return encryption.Advice{CA: "tlsCAFile", Certificate: "tlsCertificateKeyFile=FILE", AnyHost: "tlsInsecure=true", Off: "tls=false"}
}

// checkFiles says which of the files that an address names cannot be used, in a
// *store.OptionError; nil if that is not what is wrong with it. It is asked
// after the library has refused the address, whose words do not name the file.
func checkFiles(c *connstring.ConnString) error {
	both := encryption.File{Parameter: "tlsCertificateKeyFile", Path: c.SSLClientCertificateKeyFile}
	options := encryption.Options{CA: encryption.File{Parameter: "tlsCAFile", Path: c.SSLCaFile}, Certificate: both, Key: both,
		Passphrase: encryption.Passphrase{Parameter: "tlsCertificateKeyFilePassword"}}
	if c.SSLClientCertificateKeyPasswordSet {
		options.Passphrase.Value = c.SSLClientCertificateKeyPassword()
	}
	return options.Check()
}
