package sel

import (
	"errors"
	"slices"

	"rules_dnn/gen/fusion/block"
	"rules_dnn/gen/target"
)

// addedBytes are those of the constants that a kernel reads beside another one's.
func addedBytes(own, k Kernel) (int64, error) {
	if k.SamePacking {
		return 0, nil
	}
	old, err := own.Args()
	if err != nil {
		return 0, err
	}
	args, err := k.Args()
	sum := int64(0)
	for _, x := range args {
		if x.Const != nil && !slices.Contains(old, x) {
			sum += x.Const.Len() * int64(x.Type.Size())
		}
	}
	return sum, err
}

// versionVariants chooses another chip's kernels for the versions. Those that cannot read the weights of the version's own kernel would
// add others for each chip: there is no such version then.
func (c *Choice) versionVariants(g *block.Graph, t *target.Target, o Options) (err error) {
	bySize := map[int64]*small{}
	everyBlock(g, 1, func(b *block.Block, _ float64) {
		if c.Versions[b] == nil || err != nil {
			return
		}
		var kept []*Version
		for _, v := range c.Versions[b] {
			if bySize[v.at] == nil {
				bySize[v.at] = newSmall(g, t, o, v.at)
			}
			k, e := bySize[v.at].variant(c, v)
			if e != nil {
				err = e
				return
			}
			added, e := addedBytes(v.Kernel, k)
			if err = errors.Join(err, e); added == 0 {
				v.Others = append(v.Others, k)
				kept = append(kept, v)
			}
		}
		if c.Versions[b] = kept; kept == nil {
			delete(c.Versions, b)
		}
	})
	return err
}

// variant is a chip's kernel of a version.
func (s *small) variant(c *Choice, v *Version) (Kernel, error) {
	defer s.within(v.Guard)()
	k, _, err := s.beside(v.narrow, v.Kernel, v.layouts(c))
	if err == nil {
		err = k.Make()
	}
	if err != nil {
		return Kernel{}, err
	}
	return v.own(k), nil
}
