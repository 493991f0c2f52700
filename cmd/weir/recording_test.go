package main

import (
	"flag"
	"fmt"
	"html"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var updateRecording = flag.Bool("recording.update", false, "write docs/screenshots/demo.svg from the output of the demo")

const (
	recording   = "../../docs/screenshots/demo.svg"
	recorded    = "5. "  // the story that is shown
	lineHeight  = 18     // pixels
	columnWidth = 7.8    // of the font, pixels
	columns     = 101    // of the longest line
	linePause   = 0.45   // seconds between two lines
	endPause    = 6.0    // seconds before the recording begins again
	background  = "#111" //
	foreground  = "#ddd"
)

// asRecorded is "recorded FILE": it checks that the recording in the documentation shows the output of the demo in the file.
func asRecorded(ts *testscript.TestScript, _ bool, args []string) {
	picture := record(storyOf(ts.ReadFile(args[0])))
	if *updateRecording {
		ts.Check(os.WriteFile(recording, []byte(picture), 0o644))
	}
	shown, err := os.ReadFile(recording)
	ts.Check(err)
	if string(shown) != picture {
		ts.Fatalf("%s shows another demo: go test ./cmd/weir -run TestScripts/demo -recording.update", recording)
	}
}

// storyOf returns the command, one story of the demo and its totals.
func storyOf(output string) []string {
	lines := []string{"$ weir demo"}
	shown := false
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if len(line) > 1 && line[0] >= '0' && line[0] <= '9' && line[1] == '.' {
			shown = strings.HasPrefix(line, recorded)
		}
		if shown || strings.HasPrefix(line, "with") && strings.Contains(line, "attacks") {
			lines = append(lines, line)
		}
	}
	return lines
}

// record draws lines that appear one after the other, as an SVG without scripts.
func record(lines []string) string {
	total := float64(len(lines))*linePause + endPause
	var style, text strings.Builder
	for i, line := range lines {
		from := 100 * float64(i) * linePause / total
		fmt.Fprintf(&style, "@keyframes l%[1]d{0%%,%.2[2]f%%{opacity:0}%.2[3]f%%,100%%{opacity:1}}#l%[1]d{animation:l%[1]d %.1[4]fs infinite}\n",
			i, from, from+0.01, total)
		fmt.Fprintf(&text, "<text id=\"l%d\" x=\"12\" y=\"%d\" fill=\"%s\">%s</text>\n", i, (i+1)*lineHeight+6, colour(line), html.EscapeString(line))
	}
	width, height := columns*columnWidth+24, (len(lines)+1)*lineHeight+6
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %[1]f %[2]d" role="img">
<title>weir demo: a page with hidden instructions, without and with Weir</title>
<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
%s</style>
<rect width="100%%" height="100%%" rx="6" fill="%s"/>
%s</svg>
`, width, height, style.String(), background, text.String())
}

// colour marks the lines by which the reader sees how a story ended.
func colour(line string) string {
	switch {
	case strings.Contains(line, "✗"):
		return "#ff7b72"
	case strings.Contains(line, "✓"), strings.HasPrefix(line, "with Weir"):
		return "#7ee787"
	case strings.HasPrefix(line, "$"), strings.HasPrefix(line, recorded):
		return "#fff"
	}
	return foreground
}
