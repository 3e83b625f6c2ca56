package cppapi

import "slices"

// Variant is a chip that the library has kernels for.
type Variant struct {
	Name string
	// CPUFeatures that its kernels need beyond the architecture's baseline, by the names of runtime/dnn_cpu.h.
	CPUFeatures []string
	// Prefix begins the name of its profile's function, and Profile is what that tells: variants that run the same have one.
	Prefix  string
	Profile Profile
}

// ProfileName is the file name of the profile.
func (v *Variant) ProfileName() string { return v.Prefix + "_profile.cc" }

// statusesOf are those that a model's functions may give.
func statusesOf(m *Model) []status {
	out := statuses[:len(statuses):len(statuses)]
	if m.Device != nil {
		out = append(out, deviceStatuses...)
	}
	if m.Remote != nil {
		out = append(out, remoteStatuses...)
	}
	return out
}

// first is the number of the first variant that has a variant's profile.
func (m *Model) first(i int) int {
	return slices.IndexFunc(m.Variants, func(v Variant) bool { return v.Prefix == m.Variants[i].Prefix })
}
