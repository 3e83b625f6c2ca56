package masks

import (
	"bytes"
	"fmt"
	"slices"

	"rules_dnn/gen/ir"
	"rules_dnn/gen/kernel/fkw"
)

// Verify refuses masks that make no sense in themselves.
func (s *Set) Verify() error {
	seen := map[string]bool{}
	for _, l := range s.Layers {
		if seen[l.Name] {
			return l.errorf("the layer occurs twice")
		}
		seen[l.Name] = true
		if err := l.Verify(); err != nil {
			return err
		}
	}
	return nil
}

// Verify refuses a mask that makes no sense in itself.
func (l *Layer) Verify() error {
	if err := l.verifyShape(); err != nil {
		return l.errorf("%w", err)
	}
	if len(l.Patterns) > MaxPatterns {
		return l.errorf("%d patterns; want at most %d", len(l.Patterns), MaxPatterns)
	}
	table := fkw.Encoding{Patterns: l.Patterns, Share: 1}
	if err := table.Check(); err != nil {
		return l.errorf("%w", err)
	}
	if err := table.Fits(int64(l.Taps())); err != nil {
		return l.errorf("%w", err)
	}
	channels := l.Channels()
	for i, p := range l.Kernels {
		if int(p) > len(l.Patterns) {
			return l.errorf("the kernel of filter %d and channel %d has pattern %d; the table has %d", i/channels, i%channels, p, len(l.Patterns))
		}
	}
	return nil
}

func (l *Layer) verifyShape() error {
	if err := l.verifyAxes(); err != nil {
		return err
	}
	n, err := ir.Len(l.Shape[:2])
	switch {
	case err != nil:
		return err
	case n != int64(len(l.Kernels)):
		return fmt.Errorf("%d kernels for weights of shape %v, which have %d", len(l.Kernels), l.Shape, n)
	case l.Groups < 1 || l.Filters()%l.Groups != 0:
		return fmt.Errorf("%d groups of %d filters; want groups of equal size", l.Groups, l.Filters())
	case l.Share < 1:
		return fmt.Errorf("share = %d; want 1 or more filters", l.Share)
	}
	return l.verifyShared()
}

// verifyShared refuses filters that say that they share kernels and do not.
func (l *Layer) verifyShared() error {
	each, channels := l.Filters()/l.Groups, l.Channels()
	row := func(f int) []uint8 { return l.Kernels[f*channels : (f+1)*channels] }
	for f := range l.Filters() {
		if first := f - f%each%l.Share; !bytes.Equal(row(f), row(first)) {
			return fmt.Errorf("filters %d and %d have different kernels; share = %d wants them to be the same", first, f, l.Share)
		}
	}
	return nil
}

func (l *Layer) verifyAxes() error {
	if l.FilterAxis != 0 && l.FilterAxis != 1 {
		return fmt.Errorf("filter_axis %d; want 0 or 1", l.FilterAxis)
	}
	if len(l.Shape) < 2 {
		return fmt.Errorf("weights of shape %v; want filters, channels, and taps", l.Shape)
	}
	if _, err := ir.Len(l.Shape); err != nil {
		return err
	}
	return ir.Dims(l.Shape...).Fits(ir.F64)
}

// Fits refuses a mask that is of another weight tensor.
func (l *Layer) Fits(shape []int64, filterAxis, groups int) error {
	switch {
	case !slices.Equal(l.Shape, shape):
		return l.errorf("it is for weights of shape %v; the network's have %v (is the mask from another network?)", l.Shape, shape)
	case l.FilterAxis != filterAxis:
		return l.errorf("its filters are on axis %d; the filters of the network's weights are on axis %d", l.FilterAxis, filterAxis)
	case l.Groups != groups:
		return l.errorf("it has %d groups; the network's layer has %d", l.Groups, groups)
	}
	return nil
}
