package cppapi

import "slices"

// Variant is a chip that the library has kernels for.
type Variant struct {
	Name        string
	CPUFeatures []string
	// Prefix begins the name of its profile's function, and Profile is what that tells: variants that run the same have one.
	Prefix  string
	Profile Profile
}

// ProfileName is the file name of the profile.
func (v *Variant) ProfileName() string { return v.Prefix + "_profile.cc" }

// profile is the model as it prints a variant's profile: that of the first tells of all.
func (m *Model) profile(variant int) *Model {
	if len(m.Variants) == 0 {
		return m
	}
	x, v := *m, m.Variants[variant]
	x.Prefix, x.Profile = v.Prefix, v.Profile
	if variant > 0 {
		x.Variants = nil
	}
	return &x
}

// statusesOf are those that a model's functions may give: only the options of one with variants name one.
func statusesOf(m *Model) []status {
	out := statuses[:len(statuses):len(statuses)]
	if len(m.Variants) > 0 {
		out = append(out, unknownVariant)
	}
	if m.Device != nil {
		out = append(out, deviceStatuses...)
	}
	return out
}

var unknownVariant = status{18, "UNKNOWN_VARIANT", "kUnknownVariant", "the options or DNN_VARIANT name a chip that the library has no kernels for"}

// first is the number of the first variant that has a variant's profile.
func (m *Model) first(i int) int {
	return slices.IndexFunc(m.Variants, func(v Variant) bool { return v.Prefix == m.Variants[i].Prefix })
}
