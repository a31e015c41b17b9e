package machine

import (
	"os"
	"path/filepath"
)

// Inhabited reports whether a process lives in a namespace of this id. Limits
// without namespaces have no such sign.
func Inhabited(id string) (bool, error) {
	names, err := spacesOf(id)
	if err != nil || len(names) == 0 {
		return false, err
	}
	var spaces []os.FileInfo
	for _, name := range names {
		info, err := os.Stat(filepath.Join(namespaces, name))
		if err != nil {
			continue // gone meanwhile
		}
		spaces = append(spaces, info)
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return false, err
	}
	for _, link := range links {
		info, err := os.Stat(link)
		if err != nil {
			continue // ended meanwhile, or not ours to look at
		}
		for _, space := range spaces {
			if os.SameFile(info, space) {
				return true, nil
			}
		}
	}
	return false, nil
}
