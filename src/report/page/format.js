// Numbers with units for people, and the names of processes.

export const NOT_RECORDED = "not recorded in this run";
export const DASH = "–";

const MINUS = "−";

function digits(value, decimals) {
  return value.toFixed(decimals).replace("-", MINUS);
}

export function isNumber(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/// "15.2 s", "0.82 s", "64 ms", "2.8 ms", "350 µs", "1 h 02 min"; a dash for what is no number.
export function duration(ns) {
  if (!isNumber(ns)) return DASH;
  if (ns === 0) return "0 s";
  const size = Math.abs(ns);
  if (size >= 3.6e12) {
    const minutes = Math.round(size / 6e10);
    return (ns < 0 ? MINUS : "") + Math.floor(minutes / 60) + " h " +
        String(minutes % 60).padStart(2, "0") + " min";
  }
  if (size >= 1e10) return digits(ns / 1e9, 1) + " s";
  if (size >= 1e8) return digits(ns / 1e9, 2) + " s";
  if (size >= 1e7) return digits(ns / 1e6, 0) + " ms";
  if (size >= 1e6) return digits(ns / 1e6, 1) + " ms";
  if (size >= 1e3) return digits(ns / 1e3, 0) + " µs";
  return digits(ns, 0) + " ns";
}

/// A sum and its parts as text with one unit, rounded so that the parts shown add up to the sum shown:
/// the largest part takes up what rounding left over.
export function addends(sum, parts) {
  const [unit, size] = sum >= 1e9 ? [" s", 1e7] : sum >= 1e6 ? [" ms", 1e4] : [" µs", 1e1];
  const whole = Math.round(sum / size);
  const rounded = parts.map(part => Math.round(part / size));
  const largest = parts.indexOf(Math.max(...parts));
  rounded[largest] += whole - rounded.reduce((a, b) => a + b, 0);
  return [whole, ...rounded].map(value => digits(value / 100, 2) + unit);
}

/// Seconds with a fixed number of decimals, without the unit: for columns that line up.
export function seconds(ns, decimals = 2) {
  return isNumber(ns) ? digits(ns / 1e9, decimals) : DASH;
}

export function percent(share, decimals = 1) {
  return isNumber(share) ? digits(share * 100, decimals) + " %" : DASH;
}

/// "0.45 MB", "1.2 GB" (powers of ten).
export function bytes(value) {
  if (!isNumber(value)) return DASH;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  return digits(value, unit === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2) +
      " " + units[unit];
}

export function count(value, word) {
  if (!isNumber(value)) return DASH;
  return value.toLocaleString("en") + " " + word + (value === 1 ? "" : "s");
}

export function number(value, decimals) {
  return isNumber(value) ? digits(value, decimals) : DASH;
}

/// null is the coordinator.
export function processName(id) {
  return id === null || id === undefined ? "coordinator" : "worker " + id;
}
