package fault

import "assay/cluster"

// restart is a stop that is healed at once: see Description.Lasts.
func restart(nodes []*cluster.Node) injector { return stop(nodes) }
