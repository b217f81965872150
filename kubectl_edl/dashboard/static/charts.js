// SVG drawn by hand: bars, stairs of a size over time, lines of load. Each says in words what it
// shows; colours come from page.css, by class.

import { svg } from "./dom.js";
import { clock, length } from "./format.js";

// A drawing that stretches to its cell, and the words that a screen reader says of it.
function chart(name, [width, height], label, ...children) {
  return svg(
    "svg",
    {
      class: name,
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    },
    ...children,
  );
}

// Rectangles on the track of a bar, which is 100 wide and 8 high.
function onTrack(label, ...children) {
  return chart("bar", [100, 8], label, svg("rect", { class: "track", width: 100, height: 8 }), ...children);
}

// A part of 100, as a bar; the figure is beside it. `kind` is the resource's place in `lines`,
// whose colour it has. A full cluster is what this is for: it is coloured as any other.
export function bar(share, label, kind = null) {
  const width = Math.min(share, 100);
  return onTrack(label, svg("rect", { class: kind === null ? "fill" : `fill kind-${kind}`, width, height: 8 }));
}

// Running, asked for and possible replicas in one bar: full, hatched and empty.
export function sizeBar({ role, running, size, min, max }) {
  const most = Math.max(max, size, 1);
  const at = (count) => (100 * count) / most;
  return onTrack(
    `${role}: ${running} of ${size} running, ${min} to ${max} possible`,
    svg("rect", { class: "asked", width: at(size), height: 8 }),
    svg("rect", { class: "fill", width: at(Math.min(running, most)), height: 8 }),
    min < most ? svg("rect", { class: "mark", x: at(min) - 0.5, width: 1, height: 8 }) : null,
  );
}

// Sizes over time as stairs; `line` is [[second, size], …], and the last one goes on until `now`.
export function stairs({ line, max, role, ended }, now, large = false) {
  const [width, height] = large ? [600, 120] : [120, 24];
  const begin = line.length > 0 ? line[0][0] : now;
  const span = Math.max(now - begin, 1);
  const most = Math.max(max, ...line.map(([, size]) => size), 1);
  const x = (second) => ((second - begin) / span) * width;
  const y = (size) => height - 1 - (size / most) * (height - 2);
  let path = "";
  line.forEach(([second, size], index) => {
    path += index === 0 ? `M${x(second)},${y(size)}` : `H${x(second)}V${y(size)}`;
  });
  const label = line.length > 0 ? said(line, ended, role, span) : `${role}: not started yet`;
  return chart(
    large ? "stairs large" : "stairs",
    [width, height],
    label,
    path ? svg("path", { class: "area", d: `${path}H${width}V${height}H0Z` }) : null,
    path ? svg("path", { class: "line", d: `${path}H${width}` }) : null,
  );
}

function said(line, ended, role, span) {
  const sizes = line.map(([, size]) => size);
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  const range = low === high ? `always ${low}` : `between ${low} and ${high}`;
  return `${role}: ${ended ? "ended" : `${sizes.at(-1)} now`}, ${range} in the last ${length(span)}`;
}

// One line a resource, in percent, over the time of the samples.
export function lines(samples, titles) {
  const [width, height] = [600, 160];
  const [first, last] = [samples[0].at, samples.at(-1).at];
  const x = (second) => ((second - first) / Math.max(last - first, 1)) * width;
  const y = (share) => height - 2 - (Math.min(share, 100) / 100) * (height - 4);
  const grid = [25, 50, 75].map((share) =>
    svg("path", { class: "grid", d: `M0,${y(share)}H${width}` }),
  );
  const drawn = titles.map((title, index) => {
    const points = samples.map((one) => `${x(one.at)},${y(one.shares[title] ?? 0)}`);
    // One sample alone is a level line.
    const d = points.length > 1 ? `M${points.join("L")}` : `M0,${points[0].split(",")[1]}H${width}`;
    return svg("path", { class: `line kind-${index}`, d });
  });
  const now = titles.map((title) => `${title} ${samples.at(-1).shares[title] ?? 0} %`).join(", ");
  return chart(
    "lines",
    [width, height],
    `Load from ${clock(first)} to ${clock(last)}; now ${now}`,
    ...grid,
    ...drawn,
  );
}

// What a line of `lines` looks like.
export function sample(index) {
  return svg(
    "svg",
    { class: "key", viewBox: "0 0 24 8", "aria-hidden": "true" },
    svg("path", { class: `line kind-${index}`, d: "M0,4H24" }),
  );
}

// Parts of 100 beside each other in one bar; `parts` is [[class, share], …].
export function stacked(parts, label) {
  let x = 0;
  const drawn = parts.map(([name, width]) => {
    const part = svg("rect", { class: name, x, width, height: 8 });
    x += width;
    return width > 0 ? part : null;
  });
  return onTrack(label, ...drawn);
}

// What a part of `stacked` looks like.
export function key(name) {
  return svg(
    "svg",
    { class: "key", viewBox: "0 0 24 8", "aria-hidden": "true" },
    svg("rect", { class: name, width: 24, height: 8 }),
  );
}
