package hostile

// zeroSampled read the nearest, the reflected or the only element of an axis that has none, for results that there
// are: an index that is clamped to such an axis is -1.
func zeroSampled() []spec {
	var out []spec
	add := func(op, in string, attrs ...any) { out = append(out, spec{op, attrs, in, ""}) }
	for _, mode := range []string{"linear", "nearest", "cubic"} {
		for _, padding := range []string{"border", "reflection"} {
			for _, corners := range []int{0, 1} {
				attrs := []any{"mode", mode, "padding_mode", padding, "align_corners", corners}
				for _, in := range []string{"f32[1,1,0,4] f32[1,2,2,2]=0.3", "f32[1,1,4,0] f32[1,2,2,2]=0.3", "f32[1,1,0,0] f32[1,2,2,2]=-1"} {
					add("GridSample", in, attrs...)
				}
				if mode != "cubic" {
					add("GridSample", "f32[1,1,0,2,3] f32[1,1,1,2,3]=0.3", attrs...)
					add("GridSample", "f32[1,1,2,3,0] f32[1,1,1,2,3]=0.3", attrs...)
				}
			}
		}
		add("Resize", "x:f32[1,1,0,4] _ _ S:i64[4]=1,1,8,8", "mode", mode)
		add("Resize", "x:f32[1,1,4,0] _ _ S:i64[4]=1,1,2,2", "mode", mode)
	}
	for _, mode := range []string{"avg", "max"} {
		add("RoiAlign", "f32[1,1,0,4] f32[2,4]=0 i64[2]=0", "sampling_ratio", 2, "mode", mode)
		add("RoiAlign", "f32[1,1,4,0] f32[2,4]=1 i64[2]=0", "sampling_ratio", 2, "mode", mode)
		add("RoiAlign", "f32[0,1,4,4] f32[2,4]=1 i64[2]=0", "sampling_ratio", 2, "mode", mode)
	}
	add("MaxRoiPool", "f32[0,1,4,4] f32[2,5]=0", "pooled_shape", []int64{2, 2})
	for _, mode := range []string{"edge", "reflect", "wrap"} {
		add("Pad", "x:f32[2,0] P:i64[4]=0,1,0,0", "mode", mode)
		add("Pad", "x:f32[0,2] P:i64[4]=3,1,0,0", "mode", mode)
	}
	add("GatherND", "f32[2,0] i64[2,1]=0", "batch_dims", 1)
	add("GatherElements", "f32[2,0] i64[2,1]=0", "axis", 1)
	add("OneHot", "x:i64[2]=0 D:i64[]=3 v:f32[0]=")
	add("TensorScatter", "x:f32[1,0,2] u:f32[1,1,2] w:i64[1]=0")
	add("RotaryEmbedding", "f32[1,1,2,4] f32[0,2] f32[0,2] i64[1,2]=0")
	add("MaxUnpool", "x:f32[1,1,1,1] i:i64[1,1,1,1]=0 S:i64[4]=1,1,0,2", "kernel_shape", []int64{2, 2})
	return out
}
