// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// node perfetto.cjs FOLDER TRACE SQL...: what Perfetto's trace processor finds in a trace, as JSON:
// a list of rows for each query. FOLDER has the processor as the viewer loads it, WebAssembly and
// engine_bundle.js, which expects to be a browser's worker. It speaks protocol buffers:
// TraceProcessorRpc of Perfetto's trace_processor.proto, of which a few fields are needed.
const fs = require("fs"), path = require("path"), vm = require("vm");

const [folder, trace, ...queries] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(folder, path.basename(String(name))));

// What the bundle asks of a worker.
Object.defineProperty(process, "versions", {value : {}}); // it refuses to run in node
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function() {};
globalThis.location = {
  href : "http://worker/"
};
globalThis.XMLHttpRequest = class {
  open(method, name) { this.name = name; }
  send() {
    this.status = 200;
    this.response = new Uint8Array(read(this.name)).buffer;
  }
};
console.warn = () => {};

const varint = (n) => {
  const bytes = [];
  for (; n > 127; n = Math.floor(n / 128))
    bytes.push((n % 128) | 128);
  return Buffer.from([...bytes, n ]);
};
const number = (field, n) => Buffer.concat([ varint(field * 8), varint(n) ]);
const bytes = (field, data) => Buffer.concat([ varint(field * 8 + 2), varint(data.length), data ]);

// Signed, as cells are; field numbers and lengths are small.
function* varints(data) {
  for (let at = 0; at < data.length;) {
    let value = 0n, shift = 0n, byte;
    do {
      byte = data[at++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte & 128);
    yield [Number(BigInt.asIntN(64, value)), at];
  }
}
function* fields(data) {
  const next = (at) => {
    const [value, length] = varints(data.subarray(at)).next().value;
    return [ value, at + length ];
  };
  for (let at = 0; at < data.length;) {
    let key, value;
    [key, at] = next(at);
    if ((key & 7) === 0)
      [value, at] = next(at);
    else if ((key & 7) === 2) {
      let length;
      [length, at] = next(at);
      value = data.subarray(at, (at += length));
    } else
      throw new Error(`field ${key >> 3} has type ${key & 7}`);
    yield [key >> 3, value];
  }
}
const all =
    (data,
     wanted) => [...fields(data)].filter(([ field ]) => field === wanted).map(([,
                                                                                value ]) => value);

let replies = [], sequence = 0;
const port = {
  postMessage : (reply) => replies.push(Buffer.from(reply))
};
function call(method, more) {
  replies = [];
  const request = Buffer.concat([ number(1, sequence++), number(2, method), more ]);
  port.onmessage({data : new Uint8Array(bytes(1, request))});
  return all(Buffer.concat(replies), 1);
}

function rows(query) {
  const results =
      call(3, bytes(103, bytes(1, Buffer.from(query)))).flatMap((reply) => all(reply, 203));
  const columns = results.flatMap((result) => all(result, 1)).length, cells = [];
  for (const result of results) {
    for (const error of all(result, 2))
      throw new Error(`${query}: ${error}`);
    for (const batch of all(result, 3)) {
      const kinds = all(batch, 1).flatMap((part) => [...part]);
      const whole = all(batch, 2).flatMap((part) => [...varints(part)].map(([ value ]) => value));
      const real = all(batch, 3).flatMap(
          (part) => Array.from({length : part.length / 8}, (_, i) => part.readDoubleLE(8 * i)));
      const text = all(batch, 5).flatMap((part) => part.toString().split("\0"));
      for (const kind of kinds)
        cells.push([ null, null, whole, real, text ][kind]?.shift() ?? null);
    }
  }
  return Array.from({length : cells.length / columns},
                    (_, i) => cells.slice(columns * i, columns * (i + 1)));
}

vm.runInThisContext(read("engine_bundle.js").toString()); // compiles the processor
self.onmessage({data : port});                            // the worker's first message is a port
setTimeout(() => {                                        // behind what waits for the processor
  call(1, bytes(101, fs.readFileSync(trace)));            // append the trace; then, it is whole
  call(2, Buffer.alloc(0));
  console.log(JSON.stringify(queries.map(rows)));
});
