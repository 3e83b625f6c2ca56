package cppapi

import (
	"fmt"
	"regexp"
	"strings"
)

// Identity is what a stub and a skeleton know each other by: SHA-256 of the network, and of the constants that it was made of.
type Identity struct{ Graph, Weights [32]byte }

// Remote is of a model that runs on a DSP, by a skeleton library there: what is printed is its stub.
type Remote struct {
	Identity
	// Versions of Hexagon that have a skeleton library, as v68, the least capable first.
	Versions []string
}

// SkeletonName is the file name of what FastRPC calls.
func (m *Model) SkeletonName() string { return m.Prefix + "_skeleton.cc" }

// identityView is what the templates see of hashes.
type identityView struct{ GraphInit, WeightsInit string }

type remoteView struct {
	identityView
	Versions []string
}

func (v *view) addRemote(m *Model) {
	if m.Remote != nil {
		v.Remote = &remoteView{viewOf(&m.Remote.Identity), m.Remote.Versions}
	}
	if m.Skeleton != nil {
		s := viewOf(m.Skeleton)
		v.Skeleton = &s
	}
}

func viewOf(i *Identity) identityView { return identityView{hashInit(i.Graph), hashInit(i.Weights)} }

// Files names the skeleton libraries for people.
func (r *remoteView) Files(prefix string) string {
	var out []string
	for _, v := range r.Versions {
		out = append(out, SkeletonFile(prefix, v))
	}
	return strings.Join(out, ", ")
}

// SkeletonFile is the file name of a skeleton library, as runtime/fastrpc/session.cc makes it.
func SkeletonFile(prefix, version string) string {
	return "lib" + prefix + "_" + version + "_skel.so"
}

// OptionsType is the runtime's type of the model's options.
func (v *view) OptionsType() string {
	switch {
	case v.Device != nil:
		return "DeviceOptions"
	case v.Remote != nil:
		return "RemoteOptions"
	}
	return "Options"
}

// remoteMembers are those of rules_dnn::RemoteOptions.
var remoteMembers = []string{"library", "message", "message_bytes", "fallback", "signed_process"}

// remoteStatuses are of models that run on a DSP.
var remoteStatuses = []status{
	{23, "DEVICE_MEMORY", "kDeviceMemory", "no shared memory is left, or none on the DSP"},
	{25, "DEVICE_LOST", "kDeviceLost", "the process on the DSP is gone; destroy the model and create it again"},
	{26, "DEVICE_FAILED", "kDeviceFailed", "another failure of FastRPC"},
	{28, "NO_DSP", "kNoDsp", "no FastRPC library on this machine, or no DSP that accepts calls"},
	{29, "NO_SKELETON", "kNoSkeleton", "the DSP does not find or load the model's skeleton library"},
	{30, "FOREIGN_SKELETON", "kForeignSkeleton", "the skeleton library belongs to another model or another compiler version"},
}

// mostBuffers is how many inputs or outputs a call has room for (runtime/fastrpc/wire.h).
const mostBuffers = 253

var hexagonVersion = regexp.MustCompile(`^v[0-9]{2}$`)

// checkRemote refuses what cannot be printed of a stub or a skeleton.
func (m *Model) checkRemote() error {
	if m.Remote == nil && m.Skeleton == nil {
		return nil
	}
	if n := max(len(m.Inputs), len(m.Outputs)); n > mostBuffers {
		return fmt.Errorf("%d inputs or outputs; a call of FastRPC supports %d", n, mostBuffers)
	}
	if m.Skeleton != nil {
		if m.Remote != nil || m.Device != nil || m.Weights.Mode != Embed || len(m.Variants) != 1 {
			return fmt.Errorf("a skeleton needs its weights and one chip, and cannot have a device or a stub")
		}
		return nil
	}
	if m.Device != nil {
		return fmt.Errorf("a stub cannot have an OpenCL device")
	}
	if len(m.Remote.Versions) == 0 {
		return fmt.Errorf("a stub without skeletons; want a version of Hexagon, such as v68")
	}
	for i, v := range m.Remote.Versions {
		if !hexagonVersion.MatchString(v) {
			return fmt.Errorf("the version %q of Hexagon; want v and two digits, such as v68", v)
		}
		if i > 0 && m.Remote.Versions[i-1] >= v {
			return fmt.Errorf("the versions %s of Hexagon; want each once, in ascending order", strings.Join(m.Remote.Versions, ", "))
		}
	}
	return nil
}
