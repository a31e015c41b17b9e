package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Follow makes a new server a standby on a copy of a primary, which knows it by this name. It
// returns when the standby takes reads.
func (p *Server) Follow(ctx context.Context, primary *Server, name string) error {
	if err := p.baseBackup(ctx, primary, p.data()); err != nil {
		return fmt.Errorf("copy %s for %s: %w", primary.Name, p.Name, err)
	}
	err := errors.Join(p.writePasswordFile(), p.writeData("standby.signal", ""),
		p.writeData("postgresql.auto.conf", "primary_conninfo = "+Quote(p.connectionTo(primary, name))+"\n"))
	if err != nil {
		return err
	}
	return p.start(ctx, stateReady)
}

func (p *Server) passwordFile() string { return filepath.Join(p.Dir, "passwords") }

// writePasswordFile is for the log receiver (manual, libpq, "The Password File").
func (p *Server) writePasswordFile() error {
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`)
	line := "*:*:*:" + escape.Replace(p.options.User) + ":" + escape.Replace(p.options.Password) + "\n"
	return p.User.WriteFile(p.passwordFile(), line)
}

func (p *Server) connectionTo(primary *Server, name string) string {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var b strings.Builder
	for _, item := range [][2]string{
		{"host", primary.Host}, {"port", strconv.Itoa(primary.Port)}, {"user", primary.options.User},
		{"passfile", p.passwordFile()}, {"application_name", name},
		{"sslmode", "disable"}, {"connect_timeout", "2"},
	} {
		fmt.Fprintf(&b, "%s='%s' ", item[0], quote.Replace(item[1]))
	}
	return strings.TrimSpace(b.String())
}

func (p *Server) writeData(name, text string) error {
	return p.User.WriteFile(filepath.Join(p.data(), name), text)
}
