package mysql

import (
	"context"

	"assay/driver/sqldb"
	"assay/store"
)

// reserved are the names that MySQL reserves, and those in their place.
func reserved() map[string]string { return map[string]string{"row": "entry", "key": "id"} }

// chooseReads: reads go to the node that takes the session's inserts, or with the
// targets nearest and secondary-preferred to another host of the address that answers,
// and to the same one if no other does; an address of one host gives
// *store.OptionError for them, and so does a workload whose level is judged. Such a node may not have applied yet what was
// acknowledged, unless the address has wsrep_sync_wait=1.
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

// Promises implements store.Database. A statement that is a transaction by
// itself reads what is committed when it begins (MySQL manual, "Consistent
// Nonlocking Reads"), and one server alone has committed what it acknowledged. A
// Galera node that is told to (wsrep_sync_wait) holds a read back until it "has
// caught up with all updates made in the cluster to the point where the check
// was begun" (Galera documentation, "MySQL wsrep Options"); without that, and of
// servers that copy in other ways, nothing is promised.
func (p *schema) Promises() store.Promises {
	reads := ""
	if p.server.galera && p.server.syncWait || !p.server.galera && len(p.hosts) == 1 {
		reads = store.Linearizable
	}
	return sqldb.Promises(promised(p.level, p.engine, p.server), reads)
}

// connectApart is Connect where reads may go elsewhere.
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

// elsewhere opens a session to another host than this one, which need not take
// writes; nil if none answers.
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
