package benchtest

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// browsers are commands that can show a page without a screen.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome"}

// browser runs a headless browser on a file and returns its output.
func browser(t *testing.T, file string, args ...string) (stdout, stderr string) {
	for _, name := range browsers {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		// The page is trusted and the profile temporary; the sandbox needs rights that tests do not
		// have.
		args = append(args, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr",
			"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "file://"+file)
		cmd := exec.Command(path, args...)
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		require.NoError(t, cmd.Run(), "%s\n%s", name, &log)
		return out.String(), log.String()
	}
	t.Skipf("no browser on this machine; looked for %s", strings.Join(browsers, ", "))
	return "", ""
}

func page(t *testing.T, appended string) string {
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, []byte(report(t, "html")+appended), 0o644))
	return file
}

// TestPage checks that a browser runs the page without an error and that the page shows all
// figures.
func TestPage(t *testing.T) {
	dom, log := browser(t, page(t, ""), "--dump-dom")
	assert.NotContains(t, log, "CONSOLE", "the page's script printed a message")
	assert.Contains(t, dom, `data-done="yes"`, "the script ran to its end")
	assert.Contains(t, dom, `<p id="error"></p>`)
	assert.Len(t, regexp.MustCompile(`<circle class="dot `).FindAllString(dom, -1), 3, "one for each block with operations")
	assert.Contains(t, dom, "Without a dot: 2 of 5 blocks")
	assert.Len(t, regexp.MustCompile(`<rect class="bar `).FindAllString(dom, -1), 5)
	assert.Len(t, regexp.MustCompile(`<rect class="part `).FindAllString(dom, -1), 3, "one for each block with micro-kernels")
	assert.Len(t, regexp.MustCompile(`<line class="asked" `).FindAllString(dom, -1), 3)
	assert.Contains(t, dom, "3 with micro-kernels: 77.6 % together; minimum 3.6 %, block 1.")
	assert.Len(t, regexp.MustCompile(`<tr>`).FindAllString(dom, -1), 1+5)
	assert.Contains(t, dom, "&lt;img src=x onerror=throw(2)&gt;&amp;amp;", "a name is text")
	assert.NotContains(t, dom, "<img")
	assert.Contains(t, dom, "<title>0: Conv \"a\" + Relu \"b\" (contraction)\n2.5 ms, 20.8 % of the time\n80 GFLOP/s, 80.0 % of the peak, micro-kernels 88.0 %\n")
}

// TestSorting checks that a click on a column's head sorts by it, and a second click reverses the
// order.
func TestSorting(t *testing.T) {
	steps := []struct{ column, want string }{
		{"", "01234"}, {"time", "34012"}, {"time", "21043"}, {"number", "01234"}, {"name", "10243"}, {"name", "34201"}, {"flops", "40123"}, {"bound", "31204"},
	}
	script := `<p id="orders"></p><script>`
	for _, s := range steps {
		if s.column != "" {
			script += `document.querySelector('th[data-key="` + s.column + `"]').click();`
		}
		script += `document.getElementById("orders").textContent += [...document.querySelectorAll("tbody tr")].map((r) => r.firstChild.textContent).join("") + ";";`
	}
	dom, _ := browser(t, page(t, script+"</script>"), "--dump-dom")
	_, orders, _ := strings.Cut(dom, `<p id="orders">`)
	for _, s := range steps {
		var got string
		got, orders, _ = strings.Cut(orders, ";")
		assert.Equal(t, s.want, got, "after a click on %q", s.column)
	}
}

// TestLeast checks that shares and table show only blocks that are at least as large as the user's
// minimum.
func TestLeast(t *testing.T) {
	const script = `<script>const least = document.getElementById("least"); least.value = "250"; least.oninput();</script>`
	dom, log := browser(t, page(t, script), "--dump-dom")
	assert.NotContains(t, log, "CONSOLE")
	assert.Contains(t, dom, "1 with micro-kernels: 92.3 % together; minimum 92.3 %, block 4.")
	assert.Len(t, regexp.MustCompile(`<rect class="part `).FindAllString(dom, -1), 1)
	assert.Len(t, regexp.MustCompile(`<tr>`).FindAllString(dom, -1), 1+1)
	assert.Len(t, regexp.MustCompile(`<rect class="bar `).FindAllString(dom, -1), 5, "times are of all blocks")

	dom, _ = browser(t, page(t, strings.Replace(script, "250", "1000", 1)), "--dump-dom")
	assert.Contains(t, dom, "No block has micro-kernels.")
}

