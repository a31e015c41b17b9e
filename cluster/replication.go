package cluster

// How several servers of MariaDB hold the same.
const (
	replicationGalera = "galera"
	replicationSync   = "semisync"
	replicationAsync  = "async"
)

// checkReplication says what is wanted in place of a choice that one node does not have.
func checkReplication(s Spec) string {
	if kind := s.Options["replication"]; kind != "" && s.Nodes == 1 {
		return "replication=" + kind + " with more than one node, such as " + s.Product + ":3"
	}
	return ""
}

// replication is how several servers of a spec hold the same; otherwise is what they do if it does
// not say.
func (s Spec) replication(otherwise string) string {
	if kind := s.Options["replication"]; kind != "" {
		return kind
	}
	return otherwise
}
