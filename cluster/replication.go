package cluster

// Values of the option replication of MySQL and MariaDB.
const (
	replicationGroup  = "group"
	replicationGalera = "galera"
	replicationSync   = "semisync"
	replicationAsync  = "async"
)

// checkReplication checks options about replication; elects is the kind in which the servers
// themselves agree on a primary. The result says what to use instead, and is empty if all is well.
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

func (s Spec) replication(otherwise string) string {
	if kind := s.Options["replication"]; kind != "" {
		return kind
	}
	return otherwise
}