// TestPicture checks that roofline, shares and bars are drawn in their colours.
func TestPicture(t *testing.T) {
	shot := filepath.Join(t.TempDir(), "page.png")
	_, _ = browser(t, page(t, ""), "--screenshot="+shot, "--window-size=1360,1500")
	data, err := os.ReadFile(shot)
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	if dir := os.Getenv("TEST_UNDECLARED_OUTPUTS_DIR"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "page.png"), data, 0o644))
	}
	blue, brown := coloured(img)
	assert.Greater(t, blue, 2000, "dots and bars of blocks that are limited by arithmetic")
	assert.Greater(t, brown, 500, "dots and bars of blocks that are limited by memory")
}

// inFrame writes a page that shows the report in a frame of a given width, as on a phone. It
// reports the report's width, title and heading. It also reports elements outside scrolling boxes
// that are wider than the frame, labels that leave the box of bars, and the minimum height of text
// in pictures.
func inFrame(t *testing.T, width int) string {
	const script = `<p id="out"></p><script>
const frame = document.getElementById("frame");
frame.onload = () => {
  const d = frame.contentDocument, w = frame.clientWidth, wide = [];
  for (const e of d.body.querySelectorAll("*")) {
    if (!e.closest(".table, .bars") && e.getBoundingClientRect().right > w + 1) wide.push(e.tagName + "." + e.className);
  }
  const box = d.querySelector(".bars").getBoundingClientRect(), labels = [...d.querySelectorAll(".label")].map((e) => e.getBoundingClientRect());
  const texts = [...d.querySelectorAll("svg text")].map((e) => parseFloat(getComputedStyle(e).fontSize) * Math.hypot(e.getScreenCTM().b, e.getScreenCTM().d));
  document.getElementById("out").textContent = "width " + d.documentElement.scrollWidth + "; wide: " + wide.join(" ") + "; title " + d.title + "; heading " +
    d.querySelector("h1").textContent + "; table " + (d.querySelector(".table").scrollWidth > d.querySelector(".table").clientWidth ? "scrolls" : "fits") +
    "; labels " + (labels.every((l) => l.left >= box.left && l.right <= box.right) ? "fit" : "are cut") + "; least text " + Math.round(Math.min(...texts)) + ";";
};
</script>`
	file := filepath.Join(t.TempDir(), "frame.html")
	text := `<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0"><iframe id="frame" width="` + fmt.Sprint(width) + `" height="3000" style="border: 0" srcdoc="` +
		strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(report(t, "html")) + `"></iframe>` + script
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// TestPhone checks that at a phone's width nothing is cut off and only the table scrolls sideways,
// in its own box. Text in pictures has its normal size. The title and the heading name the model.
func TestPhone(t *testing.T) {
	for _, width := range []int{360, 1280} {
		file := inFrame(t, width)
		dom, _ := browser(t, file, "--dump-dom", "--window-size=1400,3000")
		_, out, _ := strings.Cut(dom, `<p id="out">`)
		assert.Contains(t, out, fmt.Sprintf("width %d; wide: ; title Benchmark of nets/", width))
		assert.Contains(t, out, "; heading Benchmark of nets/")
		assert.Contains(t, out, "; labels fit; least text 12;")
		if width == 360 {
			assert.Contains(t, out, "; table scrolls;")
		}
		if dir := os.Getenv("TEST_UNDECLARED_OUTPUTS_DIR"); dir != "" {
			_, _ = browser(t, file, "--screenshot="+filepath.Join(dir, fmt.Sprintf("width%d.png", width)), fmt.Sprintf("--window-size=%d,3000", max(width, 500)))
		}
	}
	html := report(t, "html")
	assert.Contains(t, html, "<title>Benchmark of nets/&lt;/script>&lt;script>throw 1&lt;/script></title>", "even without scripts")
	assert.Contains(t, html, `<h1 id="title">Benchmark of nets/&lt;/script>`)
}

// TestLabels checks that the label of a bar keeps the end of a long name, which distinguishes the
// nodes of a network.
func TestLabels(t *testing.T) {
	const script = `<p id="short"></p><script>
document.getElementById("short").textContent = [40, 20, 9].map((n) => shortened("Conv /features.12/conv/conv.1/Conv", n)).join(";") + ";";
</script>`
	dom, log := browser(t, page(t, script), "--dump-dom")
	assert.NotContains(t, log, "CONSOLE")
	assert.Contains(t, dom, `<p id="short">Conv /features.12/conv/conv.1/Conv;Conv /…v/conv.1/Conv;Conv…Conv;</p>`)
}

// coloured counts the pixels that are rather blue, and rather brown.
func coloured(img image.Image) (blue, brown int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			red, _, bl, _ := img.At(x, y).RGBA()
			switch {
			case bl > red+0x5000:
				blue++
			case red > bl+0x5000:
				brown++
			}
		}
	}
	return blue, brown
}
