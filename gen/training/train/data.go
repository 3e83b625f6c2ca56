package train

import (
	"fmt"
	"slices"
)

// Data is labelled images.
type Data interface {
	Len() int
	// Image writes the elements of image i and gives its class.
	Image(i int, to []float32) (class int)
}

// Images are labelled images in memory, one byte an element, which are scaled to (x/255 - Mean) / Deviation by channel.
type Images struct {
	Shape           []int64 // of one: channels, rows, columns
	Pixels          []byte
	Classes         []byte
	Mean, Deviation []float32
}

// Len is how many images there are.
func (d *Images) Len() int { return len(d.Classes) }

// Image writes the elements of image i and gives its class.
func (d *Images) Image(i int, to []float32) int {
	plane := len(to) / int(d.Shape[0])
	from := d.Pixels[i*len(to) : (i+1)*len(to)]
	for k, x := range from {
		v := float32(x) / 255
		if c := k / plane; c < len(d.Mean) {
			v = (v - d.Mean[c]) / d.Deviation[c]
		}
		to[k] = v
	}
	return int(d.Classes[i])
}

// Part are images from, to and step of a set.
type Part struct {
	Data
	Order []int
}

// Len is how many images there are.
func (p Part) Len() int { return len(p.Order) }

// Image writes the elements of image i and gives its class.
func (p Part) Image(i int, to []float32) int { return p.Data.Image(p.Order[i], to) }

// fill makes a batch of images.
func (n *Network) fill(b *Batch, d Data, which []int, smoothing float64, change func(k int, image []float32)) error {
	images, targets := f32(b.Images), f32(b.Targets)
	size, classes := len(images)/len(which), int(n.Classes)
	rest := float32(smoothing / float64(classes))
	for k, i := range which {
		image := images[k*size : (k+1)*size]
		class := d.Image(i, image)
		if class < 0 || class >= classes {
			return fmt.Errorf("image %d has class %d; the network has %d classes", i, class, classes)
		}
		if change != nil {
			change(k, image)
		}
		row := targets[k*classes : (k+1)*classes]
		for c := range row {
			row[c] = rest
		}
		row[class] += float32(1 - smoothing)
	}
	return nil
}

// augment mirrors and moves an image of channels, rows and columns.
type augment struct {
	shape []int64
	flip  bool
	crop  int
	old   []float32
}

func newAugment(shape []int64, s *Settings) (*augment, error) {
	if !s.Flip && s.Crop == 0 {
		return nil, nil
	}
	if len(shape) != 3 {
		return nil, fmt.Errorf("images have shape %v; flips and crops want channels, rows and columns", shape)
	}
	return &augment{shape: shape, flip: s.Flip, crop: s.Crop}, nil
}

func (a *augment) change(r *random, image []float32) {
	a.old = append(a.old[:0], image...)
	rows, columns := int(a.shape[1]), int(a.shape[2])
	mirror := a.flip && r.below(2) == 1
	down, right := r.below(2*a.crop+1)-a.crop, r.below(2*a.crop+1)-a.crop
	for at := range image {
		y, x := at/columns%rows+down, at%columns+right
		if y < 0 || y >= rows || x < 0 || x >= columns {
			image[at] = 0
			continue
		}
		if mirror {
			x = columns - 1 - x
		}
		image[at] = a.old[at/(rows*columns)*rows*columns+y*columns+x]
	}
}

// batches are the numbers of the images of an epoch's batches: all but the last ones, which are no whole batch.
func batches(r *random, images int, size int64) [][]int {
	return slices.Collect(func(yield func([]int) bool) {
		order := r.order(images)
		for len(order) >= int(size) && yield(order[:size]) {
			order = order[size:]
		}
	})
}
