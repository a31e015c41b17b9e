package kubernetes

import (
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"assay/cluster/server"
)

// LabelRun is on all objects that assay creates; it finds the leftovers of a killed assay. Its
// value is the run's id.
const LabelRun = "assay/run"

const annotationOwner = "assay/owner"

// Mark says whose an object is.
type Mark struct {
	Run string // hexadecimal digits
	owner
}

type owner struct {
	Host    string           `json:"host"`
	Process server.ProcessID `json:"process"`
}

// NewMark marks objects as this process's, under a run's id.
func NewMark(run string) Mark {
	host, _ := os.Hostname() // an empty name is nobody's
	return Mark{Run: run, owner: owner{Host: host, Process: server.Identify(os.Getpid())}}
}

func (m Mark) put(o *unstructured.Unstructured) {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	owner, _ := json.Marshal(m.owner) // strings and numbers
	labels[LabelRun], annotations[annotationOwner] = m.Run, string(owner)
	o.SetLabels(labels)
	o.SetAnnotations(annotations)
}

// Whether an object's process lives.
const (
	ownerLives = "its assay runs"
	ownerGone  = "its assay is gone"
	ownerAway  = "its assay is on another machine"
)

func ownerOf(o *unstructured.Unstructured) (host, state string) {
	var of owner
	if err := json.Unmarshal([]byte(o.GetAnnotations()[annotationOwner]), &of); err != nil {
		return "", ownerAway
	}
	here, _ := os.Hostname()
	switch {
	case of.Host != here || here == "":
		return of.Host, ownerAway
	case of.Process.Alive():
		return of.Host, ownerLives
	}
	return of.Host, ownerGone
}
