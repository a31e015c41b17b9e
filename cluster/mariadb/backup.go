package mariadb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
)

func backupProgram() server.Program {
	return server.Program{Name: "mariadb-backup", Folders: []string{"/usr/bin", "/usr/local/mysql/bin", "/usr/local/mariadb*/bin",
		"/opt/mariadb*/bin", "/opt/homebrew/opt/mariadb*/bin", "/usr/local/opt/mariadb*/bin"},
		Get: "install mariadb-backup (apt-get install mariadb-backup, or scripts/install-servers.sh mariadb)"}
}

// CheckBackup allows only an empty way (mariadb-backup), and without a binary log no moment.
func (m *Cluster) CheckBackup(way string, moment bool) error {
	switch {
	case way != "":
		return fmt.Errorf("MariaDB is not backed up by %s; leave it out for mariadb-backup", way)
	case moment:
		return errors.New("the servers have no binary log from which the state of a moment could be restored; restore the backup's own state")
	}
	_, err := backupProgram().Find(m.options.Programs)
	return err
}

// BackUp copies node i with mariadb-backup while it works. The password goes through a temporary
// file, since the process list shows arguments.
func (m *Cluster) BackUp(ctx context.Context, i int, _, into string) (by string, err error) {
	program, err := backupProgram().Find(m.options.Programs)
	if err != nil {
		return "", err
	}
	if _, err := server.PrivateDir(into, m.user); err != nil {
		return "", err
	}
	node, secret := m.nodes.At(i), into+".cnf"
	defer func() { err = errors.Join(err, os.Remove(secret)) }()
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(m.login.Password) + `"`
	if err := m.user.WriteFile(secret, "[mariabackup]\nuser="+m.login.User+"\npassword="+quoted+"\n"); err != nil {
		return "", err
	}
	_, err = node.Run(ctx, server.ProcessOptions{Name: "mariadb-backup", Program: program, Env: m.environment(nil), Args: []string{
		"--defaults-file=" + secret, "--backup", "--target-dir=" + into, "--tmpdir=" + node.temporary(),
		"--host=" + node.Host, "--port=" + strconv.Itoa(node.Port)}})
	return "mariadb-backup", err
}

// Restore prepares a copy of a backup and starts a single server on it.
func (m *Cluster) Restore(ctx context.Context, backup, into string, _ time.Time) (address string, end func() error, err error) {
	program, err := backupProgram().Find(m.options.Programs)
	if err != nil {
		return "", nil, err
	}
	o := m.options
	o.Password = m.login.Password // which the data have
	o.Nodes, o.Machines, o.Dir, o.LogDir = 1, nil, into, ""
	r := &Cluster{options: o, program: m.program}
	if err := r.fillIn(); err != nil {
		return "", nil, err
	}
	node := r.nodes.At(0)
	if err = node.Copy(ctx, node.data(), backup+"/."); err == nil {
		_, err = node.Run(ctx, server.ProcessOptions{Name: "mariadb-backup", Program: program, Env: m.environment(nil),
			Args: []string{"--no-defaults", "--prepare", "--target-dir=" + node.data(), "--tmpdir=" + node.temporary()}})
	}
	if err == nil {
		err = r.start(ctx, node, startOptions{})
	}
	if err != nil {
		return "", nil, errors.Join(err, r.Close())
	}
	return r.Address(), r.Close, nil
}
