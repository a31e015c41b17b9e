package cluster

// How several servers of MySQL or MariaDB hold the same.
const (
	replicationGroup  = "group"
	replicationGalera = "galera"
	replicationSync   = "semisync"
	replicationAsync  = "async"
)

// checkReplication says what is wanted in place of options about replication that do not go
// together; elects is the kind in which the servers agree among themselves.
func checkReplication(elects string) func(Spec) string {
	return func(s Spec) string {
		kind := s.replication(elects)
		switch {
		case s.Options["replication"] != "" && s.Nodes == 1:
			return "replication=" + kind + " with more than one node, such as " + s.Product + ":3"
		case s.Options["expel"] != "" && kind != replicationGroup:
			return "expel=DURATION in a group, such as mysql:3"
		case s.Options["failover"] != "" && kind != replicationGalera:
			return "failover=DURATION with replication=galera, such as mariadb:3; assay promotes no replica, so that a lost primary stays lost"
		}
		return ""
	}
}

// replication is how several servers of a spec hold the same; otherwise is what they do if it does
// not say.
func (s Spec) replication(otherwise string) string {
	if kind := s.Options["replication"]; kind != "" {
		return kind
	}
	return otherwise
}
