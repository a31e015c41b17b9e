package postgres

import (
	"context"
	"path/filepath"
	"strconv"

	"assay/cluster/server"
)

// canCopy returns a *server.MissingError if the program that copies a running
// node is not among the programs.
func canCopy(programs string) error {
	if server.Executable(filepath.Join(programs, "pg_basebackup")) == "" {
		return &server.MissingError{Program: "pg_basebackup", Looked: []string{programs}, Get: serverProgram().Get}
	}
	return nil
}

// copierName is what a primary calls a copy that is being made of it. It is not
// one that commits wait for: pg_basebackup confirms what it has received, and
// would be taken for the standby.
const copierName = "assay_copy"

// copyData fills the standby's data folder. The password goes through the
// environment, which only root and the server's user can see, into a file of that
// folder (primary_conninfo). The primary bears a copier that is silent for a
// while, which standbys may not be (wal_sender_timeout).
func (p *Server) copyData(ctx context.Context, primary *Server) error {
	return p.runTool(ctx, "pg_basebackup", []string{
		"--pgdata=" + p.data(), "--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync",
		"--no-password", "--dbname=application_name=" + copierName, "--host=" + primary.Host,
		"--port=" + strconv.Itoa(primary.Port), "--username=" + primary.options.User,
	}, "PGOPTIONS=-c wal_sender_timeout=0", "PGPASSWORD="+primary.options.Password)
}
