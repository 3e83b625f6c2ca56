package loop

// Matrices is how a micro-kernel of an instruction that multiplies matrices walks its sum: the K loops, those joined that walk both operands as one
// loop would, and how many points of the last one an application takes in. They are as many in each as the instruction's Matrix allows, or in all but the
// last one, which has the rest.
func (m *MicroKernel) Matrices() (k []KLoop, deep int64) {
	for _, l := range m.K {
		switch n := len(k); {
		case n > 0 && (k[n-1].Extent == 1 || k[n-1].XStep == l.Extent*l.XStep && k[n-1].WStep == l.Extent*l.WStep):
			k[n-1] = KLoop{k[n-1].Extent * l.Extent, l.XStep, l.WStep}
		case n == 0 || l.Extent > 1:
			k = append(k, l)
		}
	}
	if k == nil {
		k = []KLoop{{Extent: 1}}
	}
	points := k[len(k)-1].Extent
	times := (points + m.Instr.Matrix - 1) / m.Instr.Matrix
	if points%times == 0 {
		return k, points / times
	}
	return k, m.Instr.Matrix
}

// MatrixSteps is how many points of the sum, up to Matrix each, applications of such an instruction take in one after the other.
func (m *MicroKernel) MatrixSteps() int64 {
	k, deep := m.Matrices()
	n := int64(1)
	for _, l := range k[:len(k)-1] {
		n *= l.Extent
	}
	return n * ((k[len(k)-1].Extent + deep - 1) / deep)
}

// ReadsMatrices reports whether rows of X lie equally far apart, and neighbours along the innermost loop side by side.
func (m *MicroKernel) ReadsMatrices() bool {
	k, _ := m.Matrices()
	last := k[len(k)-1]
	return m.Broadcast() && m.Run == 0 && m.Kept == nil && (last.Extent == 1 || last.XStep == m.Instr.Group)
}
