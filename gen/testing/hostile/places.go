package hostile

import (
	"math"
	"strconv"
	"strings"
)

// badPlaces are numbers of rows, places and lengths that do not count from the end: -1, the ends of the type,
// and one past the last that is right ($ stands for each).
func badPlaces() []spec {
	var out []spec
	for _, s := range []struct {
		spec
		past int64
	}{
		{spec{op: "RotaryEmbedding", in: "f32[1,1,2,4] f32[3,2] f32[3,2] i64[1,2]=1,$"}, 3},
		{spec{op: "Attention", in: "f32[1,1,2,4] f32[1,1,3,4] f32[1,1,3,4] _ _ _ i64[1]=$"}, 4},
		{spec{op: "TensorScatter", in: "f32[1,4,2] f32[1,2,2] i64[1]=$"}, 3},
		{spec{op: "ReverseSequence", attrs: []any{"batch_axis", 1, "time_axis", 0}, in: "f32[3,2] i64[2]=1,$"}, 4},
		{spec{op: "MaxUnpool", attrs: []any{"kernel_shape", []int64{2, 2}, "strides", []int64{2, 2}}, in: "f32[1,1,1,1] i64[1,1,1,1]=$"}, 4},
		{spec{op: "RoiAlign", attrs: []any{"sampling_ratio", 2}, in: "f32[2,1,4,4] f32[2,4] i64[2]=0,$"}, 2},
		{spec{op: "NegativeLogLikelihoodLoss", in: "f32[2,3] i64[2]=0,$"}, 3},
		{spec{op: microsoft + ".RotaryEmbedding", attrs: []any{"num_heads", 1}, in: "f32[1,2,4] i64[1,2]=1,$ f32[3,2] f32[3,2]"}, 3},
		{spec{op: microsoft + ".RotaryEmbedding", attrs: []any{"num_heads", 1}, in: "f32[1,2,4] i64[1]=$ f32[3,2] f32[3,2]"}, 2},
		{spec{op: microsoft + ".Attention", attrs: []any{"num_heads", 1}, in: "f32[1,2,4] f32[4,12] f32[12] i32[1]=$"}, -2},
		{spec{op: microsoft + ".MultiHeadAttention", attrs: []any{"num_heads", 1}, in: "f32[1,2,4] f32[1,2,4] f32[1,2,4] _ i32[1]=$"}, -2},
		{spec{op: microsoft + ".EmbedLayerNormalization", in: "i32[1,2]=0,$ _ f32[3,4] f32[2,4] _ f32[4] f32[4]"}, 3},
		{spec{op: microsoft + ".EmbedLayerNormalization", in: "i32[1,2]=0 i32[1,2]=0,$ f32[3,4] f32[2,4] f32[2,4] f32[4] f32[4]"}, 2},
		{spec{op: microsoft + ".EmbedLayerNormalization", in: "i32[1,2]=0 _ f32[3,4] f32[2,4] _ f32[4] f32[4] _ i32[1,2]=1,$"}, 2},
		{spec{op: groupedQueries, attrs: oneHead, in: cachedKeys + " i32[1]=$ T:i32[]=3"}, 3},
		{spec{op: groupedQueries, attrs: append([]any{"do_rotary", 1}, oneHead...), in: cachedKeys + " i32[1]=2 T:i32[]=3 f32[3,4] f32[3,4] i64[1,1]=$"}, 3},
	} {
		least, most := int64(math.MinInt64), int64(math.MaxInt64)
		if strings.Contains(s.in, "i32") && !strings.Contains(s.in, "i64") {
			least, most = math.MinInt32, math.MaxInt32
		}
		values := []int64{-1, least, most, s.past}
		if s.past < 0 { // a length of which more than there are is all
			values = []int64{-1, least, s.past}
		}
		for _, v := range values {
			wrong := s.spec
			wrong.in = strings.ReplaceAll(s.in, "$", strconv.FormatInt(v, 10))
			out = append(out, wrong)
		}
	}
	return out
}
