package known

import (
	_ "embed"

	"assay/internal/yamlfile"
)

//go:embed bugs-without-row.yaml
var bugsWithoutRow []byte

// WithoutRow is a bug, or products, without a row.
type WithoutRow struct {
	Product string `yaml:"product"`
	Bug     string `yaml:"bug"`
	// Told is the address of its report; empty where Bug names no single one.
	Told string `yaml:"told"`
	// Reason says why there is no row.
	Reason string `yaml:"reason"`
}

// BugsWithoutRow are the bugs that have no row, because they could not be had or were not tried.
func BugsWithoutRow() ([]WithoutRow, error) {
	var file struct {
		Bugs []WithoutRow `yaml:"bugs"`
	}
	if err := yamlfile.Decode("bugs-without-row.yaml", bugsWithoutRow, &file); err != nil {
		return nil, err
	}
	for i, a := range file.Bugs {
		file.Bugs[i].Reason = words(a.Reason)
	}
	return file.Bugs, nil
}
