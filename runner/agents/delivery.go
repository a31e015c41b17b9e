package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"assay/load"
	"assay/measure"
)

// kept is how long an engine keeps a history that is not taken.
const kept = 7 * 24 * time.Hour

// openBucket opens a run's object store. If replicas is not 0, it makes the store on this many
// servers of a cluster.
func openBucket(ctx context.Context, conn *nats.Conn, run string, replicas int) (jetstream.ObjectStore, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	if replicas == 0 {
		return js.ObjectStore(ctx, bucket(run))
	}
	return js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket(run), Description: "histories of a run of assay", TTL: kept, Storage: jetstream.FileStorage, Replicas: replicas})
}

// End is what an agent delivers last.
type End struct {
	// Size and Digest (SHA-256) are of the whole history.
	Size    int64         `json:"bytes"`
	Digest  string        `json:"sha256"`
	Counted measure.Delta `json:"counted"`
	// Stats travel as Encoded.
	Stats   load.Stats   `json:"-"`
	Encoded encodedStats `json:"stats"`
	// Found is what the work found beside the history, in the runner's form.
	Found   json.RawMessage `json:"found,omitempty"`
	Problem string          `json:"problem,omitempty"`
}

type deliverer struct {
	store jetstream.ObjectStore
	share int
	file  *os.File
	done  int64
	// tried is the size of the piece at done when it was last put; 0 if it was not.
	tried int64
}

// deliver puts what was appended since. The file is already on the disk.
func (d *deliverer) deliver(ctx context.Context) error {
	info, err := d.file.Stat()
	if err != nil || info.Size() == d.done {
		return err
	}
	if err := d.file.Sync(); err != nil {
		return err
	}
	for d.done < info.Size() {
		if d.tried == 0 {
			d.tried = min(info.Size()-d.done, mostPart)
		}
		// A put that seemed to fail may have succeeded, so a retry puts the same piece.
		piece := make([]byte, d.tried)
		if _, err := d.file.ReadAt(piece, d.done); err != nil {
			return err
		}
		if err := d.put(ctx, part(d.share, d.done), piece); err != nil {
			return fmt.Errorf("deliver the history: %w", err)
		}
		d.done, d.tried = d.done+d.tried, 0
	}
	return nil
}

func (d *deliverer) finish(ctx context.Context, e End) error {
	if err := d.deliver(ctx); err != nil {
		return err
	}
	var err error
	if e.Size, e.Digest, err = digest(d.file.Name()); err != nil {
		return err
	}
	e.Encoded = encodeStats(e.Stats)
	text, err := json.Marshal(e)
	if err == nil {
		err = d.put(ctx, ending(d.share), text)
	}
	return err
}

// pieceTimeout bounds one put or get. A request on a link that was cut, or to a server that is
// gone, is never answered, even when the link is back. It is less than deliveryTimeout, to leave
// time for a retry.
const pieceTimeout = 5 * time.Second

func (d *deliverer) put(ctx context.Context, name string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
	defer cancel()
	_, err := d.store.PutBytes(ctx, name, content)
	return err
}

func digest(path string) (size int64, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer file.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, file)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

// The folder of histories within a run's folder, and its files.
const (
	Folder          = "agents"
	fileAgents      = "agents.json"
	fileCoordinator = "coordinator.history"
)

func historyFile(share int) string { return fmt.Sprintf("%d.history", share) }
func endFile(share int) string     { return fmt.Sprintf("%d.end.json", share) }

// CoordinatorFile is the path of the coordinator's own history in a run's folder.
func CoordinatorFile(folder string) string { return filepath.Join(folder, Folder, fileCoordinator) }

type collector struct {
	store  jetstream.ObjectStore
	folder string // of the histories
	share  int
	size   int64 // of what was taken
}

// collect takes all pieces. It removes a piece from the store when it is on this disk.
func (c *collector) collect(ctx context.Context) error {
	file, err := os.OpenFile(filepath.Join(c.folder, historyFile(c.share)), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = c.appendTo(ctx, file)
	return errors.Join(err, file.Close())
}

func (c *collector) appendTo(ctx context.Context, file *os.File) error {
	for {
		size, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		c.size = size
		name := part(c.share, size)
		piece, err := c.get(ctx, name)
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take the history of agent %d: %w", c.share+1, err)
		}
		if _, err = file.Write(piece); err == nil {
			err = file.Sync()
		}
		if err != nil {
			return errors.Join(err, file.Truncate(size))
		}
		if err := c.store.Delete(ctx, name); err != nil {
			return err
		}
	}
}

