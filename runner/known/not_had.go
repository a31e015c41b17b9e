package known

import (
	_ "embed"

	"assay/internal/yamlfile"
)

//go:embed not-had.yaml
var notHad []byte

// Absent is a bug, or products, without a row.
type Absent struct {
	Product string `yaml:"product"`
	Bug     string `yaml:"bug"`
	// Told is the address of its report; empty where Bug names no single one.
	Told string `yaml:"told"`
	// Reason says why there is no row.
	Reason string `yaml:"reason"`
}

// NotHad are the bugs that have no row, because they could not be had or were not tried.
func NotHad() ([]Absent, error) {
	var file struct {
		Bugs []Absent `yaml:"bugs"`
	}
	if err := yamlfile.Decode("not-had.yaml", notHad, &file); err != nil {
		return nil, err
	}
	for i, a := range file.Bugs {
		file.Bugs[i].Reason = words(a.Reason)
	}
	return file.Bugs, nil
}
