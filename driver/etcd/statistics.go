package etcd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/store"
)

// figures come from a member's /metrics (manual 3.4, "Metrics"; "Monitoring etcd").
func figures() []store.NamedValue {
	figure := func(key, chart, name, unit string, counter bool, means store.Meaning) store.NamedValue {
		return store.NamedValue{Key: key, Statistic: store.Statistic{Name: name, Chart: chart, Unit: unit, Counter: counter, Means: means}}
	}
	const proposals, waits, size, reads = "Proposals", "Waits for the disk", "Size", "Linearizable reads"
	return []store.NamedValue{
		figure("etcd_server_proposals_committed_total", proposals, "proposals committed", "", true, ""),
		figure("etcd_server_proposals_failed_total", proposals, "proposals failed", "", true, ""),
		figure("etcd_server_proposals_pending", "Proposals that wait", "proposals pending", "", false, ""),
		figure("etcd_disk_wal_fsync_duration_seconds_sum", waits, "for the log", "s", true, store.DiskWaits),
		figure("etcd_disk_backend_commit_duration_seconds_sum", waits, "for the backend's commit", "s", true, ""),
		figure("etcd_server_slow_read_indexes_total", reads, "slow", "", true, ""),
		figure("etcd_server_read_indexes_failed_total", reads, "failed", "", true, ""),
		figure("etcd_server_slow_apply_total", "Slow applies", "slow applies", "", true, ""),
		figure("etcd_server_leader_changes_seen_total", "Leader changes", "leader changes", "", true, ""),
		figure("etcd_mvcc_db_total_size_in_bytes", size, "file", "bytes", false, ""),
		figure("etcd_mvcc_db_total_size_in_use_in_bytes", size, "in use", "bytes", false, ""),
		figure("process_resident_memory_bytes", "Memory", "resident", "bytes", false, ""),
	}
}

// Metrics that identify the leader and a server's life.
const (
	keyLeader = "etcd_server_is_leader"
	keyStart  = "process_start_time_seconds"
)

// statistics implements store.Statistics by HTTP, and stays with a host while it leads.
type statistics struct {
	*options
	figures []store.NamedValue
	client  *http.Client
	leader  string // the host that was it last; empty for none
}

// OpenStatistics opens the leader's account of its work. It does not connect yet.
func OpenStatistics(_ context.Context, target store.Target) (store.Statistics, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &statistics{options: o, figures: figures(), client: &http.Client{
		Transport: &http.Transport{TLSClientConfig: o.encryption.Clone(), MaxConnsPerHost: 1},
	}}, nil
}

func (s *statistics) List() []store.Statistic { return store.ListOf(s.figures) }

func (s *statistics) Close() { s.client.CloseIdleConnections() }

// Read implements store.Statistics. It asks another host only if the last one leads no more or does
// not answer.
func (s *statistics) Read(ctx context.Context) (store.Reading, error) {
	hosts := s.hosts
	if i := slices.Index(hosts, s.leader); i > 0 {
		hosts = append([]string{s.leader}, slices.Delete(slices.Clone(hosts), i, i+1)...)
	}
	s.leader = ""
	var failures []error
	for _, host := range hosts {
		values, err := s.ask(ctx, host)
		if err == nil && values[keyLeader] != 1 {
			err = errors.New("it is not the leader")
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("etcd: metrics of %s: %w", host, err))
			continue
		}
		s.leader = host
		server := fmt.Sprintf("%s since %.2f", host, values[keyStart])
		return store.ReadingOf(server, s.figures, func(key string) (float64, bool) {
			value, told := values[key]
			return value, told
		}), nil
	}
	return store.Reading{}, errors.Join(failures...)
}

// metricsBound bounds a host's answer; a paused host never answers.
const metricsBound = time.Second

// mostMetrics bounds a page of metrics in bytes; etcd's has some 100 kB.
const mostMetrics = 8 << 20

// ask reads a host's metrics without labels.
func (s *statistics) ask(ctx context.Context, host string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsBound)
	defer cancel()
	scheme := "http"
	if s.encryption != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	values := map[string]float64{}
	lines := bufio.NewScanner(io.LimitReader(answer.Body, mostMetrics))
	for lines.Scan() {
		key, text, two := strings.Cut(lines.Text(), " ")
		if !two || strings.HasPrefix(key, "#") || strings.Contains(key, "{") {
			continue
		}
		if values[key], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("metric %s: %w", key, err)
		}
	}
	return values, lines.Err()
}
