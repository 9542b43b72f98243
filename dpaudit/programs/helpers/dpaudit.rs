// Lets dpaudit draw from a mechanism in Rust: version 1 of the protocol in docs/programs.md.
//
//   mod dpaudit;
//   fn main() {
//       dpaudit::serve(true, |records, random| {
//           (dpaudit::numbers(records).len() as f64 - (1.0 - random.next()).ln()).to_string()
//       });
//   }
//
// `records` is the dataset as text of JSON. `random.next()` gives numbers from 0 up to 1 that follow
// from the seed of dpaudit, so that an audit can be repeated; a mechanism that draws its own
// randomness says false. What is returned is sent as it is: a number, or text that is JSON. Nothing
// else may be written to standard output.
use std::{collections::HashMap, io::{self, BufRead, Write}};

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The value of a member that is a number or a word.
fn value<'a>(line: &'a str, name: &str) -> &'a str {
    let start = line.find(&format!("\"{name}\": ")).map_or(line.len(), |at| at + name.len() + 4);
    let rest = line[start..].trim_start_matches('"');
    &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())]
}

/// All numbers of a dataset, in their order, but none inside names of columns and texts.
#[allow(dead_code)]
pub fn numbers(records: &str) -> Vec<f64> {
    let plain = records.replace("\\\\", "").replace("\\\"", ""); // so that quotes only begin and end
    let parts = plain.split('"').step_by(2).flat_map(|w| w.split(|c| !"+-.eE0123456789".contains(c)));
    parts.filter_map(|w| w.parse().ok()).collect()
}

pub fn serve(seeded: bool, mut mechanism: impl FnMut(&str, &mut Random) -> String) {
    let mut datasets = HashMap::new();
    let mut out = io::BufWriter::with_capacity(1 << 13, io::stdout().lock());
    for line in io::stdin().lock().lines().map(Result::unwrap) {
        let dataset = value(&line, "dataset").to_string();
        if line.starts_with("{\"dpaudit\"") {
            writeln!(out, "{{\"dpaudit\": 1, \"seeded\": {seeded}}}").unwrap();
        } else if let Some(at) = line.find("\"records\": ") {
            datasets.insert(dataset, line[at + 11..line.len() - 1].to_string());
        } else {
            let mut random = Random(value(&line, "seed").parse().unwrap_or(0));
            for _ in 0..value(&line, "draw").parse::<u64>().unwrap() { writeln!(out, "{}", mechanism(&datasets[&dataset], &mut random)).unwrap(); }
            writeln!(out, "{{\"done\": {}}}", value(&line, "request")).unwrap();
        }
        out.flush().unwrap();
    }
}
