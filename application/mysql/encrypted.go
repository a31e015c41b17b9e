package mysql

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
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
	// login is what an application has sent last that is not encrypted; nil of one that is.
	login atomic.Pointer[login]
	// offered is true if the server knows encryption.
	offered atomic.Bool

	greeted  bool
	scramble []byte
	// read is what the application has not read yet, and written what is no whole packet yet.
	read, written []byte
}

// login is who logs in, and the password as it was sent, mixed with the scramble.
type login struct {
	user  string
	mixed []byte
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
// The application would encrypt it for one that is not; assay gives it in its place.
const (
	moreAuthentication = 1
	fastAuthentication = 3
	fullAuthentication = 4
)

// next reads a packet of the login.
func (e *encrypted) next() error {
	if !e.greeted {
		p, err := readPacket(e.Conn)
		if err != nil {
			return err
		}
		at := 0
		if at, e.scramble = greeting(p[headerSize:]); at > 0 {
			e.offered.Store(binary.LittleEndian.Uint16(p[headerSize+at:])&capTLS != 0)
		}
		e.read, e.greeted = p, true
		return nil
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
	if l := e.login.Load(); l != nil && bytes.Equal(content, []byte{moreAuthentication, fullAuthentication}) {
		return e.whole(p[3], l)
	}
	if len(content) > 0 && content[0] == eofPacket {
		e.scramble = anotherMethod(content)
	}
	p[3] -= byte(e.shift.Load())
	e.over.Store(len(content) == 0 || content[0] == 0 || content[0] == errorPacket)
	e.read = p
	return nil
}

// whole gives the server the password, which it asks for where it does not know the user yet or the
// password is wrong. An application that has mixed another one has the server refuse a wrong one.
func (e *encrypted) whole(sequence byte, l *login) error {
	if l.user != e.user {
		return &wire.LoginError{Err: fmt.Errorf("it asks for the password of %q, and assay knows the one of %q: have the application use the user of --db, or encrypt its connection", l.user, e.user)}
	}
	if !bytes.Equal(l.mixed, mixed(e.password, e.scramble)) {
		e.shift.Add(2) // of which the application sees nothing
		if _, err := e.secure.Write(packet(sequence+1, append([]byte(rand.Text()), 0))); err != nil {
			return err
		}
		return e.next()
	}
	_, err := e.secure.Write(packet(sequence+1, append([]byte(e.password), 0)))
	e.read = packet(sequence-byte(e.shift.Load()), []byte{moreAuthentication, fastAuthentication})
	e.shift.Add(1)
	return err
}

// mixed is a password as clients of caching_sha2_password send it (MySQL 8.4 source documentation,
// "Caching_sha2_password information").
func mixed(password string, scramble []byte) []byte {
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	with := sha256.Sum256(append(twice[:], scramble...))
	for i := range once {
		once[i] ^= with[i]
	}
	return once[:]
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
		} else if l := e.login.Load(); l != nil {
			e.login.Store(&login{l.user, bytes.Clone(p[headerSize:])})
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
func (e *encrypted) upgrade(sent []byte) error {
	switch {
	case !e.offered.Load():
		return errors.New("it offers no encryption, and its address asks for some (ssl-mode)")
	case len(sent) < loginStart:
		return errors.New("the application logs in by a protocol before 4.1, which knows no encryption")
	}
	can := binary.LittleEndian.Uint32(sent[headerSize:])
	binary.LittleEndian.PutUint32(sent[headerSize:], can|capTLS)
	if _, err := e.Conn.Write(packet(sent[3], sent[headerSize:loginStart])); err != nil {
		return err
	}
	if user, rest, _ := bytes.Cut(sent[loginStart:], []byte{0}); can&capTLS == 0 && len(rest) > 0 {
		e.login.Store(&login{string(user), bytes.Clone(rest[1:min(len(rest), 1+int(rest[0]))])})
	}
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
