package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rules_dnn/gen/emit/hexagon/isa"
	"rules_dnn/gen/emit/hexagon/machine"
)

// nothing is memory of which nothing may be read or written.
type nothing struct{ isa.Storage }

func run(t *testing.T, text string) (*isa.State, machine.Count, error) {
	p, err := machine.Parse(text)
	require.NoError(t, err)
	s := &isa.State{Mem: nothing{}}
	c, err := p.Run(68, s)
	return s, c, err
}

// TestLoop: the packets of a hardware loop run as often as it says, and all of a packet reads what was there before it.
func TestLoop(t *testing.T) {
	s, c, err := run(t, `
{ loop0(0f,#5); r1 = #1; r2 = #10 }
0:
{ r1 = add(r2,#0); r2 = add(r1,#0) }
{ r3 = add(r3,#2) }:endloop0
{ jumpr r31 }
`)
	require.NoError(t, err)
	assert.Equal(t, machine.Count{Packets: 12, Instructions: 19}, c)
	assert.Equal(t, uint32(10), s.R[3])
	assert.Equal(t, []uint32{10, 1}, s.R[1:3], "they changed places five times")
}

// TestStalls: an early source that the packet before wrote waits, a late one and one of two packets before do not.
func TestStalls(t *testing.T) {
	for text, want := range map[string]int{
		"{ v0 = vxor(v1,v1) }\n{ v2.w = vrmpy(v0.ub,r0.b) }":                             1,
		"{ v0 = vxor(v1,v1) }\n{ v2.w = vadd(v0.w,v3.w) }":                               0,
		"{ v0 = vxor(v1,v1) }\n{ v2.w = vadd(v3.w,v3.w) }\n{ v2.w = vrmpy(v0.ub,r0.b) }": 0,
		"{ v0 = vxor(v1,v1) }\n{ r1 = #0 }\n{ v2.w = vrmpy(v0.ub,r0.b) }":                1, // scalars are no vectors' packet
		"{ v0.w = vrmpy(v1.ub,r0.b) }\n{ v0.w += vrmpy(v1.ub,r0.b) }":                    0, // sums are late
	} {
		_, c, err := run(t, text+"\n{ jumpr r31 }")
		require.NoError(t, err)
		assert.Equal(t, want, c.Stalls, text)
	}
}

// TestListing: what disassemblers print, with jumps on new values and a loop within another.
func TestListing(t *testing.T) {
	p, err := machine.ParseListing(`
00000000 <f>:
       0: { 	r3 = #0x3
       4:   	loop1(0x8,#0x2) }
       8: { 	loop0(0xc,#0x4) }
       c: { 	r4 = add(r4,#0x1)
      10:   	nop }  :endloop0
      14: { 	nop
      18:   	nop }  :endloop1
      1c: { 	r3 = add(r3,#-0x1)
      20:   	if (!cmp.eq(r3.new,#0x0)) jump:t 0x1c <f+0x1c> }
      24: { 	jumpr r31 }
`)
	require.NoError(t, err)
	s := &isa.State{Mem: nothing{}}
	c, err := p.Run(68, s)
	require.NoError(t, err)
	assert.Equal(t, uint32(8), s.R[4])
	assert.Zero(t, s.R[3])
	assert.Equal(t, 1+2+8+2+3+1, c.Packets)
}

// TestText: what String writes parses back, with the ends of both loops.
func TestText(t *testing.T) {
	for _, end := range []string{"", ":endloop0", ":endloop1", ":endloop01"} {
		text := "a:\n{ r3 = add(r3,#2); nop }" + end + "\n"
		p, err := machine.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, text, p.String())
	}
}

func TestErrors(t *testing.T) {
	_, err := machine.Parse("{ v0 = vmystery(v1) }")
	require.ErrorContains(t, err, `has no "v0 = vmystery(v1)"`)
	_, err = machine.Parse("v0 = vsplat(r1)")
	require.ErrorContains(t, err, "no packet")
	_, _, err = run(t, "{ nop }")
	require.ErrorContains(t, err, "past its end")
	_, _, err = run(t, "{ r0 = #4; loop0(here,#2) }")
	require.ErrorContains(t, err, "no packet at here")
	_, _, err = run(t, "{ jumpr r0 }")
	require.ErrorContains(t, err, "a jump to 0x0")
	p, err := machine.Parse("{ v0 = vmem(r0+#0); v1 = vmem(r1+#0) }")
	require.NoError(t, err)
	require.ErrorContains(t, p.Check(68), "no slots and units")
}
