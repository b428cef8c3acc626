# A report opened in a real browser: it shows values under the pointer, sorts
# its tables, logs no error, asks for nothing outside, and a job whose name is
# a script is text.
. "$(dirname "$0")/lib.sh"
cd "$WORK"
need chromium chromium

"$KNEE" sample sample >/dev/null
sed -i 's/^builtin-vision,/<script>document.title=1<\/script>,/' sample/builtin-cpu.csv
check "knee report writes a page" "$KNEE" report sample/builtin-cpu.csv -f page.html

browse() { # browse FLAG... PAGE
	timeout 120 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$WORK/profile" --window-size="$size" "$@" 2>browser.log
}

# A probe at the end of the page points at the last tooltip of the first figure
# and sorts the table of trials by its step time, then tells what it saw.
probe='<script>
const figure = [...document.querySelectorAll("figure")].find((f) => JSON.parse(f.dataset.tooltips).length);
const spot = JSON.parse(figure.dataset.tooltips).at(-1), box = figure.querySelector("svg").getBoundingClientRect();
figure.querySelector(".drawing").dispatchEvent(new PointerEvent("pointermove",
  {clientX: box.left + spot[0] * box.width + 2, clientY: box.top + spot[1] * box.height - 2, bubbles: true}));
const tip = document.getElementById("tip");
const head = [...document.querySelectorAll("th button")].find((b) => b.textContent.startsWith("step time"));
head.click();
const k = head.closest("th").cellIndex, rows = [...head.closest("table").tBodies[0].rows];
const values = rows.map((r) => parseFloat(r.cells[k].dataset.v));
const sorted = values.every((v, i) => i === 0 || values[i - 1] <= v);
const wide = document.documentElement.scrollWidth > innerWidth;
document.title = `tip=${!tip.hidden && tip.textContent.includes("samples/s")} sorted=${sorted} rows=${rows.length > 10} wide=${wide} ` +
  `requests=${performance.getEntriesByType("resource").length} scripts=${document.scripts.length}`;
</script>'
grep -v '</body>' page.html >probed.html
echo "$probe</body></html>" >>probed.html
for size in 1200,900 400,800; do
	browse --enable-logging=stderr --dump-dom "file://$WORK/probed.html" >dom.html
	grep -o '<title>[^<]*' dom.html | head -1
	# Two scripts: the page's own and the probe. The browser asks for nothing else.
	check "at $size: values under the pointer, sorted tables, no request, no foreign script, nothing wider than the page" \
		grep -q '<title>tip=true sorted=true rows=true wide=false requests=0 scripts=2' dom.html
	check "at $size: nothing on the console" bash -c '! grep -E "CONSOLE|Uncaught" browser.log'
done
size=1200,2000
browse --screenshot=light.png "file://$WORK/page.html" >/dev/null
browse --screenshot=dark.png --blink-settings=preferredColorScheme=0 "file://$WORK/page.html" >/dev/null
check "light and dark look different" bash -c '[ -s light.png ] && [ -s dark.png ] && ! cmp -s light.png dark.png'
