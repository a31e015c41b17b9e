package fault

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"assay/internal/yamlfile"
)

type hostsFile struct {
	Nodes yaml.MapSlice      `yaml:"nodes"`
	Acts  map[string]hostAct `yaml:"acts"`
}

// hostAct are an action's commands for sh, with the variables of hostEnvironment.
type hostAct struct {
	// Undo is empty for an action that does not last.
	Do   string `yaml:"do"`
	Undo string `yaml:"undo"`
	// Proof exits with 0 while it acts. Without it, an address that does not answer is the proof.
	Proof string `yaml:"proof"`
}

// ParseHosts reads the file of the user's own nodes and commands. The error is a *yamlfile.Error.
func ParseHosts(path string, text []byte) (*Hosts, error) {
	var f hostsFile
	if err := yamlfile.Decode(path, text, &f); err != nil {
		return nil, err
	}
	refuse := func(key, problem string, a ...any) (*Hosts, error) {
		return nil, yamlfile.Refuse(path, text, key, 0, fmt.Sprintf(problem, a...))
	}
	h := &Hosts{acts: f.Acts}
	for _, item := range f.Nodes {
		name, address := fmt.Sprint(item.Key), fmt.Sprint(item.Value)
		key := "nodes." + name
		machine, port, err := net.SplitHostPort(address)
		switch {
		case name != fmt.Sprintf("n%d", len(h.nodes)+1):
			return refuse(key, "nodes are called n1, n2 and so on, in this order: this is n%d", len(h.nodes)+1)
		case err != nil || machine == "" || port == "":
			return refuse(key, "%q is no host:port of its database server", address)
		}
		h.nodes = append(h.nodes, host{name: name, address: address})
	}
	if len(h.nodes) == 0 {
		return refuse("nodes", "there are none; write nodes: and below it n1: host:port")
	}
	for name, act := range f.Acts {
		about, known := Lookup(name)
		switch {
		case !known || !slices.Contains(hostActions(), name):
			return refuse("acts."+name, "it is none of %s", strings.Join(hostActions(), ", "))
		case act.Do == "":
			return refuse("acts."+name, "do: is missing, the command that does it")
		case about.Lasts && act.Undo == "":
			return refuse("acts."+name, "undo: is missing, the command that takes it back")
		case act.Proof == "" && !(about.Lasts && about.silences):
			return refuse("acts."+name, "proof: is missing, a command that ends with 0 while it acts: it cannot be seen from here")
		case !about.Lasts && act.Undo != "":
			return refuse("acts."+name+".undo", "%s heals itself, and nothing is taken back", name)
		}
	}
	return h, nil
}

// hostActions are the actions that commands can do: they are done to a node by its name, and assay
// has no other part in them.
func hostActions() (all []string) {
	for _, a := range Actions() {
		if a.aims("n1") && !a.Empties && !a.Resizes && !a.BacksUp && a.after == "" {
			all = append(all, a.Name)
		}
	}
	return all
}
