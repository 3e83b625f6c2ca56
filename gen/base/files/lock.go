package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// patience is how long a set waits for others to move their files, which takes them milliseconds.
const patience = time.Minute

// lockFolders keeps other sets, of this process and of others, from moving files in the folders, where the system can. The locks
// are on the folders themselves, so that nothing is left behind.
func lockFolders(folders []string) (unlock func(), err error) {
	var locked []*os.File
	unlock = func() {
		for _, f := range locked {
			f.Close()
		}
	}
	// In an order that all agree on: no two wait for each other.
	for _, folder := range realFolders(folders) {
		f, err := os.Open(folder)
		if errors.Is(err, fs.ErrPermission) {
			continue // one that may be written, but not read
		}
		if err != nil {
			unlock()
			return nil, err
		}
		locked = append(locked, f)
		for start := time.Now(); !tryLock(f); time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > patience {
				unlock()
				return nil, fmt.Errorf("the folder %s has been locked by another program for %s: end that program, or write to another folder", folder, patience)
			}
		}
	}
	return unlock, nil
}

// realFolders are the folders sorted, without links and without those that are there by two names, which
// could not be locked twice.
func realFolders(folders []string) []string {
	var list []string
	var seen []os.FileInfo
	for _, folder := range folders {
		real, err := filepath.EvalSymlinks(folder)
		if err != nil {
			real = folder // to open it fails, and says why
		} else if abs, err := filepath.Abs(real); err == nil {
			real = abs
		}
		st, err := os.Stat(real)
		if err == nil && slices.ContainsFunc(seen, func(x os.FileInfo) bool { return os.SameFile(x, st) }) {
			continue
		}
		if err == nil {
			seen = append(seen, st)
		}
		list = append(list, real)
	}
	slices.Sort(list)
	return list
}
