// Figures and times as people read them.

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
];

// 95 → "95s", 7,300 → "2h": whole units, as kubectl writes ages.
export function length(seconds) {
  const passed = Math.max(0, Math.round(seconds));
  const [unit, size] = UNITS.find(([, one]) => passed >= 2 * one) ?? UNITS.at(-1);
  return `${Math.floor(passed / size)}${unit}`;
}

export function age(since) {
  return length(Date.now() / 1000 - since);
}

export function clock(second) {
  return new Date(second * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function many(count, one, more = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : more}`;
}

export function fullName(row) {
  return `${row.namespace}/${row.name}`;
}
