package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/cluster/server"
)

const recordFile = "assay-cluster.json"

const folderPrefix = "assay-cluster-"

// Record describes a living cluster for `assay cluster status` and `down`. It holds a password;
// only its owner can read the file.
type Record struct {
	ID    string           `json:"id"`
	Spec  string           `json:"spec"`
	Kept  bool             `json:"kept"`
	Owner server.ProcessID `json:"owner"`
	// Started is in UTC.
	Started time.Time `json:"started"`
	// Address includes the password; it is empty until the database works.
	Address string       `json:"address,omitempty"`
	Nodes   []NodeRecord `json:"nodes,omitempty"`
	// Network says why the nodes have no network of their own; empty if they have.
	Network string `json:"network,omitempty"`

	Folder string `json:"-"`
}

// NodeRecord describes one server.
type NodeRecord struct {
	Name    string           `json:"name"`
	Address string           `json:"address"`
	Port    int              `json:"port"`
	Process server.ProcessID `json:"process"`
	Log     string           `json:"log"`
}

// makeFolder lets others pass through the folder without listing it: servers run as other users.
func makeFolder(id string) (string, error) {
	folder := filepath.Join(os.TempDir(), folderPrefix+id)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o711)
}

func (c *Cluster) kept() bool {
	r, err := readRecord(c.folder)
	return err == nil && r.Kept
}

// record writes the cluster's record atomically.
func (c *Cluster) record(kept bool) error {
	c.recording.Lock()
	defer c.recording.Unlock()
	r := Record{ID: c.id, Spec: c.spec.String(), Kept: kept, Owner: server.Identify(os.Getpid()), Started: c.started}
	if c.noNetwork != nil {
		r.Network = c.noNetwork.Error()
	}
	nodes := c.Servers()
	if len(nodes) > 0 {
		r.Address = c.Address()
	}
	for _, n := range nodes {
		r.Nodes = append(r.Nodes, NodeRecord{
			Name: n.Name(), Address: n.server.Host, Port: n.Port(), Process: server.Identify(n.PID()), Log: n.Log(),
		})
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(c.folder, recordFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Record reads the cluster's record.
func (c *Cluster) Record() (Record, error) { return readRecord(c.folder) }

func readRecord(folder string) (Record, error) {
	path := filepath.Join(folder, recordFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("%s: %w", path, err)
	}
	r.Folder = folder
	return r, nil
}

// Records returns the records of all clusters on this machine, living or not: those in the folder
// for temporary files that this user may read.
func Records() ([]Record, error) {
	folders, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, folder := range folders {
		r, err := readRecord(folder)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
			continue // somebody else's, or just going
		case err != nil:
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
