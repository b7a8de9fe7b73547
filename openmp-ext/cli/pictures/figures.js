// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as text, as omptier report writes them.

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit)
    bytes /= 1024;
  return bytes.toFixed(unit === 0 || bytes >= 100 ? 0 : bytes < 10 ? 2 : 1) + " " + units[unit];
}

function percentText(share) { return (share * 100).toFixed(1) + " %"; }

// In a sentence: no digits that do not matter.
function roundPercent(share) {
  const percent = share * 100;
  return (percent >= 9.95      ? percent.toFixed(0) :
              percent >= 0.095 ? percent.toFixed(1) :
                                 "under 0.1") +
      " %";
}

function timeText(nanoseconds) {
  if (nanoseconds >= 1e9) return (nanoseconds / 1e9).toFixed(2) + " s";
  if (nanoseconds >= 1e6) return (nanoseconds / 1e6).toFixed(2) + " ms";
  if (nanoseconds >= 1e3) return (nanoseconds / 1e3).toFixed(2) + " us";
  return nanoseconds.toFixed(0) + " ns";
}

function countText(count) { return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ","); }

function intervalText(of) { return (of.low * 100).toFixed(1) + "–" + percentText(of.high); }

// Of something that no sample fell on nothing is known but that it is less than that.
function noSample(of, what) {
  return "no sample (at most " + roundPercent(of.high) + " of " + what + ")";
}

function shareLine(of, what) {
  return of.share > 0 ? percentText(of.share) + " (" + intervalText(of) + " at 95 %) of " + what :
                        noSample(of, what);
}

// In a sentence.
function shareWords(of, what) {
  return of.share > 0 ? roundPercent(of.share) + " of " + what : noSample(of, what);
}

// C++ templates make names of thousands of letters; both ends tell most.
function cutName(name, most = 120) {
  if (name.length <= most) return name;
  const half = Math.floor((most - 1) / 2);
  return name.slice(0, half) + "…" + name.slice(-half);
}

// "3 objects", "1 object".
function countOf(count, what) { return countText(count) + " " + what + (count === 1 ? "" : "s"); }

// Names without places in the source and scopes, as far as that gives no two of them one name; what
// is left alike is numbered, for two rows of one name would be drawn as one.
function shortNames(names) {
  const bare = names.map(name => name.replace(/ \([^()]*\)( #\d+)?$/, "$1"));
  const last = bare.map(name => name.replace(/^(\w+::)+(?=[\w~])/, ""));
  const isOnly = (list, i) => list.filter(other => other === list[i]).length === 1;
  const taken = new Set();
  return names.map((name, i) => {
    const shown = cutName(isOnly(last, i) ? last[i] : isOnly(bare, i) ? bare[i] : name);
    let unique = shown;
    for (let number = 2; taken.has(unique); ++number)
      unique = shown + " #" + number;
    taken.add(unique);
    return unique;
  });
}

// On axes: no digits that do not matter, bytes at whole powers of two.
function roundTick(share) { return Number((share * 100).toPrecision(3)) + " %"; }

function timeTick(nanoseconds) {
  const units = [[1e9, " s"], [1e6, " ms"], [1e3, " us"], [1, " ns"]];
  const [unit, name] = units.find(([size]) => nanoseconds >= size) ?? [1, ""];
  return Number((nanoseconds / unit).toPrecision(3)) + name;
}

function sizeTick(bytes) {
  const [number, unit] = sizeText(bytes).split(" ");
  return Number(number) + " " + unit;
}

function byteTicks(most, count) {
  const step = 2 ** Math.ceil(Math.log2(Math.max(1, most) / count));
  return Array.from({length: Math.floor(most / step) + 1}, (none, i) => i * step);
}

function powersBetween(low, high, most) {
  const factor = Math.max(1, Math.ceil(Math.log2(high / low) / most)), values = [];
  for (let power = Math.ceil(Math.log2(low) / factor) * factor; 2 ** power <= high; power += factor)
    values.push(2 ** power);
  return values;
}
