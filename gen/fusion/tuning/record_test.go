package tuning

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseErrors(t *testing.T) {
	chip := func(rest string) string {
		return `{"version": 1, "chips": [{"chip": "a", "threads": 1, ` + rest + `}]}`
	}
	for text, want := range map[string]string{
		`nothing`:                     "tuning record: line 1: malformed JSON: invalid character",
		`[]`:                          "line 1: it is a list; want an object",
		`{"version": 1} {}`:           "trailing data after the JSON object",
		`{"version": 1, "chip": "x"}`: `unknown field "chip"`,
		`{}`:                          "tuning record: its version is 0",
		`{"version": 4}`:              "tuning record: its version is 4; this compiler reads 1 to 3. Remove the file and measure again",
		`{"version": 1, "chips": [{"threads": 1}]}`:                                           "chip 0 has no name",
		`{"version": 1, "chips": [{"chip": "a", "threads": 0}]}`:                              "chip a: threads is 0; want a number from 1",
		`{"version": 1, "chips": [{"chip": "a", "threads": 1}, {"chip": "a", "threads": 1}]}`: "chip a is listed twice",
		chip(`"blocks": [{"what": "Conv"}]`):                                                  "chip a: block 0 has no key",
		chip(`"blocks": [{"key": "k"}, {"key": "k"}]`):                                        `block "k" is listed twice`,
		chip(`"blocks": [{"key": "k", "kernels": [{"us": 1}]}]`):                              `block "k": a kernel has no name`,
		chip(`"blocks": [{"key": "k", "kernels": [{"kernel": "x", "us": -1}]}]`):              `kernel "x" takes -1 us; want a positive number`,
		chip(`"blocks": [{"key": "k", "kernels": [{"kernel": "x", "us": 1e999}]}]`):           "1e999",
		chip(`"blocks": [{"key": "k", "kernels": [{"kernel": "x", "us": 1}]}]`):               `kernel "x" was measured in 0 rounds; want a number from 1`,
		chip(`"blocks": [{"key": "k", "kernels": [{"kernel": "x"}]}]`):                        "takes 0 us",
		chip(`"blocks": [{"key": "k", "kernels": [{"kernel": "x", "us": 1, "rounds": 1, "params": "rows"}, {"kernel": "y", "us": 1, "rounds": 1, "params": "a b=c"}]}]`): `block "k": kernel "y": parameters "a b=c"`,
		chip(`"blocks": [{"key": "k", "kernels": [{"kernel":"x","us":1,"rounds":1},{"kernel":"x","us":2}]}]`):                                                            `kernel "x" is listed twice`,
	} {
		_, err := Parse([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestFor(t *testing.T) {
	r, err := Parse(nil)
	require.NoError(t, err, "an empty file is where a record begins")
	times, err := r.For("a")
	require.NoError(t, err)
	assert.Empty(t, times)

	r.On("a", 1).Set("k", "Conv", Kernel{"x", 3, 5, ""})
	r.On("a", 1).Set("k", "Conv", Kernel{"z", 2, 5, ""})
	r.On("a", 1).Set("k", "Conv", Kernel{"y", 2, 5, ""})
	times, err = r.For("a")
	require.NoError(t, err)
	assert.Equal(t, Times{"k": {{"y", 2, 5, ""}, {"z", 2, 5, ""}, {"x", 3, 5, ""}}}, times, "the fastest first, then by name")

	_, err = r.For("b")
	assert.ErrorContains(t, err, "the tuning record has times of a, but the model is compiled for b: measure there too, which adds to the record, or use the record only for its chips (in Bazel: tuning = select(...))")
	r.On("c", 1)
	times, err = r.For("b")
	require.NoError(t, err, "a record of several chips serves models for further ones")
	assert.Empty(t, times)
}

// TestForVariants: each chip of a library has its own times, and those that were not measured none.
func TestForVariants(t *testing.T) {
	r := &Record{}
	r.On("b", 1).Set("k", "Conv", Kernel{"x", 3, 5, ""})
	times, err := r.ForVariants([]string{"a", "b"})
	require.NoError(t, err)
	assert.Equal(t, []Times{nil, {"k": {{"x", 3, 5, ""}}}}, times)
	_, err = r.ForVariants([]string{"a", "c"})
	assert.ErrorContains(t, err, "the tuning record has times of b, but the model is compiled for a: measure there too, which adds to the record, or use the record only for its chips (in Bazel: tuning = select(...))")
}

// TestForDevice: a device's times are beside those of the processor, whichever that is; a record of one other device is an error, and says what to do.
func TestForDevice(t *testing.T) {
	r := &Record{}
	r.On("a", 1).Set("k", "Conv", Kernel{"x", 3, 5, ""})
	host, there, err := r.ForDevice("a", "gpu")
	require.NoError(t, err, "of devices it says nothing")
	assert.Equal(t, Times{"k": {{"x", 3, 5, ""}}}, host)
	assert.Empty(t, there)
	_, _, err = r.ForDevice("b", "gpu")
	assert.ErrorContains(t, err, "the tuning record has times of a, but the model is compiled for b: measure there too, which adds to the record, or use the record only for its chips (in Bazel: tuning = select(...))")

	r.OnDevice("gpu").Set("k", "Conv", Kernel{"y", 2, 5, ""})
	assert.Equal(t, "y", r.OnDevice("gpu").All("k")[0].Name)
	assert.Equal(t, "x", r.On("a", 1).All("k")[0].Name)
	host, there, err = r.ForDevice("a", "gpu")
	require.NoError(t, err)
	assert.Equal(t, Times{"k": {{"x", 3, 5, ""}}}, host)
	assert.Equal(t, Times{"k": {{"y", 2, 5, ""}}}, there)
	host, there, err = r.ForDevice("b", "gpu")
	require.NoError(t, err, "the device is known")
	assert.Empty(t, host)
	assert.Equal(t, Times{"k": {{"y", 2, 5, ""}}}, there)
	_, _, err = r.ForDevice("a", "other")
	assert.EqualError(t, err, "the tuning record has times of the device gpu, but the model is compiled for the device other: measure there too, which adds to the record, "+
		"or use the record only for its devices (in Bazel: tuning = select(...), or device = the facts of gpu)")
	times, err := r.For("a")
	require.NoError(t, err)
	assert.Equal(t, Times{"k": {{"x", 3, 5, ""}}}, times)
	_, err = r.For("gpu")
	assert.ErrorContains(t, err, "the tuning record has times of a, but the model is compiled for gpu: measure there too, which adds to the record, or use the record only for its chips (in Bazel: tuning = select(...))", "a device is no processor")
	_, _, err = r.ForDevice("a", "a")
	assert.ErrorContains(t, err, "the tuning record has times of the device gpu, but the model is compiled for the device a: measure there too, which adds to the record, or use the record only for its devices (in Bazel: tuning = select(...), or device = the facts of gpu)", "nor a processor a device")

	r.OnDevice("third")
	_, there, err = r.ForDevice("a", "other")
	require.NoError(t, err, "a record of several devices serves models for further ones")
	assert.Empty(t, there)
}

// TestDeviceText: records of devices are of another version, and read back.
func TestDeviceText(t *testing.T) {
	const want = `{
 "version": 3,
 "chips": [
  {"chip": "gpu", "threads": 2, "blocks": []},
  {"chip": "gpu", "device": true, "threads": 1, "blocks": [
   {"key": "k", "what": "Conv", "kernels": [
    {"kernel": "y", "us": 2, "rounds": 5}]}]}
 ]
}
`
	r := &Record{}
	r.On("gpu", 2)
	r.OnDevice("gpu").Set("k", "Conv", Kernel{"y", 2, 5, ""})
	require.Equal(t, want, string(r.Text()))
	back, err := Parse(r.Text())
	require.NoError(t, err)
	assert.Equal(t, want, string(back.Text()))
	_, err = Parse([]byte(`{"version": 3, "chips": [{"chip": "a", "device": true, "threads": 1}, {"chip": "a", "device": true, "threads": 1}]}`))
	assert.ErrorContains(t, err, "chip a is listed twice")
}

const golden = `{
 "version": 2,
 "chips": [
  {"chip": "arm64", "threads": 2, "blocks": []},
  {"chip": "x86_64_v4", "threads": 1, "blocks": [
   {"key": "b", "what": "Conv", "kernels": [
    {"kernel": "contraction tile 14x2", "params": "contraction rows=14 vectors=2", "us": 104.2, "rounds": 5},
    {"kernel": "winograd", "us": 0.08125, "rounds": 5}]},
   {"key": "a", "what": "Gemm \"x\"", "kernels": [
    {"kernel": "generic", "us": 3, "rounds": 5}]}]}
 ]
}
`

// TestText: the same text in whatever order times come in, which reads back.
func TestText(t *testing.T) {
	for seed := range int64(5) {
		r := &Record{}
		sets := []func(){
			func() {
				r.On("x86_64_v4", 1).Set("b", "Conv", Kernel{"contraction tile 14x2", 104.2, 5, "contraction rows=14 vectors=2"})
			},
			func() { r.On("x86_64_v4", 1).Set("b", "Conv", Kernel{"winograd", 0.08125, 5, ""}) },
			func() { r.On("x86_64_v4", 1).Set("a", `Gemm "x"`, Kernel{"generic", 3, 5, ""}) },
			func() { r.On("arm64", 2) },
		}
		rand.New(rand.NewSource(seed)).Shuffle(len(sets), func(i, k int) { sets[i], sets[k] = sets[k], sets[i] })
		for _, set := range sets {
			set()
		}
		require.Equal(t, golden, string(r.Text()))
		back, err := Parse(r.Text())
		require.NoError(t, err)
		assert.Equal(t, golden, string(back.Text()))
		assert.Equal(t, Kernel{"winograd", 0.08125, 5, ""}, back.On("x86_64_v4", 1).Get("b", "winograd"))
		assert.Equal(t, Kernel{Name: "generic"}, back.On("x86_64_v4", 1).Get("b", "generic"))
		back.On("x86_64_v4", 1).Set("a", `Gemm "x"`, Kernel{"generic", 4, 5, ""})
		assert.Len(t, back.On("x86_64_v4", 1).Blocks[1].Kernels, 1, "measured again is measured once")
	}
	assert.Equal(t, "{\n \"version\": 2,\n \"chips\": [\n ]\n}\n", string((&Record{}).Text()))
}
