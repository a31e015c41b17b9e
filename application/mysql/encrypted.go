package mysql

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"assay/application/wire"
)

// encrypted is a connection to a server that is encrypted once the application, which knows
// nothing of that, has said what it is able to (MySQL 8.4 source documentation, "Connection Phase").
// assay asks by a packet of its own, so the numbers of the login's packets differ on both sides.
type encrypted struct {
	net.Conn       // as it was dialed
	config         *tls.Config
	user, password string

	secure *tls.Conn
	// upgraded is closed when secure is there, or the connection is closed.
	upgraded chan struct{}
	once     sync.Once
	// shift is by how much the numbers differ, and over is true behind the login.
	shift atomic.Uint32
	over  atomic.Bool
	// own is true if the login is of the user whose password is known, by an application that is not
	// encrypted.
	own atomic.Bool
	// offered is true if the server knows encryption.
	offered atomic.Bool

	greeted bool
	// read is what the application has not read yet, and written what is no whole packet yet.
	read, written []byte
}

func encrypt(conn net.Conn, s *Server, config *tls.Config) net.Conn {
	return &encrypted{Conn: conn, config: config, user: s.User, password: s.Password, upgraded: make(chan struct{})}
}

// Close implements net.Conn.
func (e *encrypted) Close() error {
	e.once.Do(func() { close(e.upgraded) })
	return e.Conn.Close()
}

// Read implements net.Conn.
func (e *encrypted) Read(b []byte) (int, error) {
	if len(e.read) == 0 && e.over.Load() {
		return e.secure.Read(b)
	}
	for len(e.read) == 0 {
		if err := e.next(); err != nil {
			return 0, err
		}
	}
	n := copy(b, e.read)
	e.read = e.read[n:]
	return n, nil
}

// moreAuthentication, fastAuthentication and fullAuthentication are how the server asks for the password, which over an
// encrypted connection it wants as it is (MySQL 8.4 manual, "Caching SHA-2 Pluggable Authentication").
// The application would encrypt it for one that is not; it is told that it need not.
const (
	moreAuthentication = 1
	fastAuthentication = 3
	fullAuthentication = 4
)

// next reads a packet of the login.
func (e *encrypted) next() error {
	if !e.greeted {
		p, err := readPacket(e.Conn)
		if end := bytes.IndexByte(p[min(headerSize+1, len(p)):], 0); err == nil && end >= 0 && len(p) >= headerSize+end+17 {
			e.offered.Store(binary.LittleEndian.Uint16(p[headerSize+end+15:])&capTLS != 0)
		}
		e.read, e.greeted = p, true
		return err
	}
	<-e.upgraded
	if e.secure == nil {
		return net.ErrClosed
	}
	p, err := readPacket(e.secure)
	if err != nil {
		return err
	}
	content := p[headerSize:]
	if bytes.Equal(content, []byte{moreAuthentication, fullAuthentication}) && e.own.Load() {
		_, err := e.secure.Write(packet(p[3]+1, append([]byte(e.password), 0)))
		e.read = packet(p[3]-byte(e.shift.Load()), []byte{moreAuthentication, fastAuthentication})
		e.shift.Add(1)
		return err
	}
	p[3] -= byte(e.shift.Load())
	e.over.Store(len(content) == 0 || content[0] == 0 || content[0] == errorPacket)
	e.read = p
	return nil
}

func readPacket(from io.Reader) ([]byte, error) {
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	whole := append(head, make([]byte, size(head)-headerSize)...)
	_, err := io.ReadFull(from, whole[headerSize:])
	return whole, err
}

// Write implements net.Conn.
func (e *encrypted) Write(b []byte) (int, error) {
	if e.over.Load() {
		return e.secure.Write(b)
	}
	e.written = append(e.written, b...)
	for len(e.written) >= headerSize && len(e.written) >= size(e.written) {
		p := e.written[:size(e.written)]
		e.written = e.written[len(p):]
		if e.secure == nil {
			if err := e.upgrade(p); err != nil {
				return 0, &wire.LoginError{Err: err}
			}
		}
		p[3] += byte(e.shift.Load())
		if _, err := e.secure.Write(p); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// upgradeTime bounds how long a server may take to become encrypted.
const upgradeTime = 10 * time.Second

// loginStart is where a login's user begins.
const loginStart = headerSize + loginHead

// upgrade asks for encryption in the words of the application's login.
func (e *encrypted) upgrade(login []byte) error {
	switch {
	case !e.offered.Load():
		return errors.New("it offers no encryption")
	case len(login) < loginStart:
		return errors.New("the application logs in by a protocol before 4.1, which knows no encryption")
	}
	can := binary.LittleEndian.Uint32(login[headerSize:])
	binary.LittleEndian.PutUint32(login[headerSize:], can|capTLS)
	if _, err := e.Conn.Write(packet(login[3], login[headerSize:loginStart])); err != nil {
		return err
	}
	user, _, _ := bytes.Cut(login[loginStart:], []byte{0})
	e.own.Store(string(user) == e.user && can&capTLS == 0)
	_ = e.SetDeadline(time.Now().Add(upgradeTime))
	secure := tls.Client(e.Conn, e.config)
	if err := secure.Handshake(); err != nil {
		return err
	}
	_ = e.SetDeadline(time.Time{})
	e.shift.Store(1)
	e.secure = secure
	e.once.Do(func() { close(e.upgraded) })
	return nil
}
