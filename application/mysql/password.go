package mysql

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire"
	"assay/driver/mysql"
)

// underKey is a password, as an encrypted application has sent it, for a server that is not encrypted:
// such a server takes it under its own key (MySQL 8.4 manual, "Caching SHA-2 Pluggable Authentication").
func (s *Server) underKey(ctx context.Context, password, scramble []byte) ([]byte, error) {
	key, err := s.publicKey(ctx)
	if err != nil {
		return nil, &wire.LoginError{Err: fmt.Errorf("it takes the password under its key alone, which it does not give; add ssl-mode=REQUIRED to its address: %w", err)}
	}
	hidden := make([]byte, len(password))
	for i := range hidden {
		hidden[i] = password[i] ^ scramble[i%len(scramble)]
	}
	return rsa.EncryptOAEP(sha1.New(), rand.Reader, key, hidden, nil)
}

// keyStatus is where the server says its key.
const keyStatus = "Caching_sha2_password_rsa_public_key"

// publicKey asks the server, over a connection of assay's own.
func (s *Server) publicKey(ctx context.Context) (*rsa.PublicKey, error) {
	c := library.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = mysql.NetworkOf(s.Hosts[0]), s.Hosts[0], s.User, s.Password
	connector, err := library.NewConnector(c)
	if err != nil {
		return nil, errors.New("the library refuses the address") // its error may quote the password
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var name, text string
	if err := db.QueryRowContext(ctx, "SHOW STATUS LIKE '"+keyStatus+"'").Scan(&name, &text); err != nil {
		return nil, err
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("%s is no key", keyStatus)
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if own, is := key.(*rsa.PublicKey); is {
		return own, nil
	}
	return nil, errors.Join(err, fmt.Errorf("%s is no key of RSA", keyStatus))
}
