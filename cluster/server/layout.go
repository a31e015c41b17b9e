package server

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"assay/cluster/machine"
)

// Layout says where servers live. Its zero value means this machine and a temporary folder.
type Layout struct {
	Programs string
	// Nodes is the number of servers; 0 means the product's usual number.
	Nodes int
	// Machines are where the servers live; nil means 127.0.0.1 for all. A machine with an address
	// of its own has the product's usual ports.
	Machines []*machine.Machine
	// Dir is the private folder of all, new or empty; empty means a temporary one. Close removes it.
	Dir string
	// LogDir is an existing folder for the logs, which Close leaves; empty means Dir.
	LogDir string
}

// Make makes the folder for a user (nil: ourselves) and calls node for each server in order. After
// an error the folder is gone.
func (l *Layout) Make(user *User, nodes int, node func(at *machine.Machine) error) (err error) {
	if l.Dir, err = PrivateDir(l.Dir, user); err != nil {
		return err
	}
	l.LogDir = cmp.Or(l.LogDir, l.Dir)
	for i := range nodes {
		if err := node(MachineAt(l.Machines, i)); err != nil {
			return errors.Join(err, os.RemoveAll(l.Dir))
		}
	}
	return nil
}

// Place gives a node, whose Number, Machine and User are set, its port, name, log and folder.
func (l *Layout) Place(n *Node, ports *Ports, usual int, program, product string) (err error) {
	if n.Host, n.Port, err = ports.For(n.Machine, usual); err != nil {
		return err
	}
	n.Name = fmt.Sprintf("%s %d on port %d", program, n.Number, n.Port)
	n.Dir = FolderOn(n.Machine, filepath.Join(l.Dir, "node-"+strconv.Itoa(n.Number)))
	n.Log = filepath.Join(l.LogDir, fmt.Sprintf("%s-%d.log", product, n.Number))
	if err := os.Mkdir(n.Dir, 0o700); err != nil {
		return err
	}
	return n.User.Chown(n.Dir)
}
