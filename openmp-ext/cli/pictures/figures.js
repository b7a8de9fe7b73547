// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers as text, as omptier report writes them.

function sizeText(bytes) {
  const units = [ "B", "KiB", "MiB", "GiB", "TiB" ];
  let unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.length; ++unit)
    bytes /= 1024;
  return bytes.toFixed(unit === 0 || bytes >= 100 ? 0 : bytes < 10 ? 2 : 1) + " " + units[unit];
}

function percentText(share) { return (share * 100).toFixed(1) + " %"; }

// In a sentence: no digits that do not matter.
function roundPercent(share) {
  const percent = share * 100;
  return (percent >= 9.95    ? percent.toFixed(0)
          : percent >= 0.095 ? percent.toFixed(1)
                             : "under 0.1") +
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

function shareLine(of) { return percentText(of.share) + " (" + intervalText(of) + " at 95 %)"; }

// "3 objects", "1 object".
function countOf(count, what) { return countText(count) + " " + what + (count === 1 ? "" : "s"); }