func (c *collector) get(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pieceTimeout)
	defer cancel()
	return c.store.GetBytes(ctx, name)
}

// finish takes the rest and the end; whole is false if the end is not there yet.
func (c *collector) finish(ctx context.Context) (whole bool, err error) {
	text, err := c.get(ctx, ending(c.share))
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, c.collect(ctx)
	}
	if err == nil {
		err = c.collect(ctx)
	}
	if err != nil {
		return false, err
	}
	var e End
	if err := json.Unmarshal(text, &e); err != nil {
		return false, err
	}
	size, sum, err := digest(filepath.Join(c.folder, historyFile(c.share)))
	if err != nil {
		return false, err
	}
	if size != e.Size || sum != e.Digest {
		return false, fmt.Errorf("the history of agent %d has %d bytes with the digest %.12s, and the agent delivered %d with %.12s", c.share+1, size, sum, e.Size, e.Digest)
	}
	return true, os.WriteFile(filepath.Join(c.folder, endFile(c.share)), text, 0o644)
}

// readEnd is an agent's end; nil if it was not delivered.
func readEnd(folder string, share int) (*End, error) {
	text, err := os.ReadFile(filepath.Join(folder, endFile(share)))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var e End
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", endFile(share), err)
	}
	e.Stats, err = e.Encoded.decode()
	return &e, err
}

// encodedStats are load.Stats for NATS. The histograms have HdrHistogram's form (V2, compressed).
type encodedStats struct {
	Rest   load.Stats `json:"rest"`
	Late   string     `json:"late"`
	OwnLag string     `json:"own_lag"`
}

func encodeStats(s load.Stats) encodedStats {
	e := encodedStats{Rest: s, Late: encodeHistogram(s.Late), OwnLag: encodeHistogram(s.OwnLag)}
	e.Rest.Late, e.Rest.OwnLag = nil, nil
	return e
}

func encodeHistogram(h *hdrhistogram.Histogram) string {
	if h == nil {
		return ""
	}
	text, _ := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase) // fails for other forms only
	return string(text)
}

func (e encodedStats) decode() (s load.Stats, err error) {
	s = e.Rest
	for _, one := range []struct {
		text string
		to   **hdrhistogram.Histogram
	}{{e.Late, &s.Late}, {e.OwnLag, &s.OwnLag}} {
		if one.text == "" {
			continue
		}
		if *one.to, err = hdrhistogram.Decode([]byte(one.text)); err != nil {
			return s, fmt.Errorf("an agent's histogram cannot be read: %w", err)
		}
	}
	return s, nil
}

// Joined combines the stats of two shares. It adds counts, merges histograms, and takes the worse
// of two figures about an agent. The measured part lasts from the first start to the last end.
func Joined(a, b load.Stats) load.Stats {
	a.Cut, b.Cut = a.Cut || b.Cut, a.Cut || b.Cut // though it did nothing
	a.WhyCut = cmp.Or(a.WhyCut, b.WhyCut)
	b.WhyCut = a.WhyCut
	if a.Late == nil {
		return b
	}
	if b.Late == nil {
		return a
	}
	a.Late.Merge(b.Late)
	a.OwnLag.Merge(b.OwnLag)
	a.MeasureStart, a.MeasureEnd = min(a.MeasureStart, b.MeasureStart), max(a.MeasureEnd, b.MeasureEnd)
	a.Hung += b.Hung
	a.Unserved += b.Unserved
	if b.Self.CPUShare > a.Self.CPUShare {
		a.Self.CPUShare, a.Self.CPUs = b.Self.CPUShare, b.Self.CPUs
	}
	a.Self.SchedulerP99 = max(a.Self.SchedulerP99, b.Self.SchedulerP99)
	a.Self.Runnable = max(a.Self.Runnable, b.Self.Runnable)
	return a
}
