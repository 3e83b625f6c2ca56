package chips

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"rules_dnn/gen/base/files"
	"rules_dnn/platforms"
)

// devicesFolder is where facts of devices stand below platforms, a file each.
const devicesFolder = "devices"

// Devices returns the names of the devices that the repository knows, in order.
func Devices() ([]string, error) {
	entries, err := fs.ReadDir(platforms.Files, devicesFolder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names, nil
}

// DeviceFacts returns the facts of a device: by a name of Devices, or of the JSON file that a path names.
func DeviceFacts(device string) ([]byte, error) {
	if IsPath(device) {
		return files.Read(device)
	}
	names, err := Devices()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, device) {
		return readUnknown(device, "device", "platforms/devices", names)
	}
	return fs.ReadFile(platforms.Files, path.Join(devicesFolder, device+".json"))
}

// IsPath reports whether the text is the path of a file of facts: it has a folder, or ends as such files do, and so cannot be a name.
func IsPath(text string) bool {
	return strings.ContainsAny(text, `/\`) || strings.HasSuffix(text, ".json")
}

// readUnknown reads a file whose name looks like that of a chip or a device. Where there is none, the error lists the names.
func readUnknown(name, kind, from string, names []string) ([]byte, error) {
	if data, err := files.Read(name); err == nil {
		return data, nil
	}
	return nil, fmt.Errorf("there is no %s %q; want a JSON file, or one of %s: %s", kind, name, from, strings.Join(names, ", "))
}
