package redis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"assay/driver/encryption"
	"assay/store"
)

// info asks for one section of INFO, or for all usual ones (manual, "INFO").
func (l *link) info(ctx context.Context, section string) (map[string]string, error) {
	info := newCommand("info", section)
	if err := l.one(ctx, info); err != nil {
		return nil, err
	}
	text, err := answerOf[string](info)
	told := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			told[key] = value
		}
	}
	return told, err
}

// parameters reads the server's parameters that the user may read.
func (l *link) parameters(ctx context.Context, names []string, use func(name, value string)) error {
	all := make([]*command, len(names))
	for i, name := range names {
		all[i] = newCommand("config", "get", name)
	}
	err := l.do(ctx, all...)
	for i := 0; i < len(all) && err == nil; i++ {
		if pair, not := all[i].texts(); not == nil && len(pair) == 2 {
			use(names[i], pair[1])
		}
	}
	return err
}

func configured() []string {
	return []string{"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory", "maxmemory-policy",
		"min-replicas-to-write", "min-replicas-max-lag", "replica-serve-stale-data"}
}

func (d *database) Describe(ctx context.Context) (product store.Product, err error) {
	err = d.Change(ctx, "describe", func(l *link) error {
		told, err := l.info(ctx, "everything")
		if err != nil {
			return err
		}
		settings := []store.Setting{{Name: "isolation", Value: level}}
		err = l.parameters(ctx, configured(), func(name, value string) {
			settings = append(settings, store.Setting{Name: name, Value: cmp.Or(value, "(none)")})
		})
		if err != nil {
			return err
		}
		changed, err := d.changed(ctx, l)
		if err != nil {
			return err
		}
		topology, err := d.topology(ctx, l)
		product = store.Product{
			Name: productOf(told), Version: told["redis_version"],
			Settings: append(settings, d.asked(topology.Nodes)...), Changed: changed, Topology: topology,
		}
		return err
	})
	return product, err
}

// defaults are redis.conf 7.0's defaults of parameters that matter to speed and durability.
func defaults() map[string]string {
	return map[string]string{"appendonly": "no", "appendfsync": "everysec", "no-appendfsync-on-rewrite": "no", "save": "3600 1 300 100 60 10000",
		"maxmemory": "0", "maxmemory-policy": "noeviction", "io-threads": "1", "io-threads-do-reads": "no", "hz": "10", "activedefrag": "no",
		"min-replicas-to-write": "0", "min-replicas-max-lag": "10", "rdbcompression": "yes", "repl-diskless-sync": "yes", "repl-backlog-size": "1048576",
		"lazyfree-lazy-eviction": "no", "lazyfree-lazy-expire": "no", "lazyfree-lazy-server-del": "no", "maxclients": "10000"}
}

func (d *database) changed(ctx context.Context, l *link) ([]store.Setting, error) {
	values := map[string]string{}
	err := l.parameters(ctx, slices.Collect(maps.Keys(defaults())), func(name, value string) {
		if value != defaults()[name] {
			values[name] = cmp.Or(value, "(none)")
		}
	})
	return store.Changed(values), err
}

func (d *database) topology(ctx context.Context, l *link) (of store.Topology, err error) {
	err = d.everywhere(ctx, l, func(at *link, _ owners) error {
		told, err := at.info(ctx, "replication")
		if err != nil {
			return err
		}
		replicas, _ := strconv.Atoi(told["connected_slaves"]) // none if it is no number
		of.Nodes += 1 + replicas
		of.Replicas = max(of.Replicas, 1+replicas)
		of.Shards++
		return nil
	})
	if !d.spread {
		of.Shards = 0
	}
	return of, err
}

// productOf is the product's name, which Redis's descendants tell.
func productOf(told map[string]string) string {
	if name := told["server_name"]; name != "" && !strings.EqualFold(name, "redis") {
		return name
	}
	return "Redis"
}

// asked are the address's settings and consequences of the installation.
func (d *database) asked(nodes int) []store.Setting {
	waited := "no replica"
	if d.wait > 0 {
		waited = fmt.Sprintf("%d within %s", d.wait, d.waitFor)
	}
	led := "nobody"
	switch {
	case d.sharded:
		led = "Redis Cluster"
	case d.service != "":
		led = "Sentinel"
	}
	return []store.Setting{{Name: "data nodes", Value: strconv.Itoa(nodes)}, {Name: "failover by", Value: led},
		{Name: "replicas waited for", Value: waited}, {Name: "client_retries", Value: "none"}, {Name: encryption.Setting, Value: encryption.State(d.encryption)}}
}

func (d *database) Blocked(ctx context.Context) (by string, err error) {
	err = d.Change(ctx, "ask what is waited for", func(l *link) error {
		return d.everywhere(ctx, l, func(at *link, _ owners) error {
			told, err := at.info(ctx, "everything")
			if err == nil && by == "" {
				by = d.blockedBy(told)
			}
			return err
		})
	})
	if codeOf(err) == "BUSY" { // as it answers to a new connection already
		return "the server executes a script of somebody's; wait for its end, or end it (SCRIPT KILL)", nil
	}
	return by, err
}

func (d *database) blockedBy(told map[string]string) string {
	replicas, _ := strconv.Atoi(told["connected_slaves"])
	enough, demanded := told["min_slaves_good_slaves"] // is there only if min-replicas-to-write is set
	switch {
	case told["loading"] == "1":
		return "the server loads its data; wait until it has"
	case replicas < d.wait:
		return fmt.Sprintf("wait=%d waits for replicas, of which %d are connected; start them, or ask for fewer", d.wait, replicas)
	case demanded && enough == "0":
		return "min-replicas-to-write wants replicas, and none is in step; start them"
	}
	return ""
}
