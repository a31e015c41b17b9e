package cluster

import (
	"time"

	"assay/cluster/server"
)

// watchEvery is how often the servers are looked at. One that ended and was
// started again in between is missed.
const watchEvery = 100 * time.Millisecond

// watch reports every server that ends though nobody here had it end, once,
// until the returned function is called, which waits for the last call.
func (c *Cluster) watch(died func(node, how string)) (end func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		reported := map[string]*server.Process{} // by the node's name
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
			for _, n := range c.Nodes() {
				if p := n.server.Process(); p.Died() && reported[n.Name()] != p {
					reported[n.Name()] = p
					died(n.Name(), p.How())
				}
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
