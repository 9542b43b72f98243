// Lets dpaudit draw from a mechanism in JavaScript: version 1 of the protocol in docs/programs.md.
//
//   const { serve } = require("./dpaudit.js");
//   serve((records, random) => records.length - Math.log(1 - random()), { seeded: true });
//
// `records` is the dataset as JSON has it. `random()` gives numbers from 0 up to 1 that follow from
// the seed of dpaudit, so that an audit can be repeated. A mechanism that draws its own randomness
// leaves { seeded: true } out. What is returned is sent as JSON. Nothing else may be written to
// standard output; console.log goes to standard error.
"use strict";
const fs = require("node:fs");
const readline = require("node:readline");

function generator(seed) { // sfc32, seeded by two halves of 53 bits
  let a = seed >>> 0, b = Math.floor(seed / 2 ** 32) >>> 0, c = 0x9e3779b9, d = 1;
  const next = () => {
    const t = (a + b + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  };
  for (let i = 0; i < 16; i++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

function write(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(1, bytes, at);
}

function serve(mechanism, { seeded = false, name = "" } = {}) {
  const datasets = new Map();
  console.log = console.error;
  const answer = (message) => {
    if ("dpaudit" in message) return JSON.stringify({ dpaudit: 1, seeded, name }) + "\n";
    if ("records" in message) return void datasets.set(message.dataset, message.records);
    const random = seeded ? generator(message.seed) : Math.random;
    const lines = [];
    for (let i = 0; i < message.draw; i++) {
      lines.push(JSON.stringify(mechanism(datasets.get(message.dataset), random)));
      if (lines.length === 1024) write(lines.splice(0).join("\n") + "\n"); // read while we draw
    }
    lines.push(JSON.stringify({ done: message.request }));
    return lines.join("\n") + "\n";
  };
  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    let text;
    try {
      text = answer(JSON.parse(line));
    } catch (error) {
      text = JSON.stringify({ error: String(error) }) + "\n";
    }
    if (text) write(text);
  });
}

module.exports = { serve };
