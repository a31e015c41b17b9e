package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"assay/cluster/postgres"
	"assay/cluster/server"
	"assay/cluster/streaming"
)

func postgresEntry() entry {
	return entry{
		topology: topology{
			name: "postgres", nodes: []int{1, 2, 3, 4, 5}, arbiters: []int{0},
			options: append([]option{
				{name: "standby", want: "standby=sync (any one standby confirms a commit) or standby=async", check: oneOf("sync", "async"), parameters: []string{"synchronous_standby_names"}},
				{name: "fsync", want: "fsync=on or fsync=off (what was acknowledged may be lost, and the rest too, when the power is)", check: oneOf("on", "off"), parameters: []string{"fsync"}},
				{name: "full_page_writes", want: "full_page_writes=on or full_page_writes=off (pages that were written in part when the power was cut stay as they are)", check: oneOf("on", "off"),
					parameters: []string{"full_page_writes"}},
				{name: "shared_buffers", want: "shared_buffers=SIZE, such as 256MiB", check: aSize, parameters: []string{"shared_buffers"}},
				archiveOption(), versionOption("postgres"),
			}, poolerOptions("", "pooler=pgbouncer: clients reach the primary through it")...),
			parameters: postgresParameters(),
			noFailover: "patroni:3, repmgr:3 or pg-auto-failover:2, where a program promotes a standby; assay promotes none of postgres, whose lost primary stays lost",
			roles:      []role{poolerRole("postgres:3,pooler=pgbouncer")},
		},
		footprint: Footprint{Start: 1500 * time.Millisecond, Empty: 120 << 20},
		start:     startPostgres, settings: postgresSettings, clear: postgres.Clear,
	}
}

func postgresParameters() parameters {
	return parameters{example: "max_connections=500",
		ours: append(postgresAccess(),
			ourParameters{postgresFollowing(), "by them the standbys follow"}),
		judged: []string{"fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names", "wal_writer_delay", "wal_sync_method", "default_transaction_*", "zero_damaged_pages"},
	}
}

func postgresAccess() []ourParameters {
	return []ourParameters{
		{[]string{"port", "listen_addresses", "unix_socket_*"}, "by them it reaches the server"},
		{[]string{"data_directory", "config_file", "hba_file", "ident_file", "external_pid_file"}, "each node has a folder of its own"},
		{[]string{"log_destination", "logging_collector"}, "it keeps what the server writes to its standard error"},
	}
}

func postgresFollowing() []string {
	return []string{"primary_conninfo", "primary_slot_name", "hot_standby", "recovery_target*", "restore_command"}
}

const postgresUser = streaming.User

func startPostgres(ctx context.Context, s Spec, e environment) (product, error) {
	if s.Options["pooler"] == "" {
		return startServers(ctx, s, e, rand.Text())
	}
	password := rand.Text()
	front, err := newPooler(s, e, postgresEntry().numberOf(s, RolePooler), password)
	if err != nil {
		return nil, err
	}
	behind, err := startServers(ctx, s, e, password)
	if err != nil {
		return nil, errors.Join(err, front.Close())
	}
	return behindPooler(ctx, s, behind, behind.Node(0), front)
}

const optionArchive = "archive"

func archiveOption() option {
	return option{name: optionArchive, want: "archive=on: each full segment of the log is archived, so that the state of a moment can be restored (archive_mode, archive_command)",
		check: oneOf("on"), parameters: []string{"archive_mode", "archive_command"}}
}

// archiveFolder holds the archived log of all nodes; empty without an archive.
func archiveFolder(s Spec, e environment) string {
	if s.Options[optionArchive] == "" {
		return ""
	}
	return filepath.Join(e.logs, "archive")
}

// WithArchive turns archiving of the log on if the product has the option.
func (s Spec) WithArchive() Spec {
	if slices.Contains(OptionNames(s.Product), optionArchive) {
		s.Options = maps.Clone(s.Options)
		s.Options[optionArchive] = "on"
	}
	return s
}

func startServers(ctx context.Context, s Spec, e environment, password string) (product, error) {
	settings := postgresSettings(s)
	if s.Nodes == 1 {
		p, err := postgres.Start(ctx, postgres.Options{
			Programs: e.programs, Machine: server.MachineAt(e.machines, 0), Dir: e.dir, Log: filepath.Join(e.logs, "postgres-n1.log"),
			User: postgresUser, Password: password, Archive: archiveFolder(s, e), Settings: settings,
		})
		if err != nil {
			return nil, err
		}
		return single{p, p.Node}, nil
	}
	set, err := streaming.StartPlain(ctx, streaming.PlainOptions{
		Programs: e.programs, Placement: placement(s, e, password), Asynchronous: s.Options["standby"] == "async", Settings: settings,
	})
	if err != nil {
		return nil, err
	}
	return set, nil
}

// postgresConnections is max_connections: enough for a thousand clients with a session each.
// PostgreSQL's default of 100 is too low. The 1,000 more take 49 MB of shared memory and change
// nothing else (postgres -C shared_memory_size: 143 MB and 192 MB).
const postgresConnections = 1100

// postgresSettings gives a quarter of a node's memory limit to shared buffers, as PostgreSQL's
// manual recommends of a machine's memory ("Resource Consumption", shared_buffers).
func postgresSettings(s Spec) []string {
	settings := []string{fmt.Sprintf("max_connections=%d", postgresConnections)}
	for _, name := range []string{"fsync", "full_page_writes"} {
		if value := s.Options[name]; value != "" {
			settings = append(settings, name+"="+value)
		}
	}
	size := s.size("shared_buffers")
	if size == 0 {
		size = s.Limits.Memory / 4
	}
	if size != 0 {
		settings = append(settings, fmt.Sprintf("shared_buffers=%dkB", max(size>>10, 128)))
	}
	return append(settings, s.settings("=")...) // of two the later one counts
}
