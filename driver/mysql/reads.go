package mysql

import (
	"context"

	"assay/driver/sqldb"
	"assay/store"
)

func reserved() map[string]string { return map[string]string{"row": "entry", "key": "id"} }

// chooseReads: reads go to the node of the session's inserts. With nearest and secondary-preferred
// they go to another host of the address that answers, if any. Such a node may lack acknowledged
// rows, unless the address has wsrep_sync_wait=1. For an address of one host, and for a workload
// whose level is judged, these targets give *store.OptionError.
func (p *schema) chooseReads(read string, judged bool) error {
	if judged && read != "" && read != store.ReadPrimary {
		return &store.OptionError{Option: "--read", Value: read,
			Want: store.ReadPrimary + ": what transactions on another server see, in which order, no manual promises"}
	}
	switch read {
	case "", store.ReadPrimary:
	case store.ReadNearest, store.ReadSecondaryPreferred:
		if p.readsApart = len(p.hosts) > 1; !p.readsApart {
			return &store.OptionError{Option: "--read", Value: read, Want: store.ReadPrimary + ", or an address of several hosts"}
		}
	default:
		return &store.OptionError{Option: "--read", Value: read,
			Want: store.ReadPrimary + ", " + store.ReadSecondaryPreferred + ", " + store.ReadNearest}
	}
	return nil
}

// Promises implements store.Database. A statement reads what is committed when it begins (MySQL
// manual, "Consistent Nonlocking Reads"), and a single server has committed what it acknowledged.
// With wsrep_sync_wait a Galera node first applies the cluster's commits (Galera documentation,
// "MySQL wsrep Options"). Otherwise, and for other replication, nothing is promised.
func (p *schema) Promises() store.Promises {
	reads := ""
	if p.server.galera && p.server.syncWait || !p.server.galera && len(p.hosts) == 1 {
		reads = store.Linearizable
	}
	return sqldb.Promises(promised(p.level, p.engine, p.server), reads)
}

func (p *schema) connectApart(ctx context.Context, statements []sqldb.Statement) (sqldb.Connection, error) {
	var writes *host // the one that takes inserts
	r := &sqldb.Routed{Apart: p.readsApart, Connect: func(ctx context.Context, read bool) (*sqldb.Session, error) {
		if read {
			if l := p.elsewhere(ctx, writes, statements); l != nil {
				return l, nil
			}
		}
		l, err := p.dial(ctx, statements)
		if err == nil && !read {
			writes = l.Wire.(*session).host
		}
		return l, err
	}}
	_, err := r.Open(ctx, false)
	if err == nil {
		_, err = r.Open(ctx, true)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// elsewhere opens a session to another host, which need not take writes; nil if none answers.
func (p *schema) elsewhere(ctx context.Context, not *host, statements []sqldb.Statement) *sqldb.Session {
	for _, h := range p.order(true) {
		if h == not {
			continue
		}
		c, err := h.connect(ctx, p.where(), pins())
		if err != nil {
			continue
		}
		if c.look.galera && !c.look.prepared || c.look.outside != nil {
			c.HangUp()
			continue
		}
		if l, err := p.adopt(ctx, c, statements); err == nil {
			return l
		}
	}
	return nil
}
